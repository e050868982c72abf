# Reports on session files of known content.
# shellcheck shell=bash

schema() { # FILE: is JSON by a strict parser, and keeps the report's schema
	python3 -m json.tool "$1" >/dev/null || die "no JSON"
	python3 "$TOP/tests/cli/check_schema.py" "$1" || die "not the schema"
}

test_frames_of_known_content() {
	"$MAKE_SESSION" frames s.fperf
	fp 0 report --json s.fperf
	silent err
	schema out
	python3 - <<-'P'
		import json
		r = json.load(open('out'))
		f = r['frames']
		assert f['count'] == 61 and f['timed'] == 60 and f['marker'].endswith('glXSwapBuffers'), f
		assert f['time_ns']['max'] == 40_000_000 and f['time_ns']['p50'] == 10_000_000, f
		assert f['duration_ns'] == 630_000_000 and abs(f['fps_mean'] - 60 / 0.63) < 1e-6, f
		assert [s['index'] for s in r['slow_frames']] == [40], r['slow_frames']
		slow = r['slow_frames'][0]
		assert slow['verdict']['cause'] == 'lock', slow['verdict']
		assert slow['verdict']['thread'] == {'pid': 4242, 'tid': 4242, 'name': 'game'}, slow['verdict']
		assert abs(slow['ledger'][0]['blocked_ns']['lock'] - 30_000_000) < 10_000, slow['ledger']
		assert r['session']['complete'] is True and r['session']['duration_ns'] == 10**9, r['session']
		assert r['session']['started_unix_ns'] == 1_700_000_001_000_000_000, r['session']
		assert r['quality']['samples'] == 60 and r['quality']['stacks']['complete_share'] == 1, r['quality']
		assert r['quality']['overhead']['bpf_ns'] is None, r['quality']
	P
	fp 0 report s.fperf
	has out '61 frames' 'glXSwapBuffers' 'lock' '40.0 ms' 'no cpufreq driver'
	no_control_characters out
}

test_one_frame() {
	"$MAKE_SESSION" frames s.fperf
	fp 0 report s.fperf --frame 40
	has out 'Frame 40' 'Critical chain' 'Ledger' 'lock'
	fp 0 report s.fperf --frame 3
	has out 'Frame 3' 'not slow'
	fp 0 report s.fperf --frame 3 --json
	schema out
	python3 -c "
import json
r = json.load(open('out'))
assert r['frame']['index'] == 3 and r['frame']['slow'] is False and r['frame']['verdict'] is None, r['frame']
assert [s['index'] for s in r['slow_frames']] == [40]"
	fp 1 report s.fperf --frame 60
	has err 'frame 60' '0 to 59'
}

test_budget() {
	"$MAKE_SESSION" frames s.fperf
	fp 0 report s.fperf --json --budget 50
	python3 -c "
import json
r = json.load(open('out'))
assert r['frames']['slow'] == 0 and r['slow_frames'] == [] and r['frames']['budget_ns'] == 50_000_000, r['frames']"
	fp 0 report s.fperf --json --budget 9.5
	python3 -c "
import json
r = json.load(open('out'))
assert r['frames']['slow'] == 60 and len(r['slow_frames']) == 60, r['frames']"
	fp 0 report s.fperf --json --budget 9.5 --worst 3
	schema out
}

test_empty_session() {
	"$MAKE_SESSION" empty s.fperf
	fp 0 report s.fperf
	has out 'no frames' 'no samples' 'perf_event_open: not permitted'
	lacks out nan inf
	fp 0 report s.fperf --json
	schema out
	python3 -c "
import json
r = json.load(open('out'))
assert r['frames'] is None and r['slow_frames'] == [] and r['hot'] == [] and r['threads'] == []
assert r['quality']['stacks']['complete_share'] is None
assert next(s for s in r['sources'] if s['name'] == 'sample')['state'] == 'failed'"
	fp 1 report s.fperf --frame 0
	has err 'no frames'
	fp 0 info s.fperf
	fp 0 check s.fperf
	has out whole
}

