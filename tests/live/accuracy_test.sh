# Numbers that must be right.
# shellcheck shell=bash

busy() { # True when others ran beside the test
	python3 -c 'import os; print(os.getloadavg()[0] > 1.5)'
}

test_hotspots_60_30_10() {
	record -- "$TARGETS/hotspots" 20
	valid
	# on a busy machine interrupts take their share of every thread: then the three are held against each other
	expect "abs(share('hot_sixty') - 0.60) <= 0.015 or $(busy)" \
		"abs(share('hot_sixty') / sum(share(f) for f in ('hot_sixty', 'hot_thirty', 'hot_ten')) - 0.60) <= 0.015" \
		"abs(share('hot_thirty') / sum(share(f) for f in ('hot_sixty', 'hot_thirty', 'hot_ten')) - 0.30) <= 0.015" \
		"abs(share('hot_ten') / sum(share(f) for f in ('hot_sixty', 'hot_thirty', 'hot_ten')) - 0.10) <= 0.015" "sum(share(f) for f in ('hot_sixty', 'hot_thirty', 'hot_ten')) > 0.9"
}

test_cpu_time_agrees_with_the_kernel() {
	record -- "$TARGETS/many_threads" 200 >cpu
	expect "abs(sum(t['cpu_ns'] for t in threads) - $(head -1 cpu)) <= 0.02 * $(head -1 cpu)"
	record -- "$TARGETS/hotspots" 3
	expect "abs(sum(t['cpu_ns'] for t in thread('hotspots')) - 3e9) <= 0.01 * 3e9"
}

test_20000_switches_stay_affordable() {
	# 80 us of work before each hand-over, which is two switches; on one CPU, so that none waits for an idle one to wake
	local alone recorded
	alone=$(taskset -c 1 "$TARGETS/switcher" 3 80000)
	recorded=$(record -- taskset -c 1 "$TARGETS/switcher" 3 80000 | head -1)
	note "$((alone / 3)) hand-overs/s alone, $((recorded / 3)) recorded"
	[ "$alone" -gt 24000 ] || die "the target switched only $((alone * 2 / 3)) times a second"
	valid
	expect "sum(t['switches'] for t in threads) > 1.9 * $recorded" "sum(lost.get(r, 0) for r in lost if r != 'stack_skipped') == 0"
	[ "$recorded" -gt $((alone * 80 / 100)) ] || die "recording costs more than a fifth of the hand-overs"
}

test_doom_agrees_with_perf() {
	# Both watch the same run. Rank of self time, for all above 3 %: by module and function where perf has a name.
	"$PLAY" dsda-doom 60 -- "$FP" record -o "$PWD/s.fperf" -- perf record -q -B -N -e cpu-clock -F 999 -o "$PWD/perf.data" \
		>game.log 2>&1 || die "run fails: $(tail -5 game.log)"
	valid
	"$FP" report s.fperf --json >report.json
	python3 "$TOP/tests/live/compare_perf.py" report.json perf.data dsda-doom
}
