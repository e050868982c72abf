# The flight recorder: triggers, stalls, and what goes wrong while it writes.
# shellcheck shell=bash

STALL=$BUILD/workloads/stall

# lie_in_wait ARGS... -- COMMAND: with a trigger of each kind, far from what a busy machine does by itself
lie_in_wait() {
	local -a args=()
	while [ "$1" != -- ]; do args+=("$1"); shift; done
	shift
	"$FP" record -o s.fperf --as-root --frame "$STALL:stall_present" --scope "$STALL:scope_begin,$STALL:scope_end=work" \
		--flight 10 --post 1 --cool-down 60 "${args[@]}" -- "$@" >truth 2>record.log || {
		cat record.log
		die "record exits with $?"
	}
	cat record.log truth
}

all_rules=(--trigger 'frame>120ms' --trigger 'stall>400ms' --trigger 'hitches>8/3s' --trigger 'mark:work>60ms'
	--trigger 'run-queue>350ms')

# fires KIND FIRST FURTHER SEED: the fault sets off FIRST, within one frame, and then at most what FURTHER matches
fires() {
	local kind=$1 first=$2 further=$3
	rm -f s-*.fperf
	lie_in_wait "${all_rules[@]}" -- "$STALL" "$kind" 5 "$4"
	[ -e "s-$first-1.fperf" ] || die "$kind: there is no s-$first-1.fperf, but $(ls)"
	[ "$(ls s-*.fperf | wc -l)" = 1 ] || die "$kind: more than one session: $(ls)"
	valid "s-$first-1.fperf" >/dev/null
	"$FP" report "s-$first-1.fperf" --json >report.json || die "report exits with $?"
	python3 - report.json truth "$first" "$further" <<-'X' || die "$kind: not what should fire"
		import json, re, sys
		report, truth = json.load(open(sys.argv[1])), open(sys.argv[2]).read().split()
		trigger, begin, end = report["trigger"], int(truth[1]), int(truth[2])
		print("fired", (trigger["time_ns"] - begin) / 1e6, "ms after the fault began, which lasted", (end - begin) / 1e6)
		assert trigger["kind"] == sys.argv[3], trigger
		assert all(re.fullmatch(sys.argv[4], t["kind"]) for t in trigger["further"]), trigger["further"]
		assert begin <= trigger["time_ns"], (begin, trigger)
		if truth[0] in ("lock", "rwlock", "join", "loop", "sleep"):
		    assert trigger["time_ns"] < end, "only when it was over"
		elif truth[0] in ("frame", "scope"):
		    assert trigger["time_ns"] < end + 20e6, "not within one frame"
		marks = report["session"]["duration_ns"]
		assert marks > 1.5e9, ("pre-roll and post-roll", marks)
	X
}

test_each_trigger_fires_on_its_fault_and_on_no_other() {
	fires frame frame '' 1
	fires row stall '' 2
	fires hitches hitches '' 3
	fires scope mark '' 4
	fires run-queue run-queue run-queue 5
	rm -f s-*.fperf
	lie_in_wait "${all_rules[@]}" -- "$STALL" none 5 6
	! ls s-*.fperf 2>/dev/null || die "fired although nothing happened"
	grep -q '0 sessions (target ended)' record.log || die "no word of it"
}

