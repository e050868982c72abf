# The configuration of `frameperf arm`: what is wrong is told with file and line.
# shellcheck shell=bash

good() { # [LINE...]: a configuration that is right, with further lines in its target
	printf '%s\n' '; lab device' '[arm]' "output = $PWD/out" "state = $PWD/state" '' '[target game]' 'name = game' \
		"$@" >arm.conf
}

refused() { # LINE PATTERN: the configuration, in that line, for that reason
	fp 1 arm --check arm.conf
	silent out
	has err "arm.conf:$1: " "$2"
}

test_arm_reads_every_key() {
	good 'exe = /opt/game/bin/game' 'window = 5min' 'quota = 3' 'quota-size = 500M' 'level = 2' \
		'trigger = frame>33ms' 'trigger = stall>250ms' 'flight = 20' 'frequency = 500' 'overhead = 0.5' \
		'label = scene=harbour' 'frame = libGLX.so.0:glXSwapBuffers' '' '[target other]' 'exe = /usr/games/other' \
		'output = /data/other' 'safe = yes' 'window = 1.5h'
	fp 0 arm --check arm.conf
	has out '2 targets'
	good 'window = 30' 'safe = no' '# a comment' '   ; another' '' 'window = 30s ; the last counts'
	fp 0 arm --check arm.conf
}

test_arm_tells_the_line_that_is_wrong() {
	good 'window = soon'
	refused 8 'window = soon'
	good 'window = 30s' 'wndow = 30s'
	refused 9 'did you mean window'
	good 'trigger = frame>>33'
	refused 8 'trigger = frame>>33'
	good 'frequency = 0'
	refused 8 'frequency = 0'
	good 'safe = maybe'
	refused 8 'neither yes nor no'
	good 'safe = yes' 'mark = game:f'
	refused 9 'safe'
	good 'quota = -1'
	refused 8 'quota'
	good 'quota-size = big'
	refused 8 'quota-size = big'
	good 'exe = bin/game'
	refused 8 'absolute path'
	good 'pid = 12'
	refused 8 "no 'pid'"
	good 'just words'
	refused 8 'neither KEY = VALUE nor'
	good '  window = 30s'
	refused 8 'begins with a space'
	good "label = a=$(printf '%0200d' 0)"
	refused 8 'longer than'
	good '' '[target game]' 'name = x'
	refused 9 'twice'
	good '' '[target ../x]' 'name = x'
	refused 10 'the name may hold'
	good '' '[tagret x]' 'name = x'
	refused 10 'neither [arm] nor'
	good '' '[target x]' 'window = 3s'
	refused 9 'neither a name nor an exe'
	printf '%s\n' 'output = /x' >arm.conf
	refused 1 'before any section'
	printf '%s\n' '[arm]' 'output = /x' >arm.conf
	refused 1 'no [target NAME]'
	printf '%s\n' '[target x]' 'name = x' >arm.conf
	refused 1 'no output directory'
	printf '%s\n' '[arm]' 'outptu = /x' >arm.conf
	refused 2 'did you mean output'
	: >arm.conf
	refused 1 'no [target'
}

test_arm_refuses_a_file_that_others_may_write() {
	good
	chmod 666 arm.conf
	fp 1 arm --check arm.conf
	has err 'chmod'
	printf 'a\0b' >nul.conf
	fp 1 arm --check nul.conf
	has err 'NUL'
	fp 1 arm --check .
	fp 1 arm --check missing.conf
	has err 'missing.conf'
}

test_arm_status_says_that_nothing_runs() {
	good
	fp 0 arm --status arm.conf
	has out 'nothing is armed'
	fp 0 arm --status --json arm.conf
	python3 -c 'import json; assert json.load(open("out"))["running"] is False'
}