test_hostile_names() {
	"$MAKE_SESSION" hostile s.fperf
	fp 0 report --json s.fperf
	schema out
	python3 -c "
import json
r = json.load(open('out', encoding='utf-8'))
assert '\ufffd' in r['session']['target']['name'] and '\n' in r['session']['target']['name']
assert any('\ufffd' in k for k in r['session']['labels'])"
	for arguments in report 'report --frame 40' info 'info -v' check; do
		# shellcheck disable=SC2086
		fp 0 $arguments s.fperf
		no_control_characters out
		no_control_characters err
	done
}

test_hostile_file_names() {
	local name=$'a\x1b[2J\n\xffb'
	"$MAKE_SESSION" frames "$name"
	fp 0 report "$name"
	no_control_characters out
	fp 0 check "$name"
	no_control_characters out
	fp 1 report "$name.not"
	no_control_characters err
}

test_cut_file() {
	"$MAKE_SESSION" frames s.fperf
	local size
	size=$(stat -c %s s.fperf)
	head -c $((size - 5)) s.fperf >cut.fperf
	fp 4 check cut.fperf
	has out damaged
	fp 4 report cut.fperf
	has err cut.fperf
	fp 4 report cut.fperf --json
	schema out
	python3 -c "
import json
assert json.load(open('out'))['session']['complete'] is False"
	fp 4 info cut.fperf
}

test_every_cut_and_many_flips_are_survived() {
	"$MAKE_SESSION" frames s.fperf
	python3 - <<-'P'
		import os, random, subprocess
		data = open('s.fperf', 'rb').read()
		random.seed(7)
		variants = [data[:random.randrange(len(data))] for _ in range(15)]
		for _ in range(25):
		    copy = bytearray(data)
		    copy[random.randrange(len(data))] ^= 1 << random.randrange(8)
		    variants.append(bytes(copy))
		for variant in variants:
		    open('v.fperf', 'wb').write(variant)
		    for command in (['check'], ['report'], ['report', '--json']):
		        run = subprocess.run([os.environ['FP'], *command, 'v.fperf'], capture_output=True, timeout=20)
		        assert run.returncode in (0, 1, 4), (run.returncode, run.stderr)
		        assert run.returncode != 1 or run.stderr, 'no reason given'
	P
}

test_text_fits_the_width() {
	local columns
	"$MAKE_SESSION" frames s.fperf
	for columns in 80 100 120; do
		for arguments in '' '--frame 40'; do
			# shellcheck disable=SC2086
			COLUMNS=$columns "$FP" report s.fperf $arguments >out
			python3 -c "
long = [l for l in open('out', encoding='utf-8') if len(l.rstrip('\n')) > $columns]
assert not long, long"
		done
	done
}

test_no_colour_in_files() {
	"$MAKE_SESSION" frames s.fperf
	fp 0 report s.fperf
	no_control_characters out
	fp 0 help
	no_control_characters out
}

test_colour_on_a_terminal_unless_unwanted() {
	"$MAKE_SESSION" frames s.fperf
	TERM=xterm script -qec "'$FP' report s.fperf" /dev/null >out </dev/null
	grep -q $'\x1b\[' out || die "no colour on a terminal"
	NO_COLOR=1 TERM=xterm script -qec "'$FP' report s.fperf" /dev/null >out </dev/null
	! grep -q $'\x1b\[' out || die "colour although NO_COLOR is set"
}

test_output_that_cannot_be_written() {
	"$MAKE_SESSION" frames s.fperf
	for arguments in '' --json; do
		local rc=0
		# shellcheck disable=SC2086
		"$FP" report s.fperf $arguments >/dev/full 2>err || rc=$?
		[ $rc = 1 ] || die "exit status $rc"
		has err 'No space'
	done
}

test_quiet_keeps_results() {
	"$MAKE_SESSION" frames s.fperf
	head -c $(($(stat -c %s s.fperf) / 2)) s.fperf >cut.fperf
	fp 4 check -q cut.fperf
	[ -s out ] || die "no result"
	fp 4 report -q cut.fperf
	silent err
	[ -s out ] || die "no result"
}