# stalls KIND FUNCTION HOLDER HOLDER_FUNCTION: the report names where, and who holds it up
stalls() {
	fires "$1" stall frame "$1$RANDOM"
	python3 - report.json truth "$@" <<-'X' || die "$1: the report does not say where, or who"
		import json, sys
		report, truth = json.load(open(sys.argv[1])), open(sys.argv[2]).read().split()
		kind, function, holder, place = sys.argv[3:]
		stall = report["stall"]
		print(stall["text"])
		assert stall["thread"]["tid"] == int(truth[3]), stall["thread"]
		assert stall["thread"]["place"]["function"] == function, stall["thread"]
		if holder:
		    assert stall["holder"]["tid"] == int(truth[4]), stall
		    assert stall["holder"]["name"] == holder, stall["holder"]
		    assert stall["holder"]["place"]["function"] in place.split("|"), stall["holder"]
		else:
		    assert stall["holder"] is None, stall
		names = {t["name"] for t in report["trigger"]["threads"]}
		assert {"Frames", "Holder"} <= names, names
		assert all(t["leaf"]["function"] or t["place"]["function"] for t in report["trigger"]["threads"])
	X
	"$FP" report s-stall-1.fperf >report.txt
	grep -q 'What happened' report.txt || die "the text report does not open with it"
	grep -q "$2()" report.txt || die "the text report does not name $2"
	[ -z "$3" ] || grep -q "held by $3" report.txt || die "the text report does not name $3"
}

test_stall_names_the_function_and_the_holder() {
	stalls lock stall_in_lock Holder 'rebuild_index|spin_for'
	stalls rwlock stall_in_rwlock Holder 'rebuild_index|spin_for'
	stalls join stall_in_join Holder 'rebuild_index|spin_for'
	stalls sleep stall_in_sleep '' ''
}

test_stall_in_a_busy_loop_names_the_function() {
	fires loop stall frame 7
	expect_stall() { python3 "$TOP/tests/live/expect.py" report.json "$@" || exit 1; }
	expect_stall "r['stall']['thread']['place']['function'] in ('spin_for', 'stall_in_loop')" \
		"r['stall']['thread']['state'] in ('runs', 'ready')" "r['stall']['holder'] is None"
}

test_storm_of_triggers_keeps_cool_down_and_limit() {
	"$FP" record -o s.fperf --as-root --frame "$STALL:stall_present" --trigger 'frame>1ms' --post 0.5 --cool-down 1 \
		--trigger-limit 3 -- "$STALL" none 8 1 2>record.log
	cat record.log
	[ "$(ls s-frame-?.fperf | wc -l)" = 3 ] || die "not three sessions: $(ls)"
	says 'more triggers came while' record.log
	for i in 1 2 3; do
		"$FP" report s-frame-$i.fperf --json >report.json
		python3 "$TOP/tests/live/expect.py" report.json "r['trigger']['number'] == $i" "len(r['trigger']['further']) > 10" ||
			exit 1
	done
}

test_signal_and_command_trigger() {
	"$STALL" none 60 1 & local one=$!
	"$STALL" none 60 1 & local two=$!
	"$FP" record -o one.fperf -p $one --flight 10 --post 0.3 --cool-down 0 2>one.log & local first=$!
	"$FP" record -o two.fperf -p $two --flight 10 --post 0.3 --cool-down 0 2>two.log & local second=$!
	wait_for 20 grep -q 'lying in wait' one.log
	wait_for 20 grep -q 'lying in wait' two.log
	sleep 1
	kill -USR2 $first
	wait_for 20 test -e one-signal-1.fperf
	[ ! -e two-signal-1.fperf ] || die "the other one was not meant"
	exits_with 0 "$FP" trigger -p $two
	grep -q "recorder $second .*session 1" out.log || die "not the recorder of that target"
	wait_for 20 grep -q 'wrote two-command-1' two.log
	exits_with 0 "$FP" trigger --all
	wait_for 20 grep -q 'wrote one-command-2' one.log
	wait_for 20 grep -q 'wrote two-command-2' two.log
	exits_with 1 "$FP" trigger -p 1
	kill -INT $first $second
	wait $first || die "the first exits with $?"
	wait $second || die "the second exits with $?"
	kill $one $two
	for file in one-signal-1 one-command-2 two-command-1 two-command-2; do
		valid $file.fperf >/dev/null
		"$FP" report $file.fperf --json >report.json
		python3 "$TOP/tests/live/expect.py" report.json "r['trigger']['kind'] == '$(echo $file | cut -d- -f2)'" \
			"r['stall'] is None" "len(r['trigger']['threads']) >= 2" || exit 1
	done
}

