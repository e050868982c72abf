# What recording may cost, and what it gives up to hold that.
# shellcheck shell=bash

steps() { # how often each reason is among the steps of s.fperf
	"$FP" report s.fperf --json | python3 -c '
import collections, json, sys
print(dict(collections.Counter(s["reason"] for s in json.load(sys.stdin)["quality"]["overhead"]["steps"])))'
}

test_many_switches_pass_the_budget() {
	record -- taskset -c 0 "$TARGETS/switcher" 14
	valid
	note "$(steps)"
	expect "sum(t['switches'] for t in threads) / r['session']['duration_ns'] * 1e9 > 20000" \
		"r['quality']['overhead']['budget_percent'] == 1" \
		"r['quality']['overhead']['steps'][0]['from'] == 0" \
		"r['quality']['overhead']['steps'][0]['reason'] == 'bpf'" \
		"r['quality']['overhead']['steps'][0]['bpf_share'] > 0.01" \
		"r['quality']['overhead']['steps'][-1]['to'] >= 4" \
		"r['quality']['overhead']['sample_ns'] > 300" "r['quality']['overhead']['switch_ns'] > 50" \
		"all(a['to'] == b['from'] for a, b in zip(r['quality']['overhead']['steps'], r['quality']['overhead']['steps'][1:]))"
	"$FP" report s.fperf >report.txt
	says 'the BPF programs took more than allowed' report.txt
	"$FP" info s.fperf >info.txt
	says 'budget 1 %' info.txt
	says 'step 1: 500 samples/s' info.txt
}

test_steps_are_kept_at_every_level() {
	for level in 0 1; do
		record --level $level --overhead 0.01 -d 8 -- "$TARGETS/hotspots" 20
		"$FP" check s.fperf
		note "level $level: $(steps), $(stat -c %s s.fperf) bytes"
		"$FP" report s.fperf --json | python3 -c "
import json, sys
r = json.load(sys.stdin)
steps = r['quality']['overhead']['steps']
assert r['session']['level'] == $level and len(steps) >= 2 and steps[0]['hits_per_sample'] == 2, r['quality']"
	done
}

test_without_a_budget_nothing_is_given_up() {
	record --overhead off -- "$TARGETS/switcher" 4
	valid
	expect "r['quality']['overhead']['steps'] == []" "r['quality']['overhead']['budget_percent'] is None" \
		"r['quality']['overhead']['bpf_ns'] > 0"
}

test_an_ordinary_program_is_within_the_budget() {
	record -- "$TARGETS/hotspots" 6
	valid
	expect "not [s for s in r['quality']['overhead']['steps'] if s['reason'] == 'bpf']" \
		"abs(share('hot_sixty') - 0.6) < 0.06"
}

# A budget that nothing holds makes the rate fall to a tenth while it records: shares stay those of the time.
test_shares_stay_right_when_the_rate_changes() {
	record --overhead 0.01 -- "$TARGETS/hotspots" 16
	valid
	note "$(steps)"
	expect "any(s['hits_per_sample'] == 10 for s in r['quality']['overhead']['steps'])" \
		"abs(share('hot_sixty') - 0.6) < 0.06" "abs(share('hot_thirty') - 0.3) < 0.06" \
		"abs(share('hot_ten') - 0.1) < 0.05"
	# what runs at the full rate weighs as much as what runs at a tenth of it
	record --overhead 0.01 -- sh -c "$TARGETS/exec_first; $TARGETS/hotspots 14"
	valid
	expect "abs(share('fn_a') - 1 / 16) < 0.02" "abs(share('hot_sixty') - 0.6 * 14 / 16) < 0.06"
}

test_eases_off_when_the_game_is_slow() {
	local game=$BUILD/workloads/game-fp
	record --frame "$game:game_present" -- "$game" --seconds 14 --no-faults --rate 15 --truth truth.jsonl
	valid
	note "$(steps)"
	expect "any(s['reason'] == 'low_fps' and 10 < s['fps'] < 25 for s in r['quality']['overhead']['steps'])"
	record --frame "$game:game_present" -- "$game" --seconds 6 --no-faults --rate 60 --truth truth.jsonl
	expect "not [s for s in r['quality']['overhead']['steps'] if s['reason'] == 'low_fps']"
}

# Without CAP_SYS_ADMIN the kernel keeps the run time of BPF programs to itself.
test_cost_is_estimated_where_the_kernel_does_not_tell() {
	sysctl -q kernel.bpf_stats_enabled=0
	exits_with 0 setpriv --bounding-set=-sys_admin "$FP" record -o s.fperf -- "$TARGETS/switcher" 8
	says 'it is estimated'
	valid
	expect "r['quality']['overhead']['bpf_by'] == 'estimate'" "r['quality']['overhead']['bpf_ns'] > 0" \
		"300 < r['quality']['overhead']['sample_ns'] < 100000" "len(r['quality']['overhead']['steps']) > 0"
}

owns_programs() { # PID
	grep -qsE '^prog_type:' "/proc/$1/fdinfo/"*
}

test_safe_is_the_least_that_works() {
	local game=$BUILD/workloads/game-fp probes
	"$FP" record --safe -o s.fperf -- "$game" --seconds 5 --no-faults --rate 60 --truth truth.jsonl 2>record.log &
	local job=$!
	wait_for 20 owns_programs $job
	sleep 2
	probes=$(grep -lE '^prog_type:\s*2$' "/proc/$job/fdinfo/"* 2>/dev/null | wc -l || :) # BPF_PROG_TYPE_KPROBE
	wait $job || die "record --safe exits with $?"
	[ "$probes" = 0 ] || die "$probes probes are attached"
	valid
	expect "10 < r['quality']['samples'] < 100 * 6 * 6" "r['quality']['sample_period_ns'] > 9900000" \
		"list(r['quality']['stacks']['by_reason']) == ['leaf']" "any(t['switches'] > 50 for t in threads)" \
		"r['frames'] is None"
	exits_with 2 "$FP" record --safe --mark game:f -p 1
	says 'no probe'
	exits_with 2 "$FP" record --safe -F 1000 -p 1
}
