# What recordings take on the disk, and what is left when something ends them.
# shellcheck shell=bash

busy() { # SECONDS: a target, in $target
	"$TARGETS/hotspots" "$1" >/dev/null & target=$!
}

test_files_take_turns_in_a_directory() {
	mkdir d
	echo 'no session' >d/frameperf-note-1.fperf
	echo precious >victim
	ln -s ../victim d/frameperf-link-1.fperf
	busy 20
	record_into -d 7 --max-duration 1.5 --keep 2
	kill "$target"
	[ "$(grep -c '^frameperf record: wrote' record.log)" -ge 3 ] || die "fewer than three files"
	[ "$(find d -name 'frameperf-hotspots-*.fperf' | wc -l)" = 2 ] || die "not two: $(ls d)"
	for file in d/frameperf-hotspots-*.fperf; do valid "$file"; done
	# what is no session of ours stays
	[ -f d/frameperf-note-1.fperf ] && [ -L d/frameperf-link-1.fperf ] && [ "$(cat victim)" = precious ] ||
		die "removed what it did not write: $(ls d)"
}

record_into() { # ARGS...: like record, into d
	"$FP" record --out-dir d -p "$target" "$@" 2>record.log || die "fails: $(cat record.log)"
	cat record.log
}

test_no_file_is_larger_than_its_bound() {
	"$TARGETS/many_threads" 3000 >/dev/null & target=$!
	record -F 10000 --max-size 512K -d 20 -p "$target"
	kill "$target" 2>/dev/null || :
	[ "$(stat -c %s s.fperf)" -le $((512 * 1024)) ] || die "$(stat -c %s s.fperf) bytes"
	"$FP" check s.fperf
}

test_contradictions_are_usage_errors() {
	exits_with 2 "$FP" record --keep 3 -p 1
	says 'out-dir'
	exits_with 2 "$FP" record --out-dir d -o s.fperf -p 1
	exits_with 2 "$FP" record --out-dir d --keep 0 -p 1
	exits_with 2 "$FP" record --max-size 12 -p 1
}

# KILLS changes how often.
test_killed_at_random_moments() {
	local kills=${KILLS:-6} i rc
	busy $((kills * 8 + 10))
	for i in $(seq "$kills"); do
		rm -f s.fperf
		"$FP" record -o s.fperf -p "$target" 2>err.log & local job=$!
		sleep "$((RANDOM % 7)).$((RANDOM % 10))"
		kill -9 $job
		wait $job 2>/dev/null || :
		[ -s s.fperf ] || continue
		rc=0
		"$FP" check s.fperf >out.log || rc=$?
		[ $rc = 4 ] || die "check after kill $i: $rc $(cat out.log)"
		! grep -q 'damaged chunks' out.log || die "kill $i: $(cat out.log)"
	done
	kill "$target"
	note "$kills kills"
}

has_results() { # FILE: a window was looked at
	"$FP" report --json "$1" >report.json 2>/dev/null || [ $? = 4 ] || return 1
	python3 -c "import json; exit(not json.load(open('report.json'))['quality']['samples'])"
}

test_levels_survive_a_kill() {
	local level
	busy 200
	for level in 1 0; do
		"$FP" record --level $level -o "l$level.fperf" -p "$target" 2>err.log & local job=$!
		wait_for 90 has_results "l$level.fperf"
		kill -9 $job
		wait $job 2>/dev/null || :
		has_results "l$level.fperf" || die "level $level: nothing left"
		python3 -c "
import json
r = json.load(open('report.json'))
assert r['session']['level'] == $level, r['session']
assert r['usage']['cpu_ns'] > 1e7 and r['session']['target']['name'] == 'hotspots', r"
	done
	kill "$target"
}

test_stopped_for_five_seconds() {
	busy 20
	"$FP" record -o s.fperf -d 9 -p "$target" 2>err.log & local job=$!
	sleep 2
	kill -STOP $job
	sleep 5
	kill -CONT $job
	wait $job || die "fails: $(cat err.log)"
	kill "$target"
	expect "r['session']['complete']" "share('hot_sixty') > 0.4" "r['session']['duration_ns'] > 8e9"
}

test_nobody_reads_the_messages() {
	busy 10
	{ "$FP" record -v -o s.fperf -d 2 -p "$target" 2>&1 || :; } | true
	valid
	kill "$target"
}

test_read_only_directory() {
	mkdir ro
	mount -t tmpfs -o ro tmpfs ro
	exits_with 1 "$FP" record -o ro/s.fperf -- true || { umount ro; exit 1; }
	umount ro
	says 'ro/s.fperf'
}

# A disk that is full for a while costs nothing that the memory holds.
test_disk_full_for_a_while() {
	mkdir small
	mount -t tmpfs -o size=1m tmpfs small
	busy 30
	"$FP" record -o small/s.fperf -d 16 -p "$target" 2>err.log & local job=$!
	sleep 4
	cat /dev/zero >small/fill 2>/dev/null || :
	sleep 7
	rm small/fill
	wait $job || { umount small; die "fails: $(cat err.log)"; }
	kill "$target"
	cp small/s.fperf . && umount small
	says 'disk is full'
	valid
	expect "'write' not in r['quality']['lost']" "r['quality']['samples'] > 1000"
}