test_end_during_the_post_roll_leaves_a_whole_session() {
	for signal in TERM INT HUP; do
		rm -f s-*.fperf
		"$STALL" none 60 1 & local target=$!
		"$FP" record -o s.fperf -p $target --flight 10 --post 30 2>record.log & local job=$!
		wait_for 20 grep -q 'lying in wait' record.log
		kill -USR2 $job
		wait_for 20 grep -q 'trigger 1' record.log
		kill -$signal $job
		wait $job || die "status $? after SIG$signal"
		kill $target
		valid s-signal-1.fperf >/dev/null
		"$FP" report s-signal-1.fperf --json >report.json
		python3 "$TOP/tests/live/expect.py" report.json "r['trigger']['kind'] == 'signal'" "r['session']['complete']" || exit 1
	done
}

test_full_disk_while_writing_is_said_and_survived() {
	mkdir -p small
	mount -t tmpfs -o size=512k tmpfs small
	trap 'umount small' EXIT
	"$STALL" none 60 1 & local target=$!
	"$FP" record -o small/s.fperf -p $target --flight 20 --post 0.2 --cool-down 0 2>record.log & local job=$!
	wait_for 20 grep -q 'lying in wait' record.log
	sleep 4
	head -c 430000 /dev/zero >small/filler
	kill -USR2 $job
	wait_for 20 grep -q 'space left' record.log
	"$FP" check small/s-signal-1.fperf || [ $? = 4 ] || die "what was written cannot be read"
	rm -f small/*
	kill -USR2 $job
	wait_for 20 grep -q 'wrote small/s-signal-2' record.log
	"$FP" check small/s-signal-2.fperf || die "the next one is not whole"
	kill -INT $job
	exits_with 1 wait $job
	kill $target
}

test_keep_worst_keeps_the_worst_and_figures_for_all() {
	"$FP" record -o s.fperf --as-root --frame "$STALL:stall_present" --keep-worst 2 -- "$STALL" frame 14 3 >truth 2>record.log
	cat record.log truth
	valid s.fperf
	"$FP" report s.fperf --json >report.json
	python3 - report.json truth <<-'X' || die "not what was worst"
		import json, sys
		report, truth = json.load(open(sys.argv[1])), open(sys.argv[2]).read().split()
		whole, frames = report["whole"], report["frames"]
		begin, end = int(truth[1]), int(truth[2])
		print(whole, frames["count"])
		assert 1000 < whole["frames"] < 1800, "all frames are counted"
		assert whole["duration_ns"] > 12e9
		assert abs(whole["time_ns"]["max"] - (end - begin)) < 12e6, "the worst one is known"
		assert 7.9e6 < whole["time_ns"]["p50"] < 8.5e6
		assert frames["count"] < whole["frames"] / 2, "only a part is kept"
		assert whole["kept_ns"] < 9e9
		worst = max(report["slow_frames"], key=lambda frame: frame["time_ns"])
		assert begin - 12e6 < worst["start_ns"] < begin and worst["time_ns"] < 230e6, "and it is in full: no frame spans a gap"
		assert worst["verdict"]["cause"] == "cpu" and worst["verdict"]["place"]["function"] in ("spin_for", "fault", "main"), worst["verdict"]
		cpu = sum(thread["cpu_ns"] for thread in report["threads"])
		assert cpu < whole["kept_ns"], ("no thread ran in what was not kept", cpu)
	X
}

test_keep_worst_survives_kill_9_and_stays_small() {
	"$FP" record -o s.fperf --as-root --frame "$STALL:stall_present" --keep-worst 5 -- "$STALL" none 80 3 2>record.log & local job=$!
	wait_for 75 test -s s.fperf
	kill -9 $job
	wait $job || :
	valid s.fperf >/dev/null
	[ "$(stat -c %s s.fperf)" -lt 1000000 ] || die "$(stat -c %s s.fperf) bytes"
	SESSION=s.fperf expect "r['whole']['frames'] > 5000" "r['session']['end_reason'] == 'still recording'"
}
