# Usage errors, exit statuses, help, man pages.
# shellcheck shell=bash

test_no_command_shows_the_list() {
	fp 2
	silent out
	has err 'usage: frameperf COMMAND' record report check
	fp 0 help
	silent err
	fp 0 --help
	fp 0 -h
	fp 0 --version
	has out 'frameperf '
}

test_unknown_command_names_the_nearest() {
	fp 2 recrod
	silent out
	has err "'recrod'" 'did you mean record?'
	fp 2 xyzzy
	lacks err 'did you mean'
	fp 2 help recrod
}

test_unknown_option_names_the_nearest() {
	fp 2 record --durtion 3 -p 1
	has err '--durtion' 'did you mean --duration?' 'usage: frameperf record'
	fp 2 report --jso x
	has err 'did you mean --json?'
	fp 2 report -Z x
	has err '-Z'
}

test_bad_values_say_what_was_expected() {
	fp 2 record -F 0 -p 1
	has err "'0'" '1 to 10000'
	fp 2 record -F 1000x -p 1
	has err "'1000x'"
	fp 2 record --frequency=99999999999999999999 -p 1
	fp 2 record -d -1 -p 1
	fp 2 record -d 0 -p 1
	fp 2 record -d nan -p 1
	fp 2 record -p 12,
	fp 2 record -p 12,a
	fp 2 record -p 0
	fp 2 record --level 3 -p 1
	has err '--level' "'3'"
	fp 2 record --unwind magic -p 1
	has err 'auto, fp, table, dump'
	fp 2 record --frame nonsense -p 1
	has err PATH:SYMBOL
	fp 2 record --frame game:+0xzz -p 1
	fp 2 record --mark game:f= -p 1
	fp 2 record --scope game:a,game:b -p 1
	fp 2 record --label novalue -p 1
	fp 2 record --label =x -p 1
	fp 2 record -n '' -d 1
	fp 2 record -o '' -p 1
	fp 2 report --budget 0 x
	fp 2 report --frame -1 x
	fp 2 report --symbols /no/such/dir x
	has err '/no/such/dir'
}

test_missing_and_spare_arguments() {
	fp 2 record -p
	has err '-p needs a value'
	fp 2 record --output
	has err '--output needs a value'
	fp 2 report
	has err 'FILE is missing'
	fp 2 check a b
	has err "'b'"
	fp 2 report --json=yes x
	has err '--json takes no value'
}

test_record_wants_exactly_one_target() {
	fp 2 record
	fp 2 record -p 1 -n x
	fp 2 record -p 1 -- true
	fp 2 record true
	has err '--'
}

test_errors_name_the_file_and_the_reason() {
	fp 1 report no-such-file
	has err no-such-file 'No such file'
	silent out
	echo 'no session' >text
	for command in report info check; do
		fp 1 $command text
		has err text
		silent out
		fp 1 $command /
		fp 1 $command /dev/null
	done
}

test_missing_command_to_record() {
	fp 127 record -o s.fperf -- ./no-such-game
	has err ./no-such-game
	fp 127 record -o s.fperf -- no-such-game-anywhere
	: >plain
	fp 126 record -o s.fperf -- ./plain
	[ ! -e s.fperf ] || die "left a file"
}

test_missing_process_to_record() {
	fp 1 record -o s.fperf -p 4194000
	has err 4194000
	[ ! -e s.fperf ] || die "left a file"
}

test_every_option_of_every_command_is_in_help_and_man_page() {
	local command option options
	[ "$(commands | wc -l)" -ge 5 ] || die "few commands: $(commands)"
	for command in $(commands); do
		fp 0 "$command" --help
		silent err
		cp out help
		fp 0 help "$command"
		cmp out help
		fp 0 help --man "$command"
		options=$(grep -oE -- '^ +(-., )?--[a-z-]+' help | grep -oE -- '--[a-z-]+')
		[ -n "$options" ] || die "no options in the help of $command"
		for option in $options; do
			has out "${option//-/\\-}"
		done
	done
}

test_common_options_everywhere() {
	local command
	for command in $(commands); do
		"$FP" "$command" --help >help
		has help --quiet --verbose --help
	done
}

test_man_pages_render_without_warnings() {
	local command
	for command in '' $(commands); do
		"$FP" help --man ${command:+"$command"} >page.1
		LC_ALL=C.UTF-8 MANWIDTH=100 man --warnings -E UTF-8 -l -Tutf8 -Z page.1 >/dev/null 2>warnings || die "man fails"
		silent warnings
		LC_ALL=C.UTF-8 MANWIDTH=100 man -E UTF-8 -l page.1 >text
		has text NAME SYNOPSIS DESCRIPTION 'EXIT STATUS' 'SEE ALSO'
	done
}

test_help_fits_narrow_terminals() {
	local command columns
	for columns in 60 80 120; do
		for command in $(commands); do
			COLUMNS=$columns "$FP" "$command" --help >out
			python3 -c "
import sys
long = [l for l in open('out', encoding='utf-8') if len(l.rstrip('\n')) > $columns]
assert not long, long"
		done
	done
}

test_options_may_be_written_in_every_way() {
	"$MAKE_SESSION" frames s.fperf
	fp 0 report --json s.fperf
	cp out one
	fp 0 report s.fperf -j
	cmp out one
	fp 0 report -j -- s.fperf
	cmp out one
	fp 0 report -jw100 s.fperf
	fp 0 report --worst=100 --json s.fperf
	fp 0 report --worst 100 -j s.fperf
	cp s.fperf -- -j
	fp 0 report -- -j
}
