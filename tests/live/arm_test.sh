# The watcher end to end: games that appear, edits, quotas, and ends of all kinds.
# shellcheck shell=bash

configure() { # [LINE...]: arm.conf, with further lines in its target
	printf '%s\n' '[arm]' "output = $PWD/out" "state = $PWD/state" '[target tick]' 'name = armed-ticker' "$@" >arm.new
	mv arm.new arm.conf # as editors do
}

# Nothing that waits for games is left behind by a test that fails.
trap 'kill -TERM ${watcher:-} ${game:-} 2>/dev/null || :' EXIT

arm() { # starts the watcher, in $watcher
	"$FP" arm arm.conf 2>>arm.log &
	watcher=$!
	wait_for 20 armed
}

armed() {
	"$FP" arm --status arm.conf | grep -q "^armed: process $watcher"
}

disarm() {
	kill -TERM "$watcher"
	wait "$watcher" || die "the watcher exits with $?"
}

state() { # EXPRESSION of `s`, the status, and `t`, the target
	"$FP" arm --status --json arm.conf | python3 -c "
import json, sys
s = json.load(sys.stdin)
t = s['targets'].get('tick', {})
sys.exit(not ($1))"
}

sessions() {
	find out -name '*.fperf' 2>/dev/null | wc -l
}

recorded() { # COUNT: so many sessions, and none in the making
	[ "$(sessions)" = "$1" ] && state "t['state'] != 'recording'"
}

play() { # SECONDS, or a little more: a game appears, in $game
	cp "$TARGETS/ticker" ./armed-ticker 2>/dev/null || :
	./armed-ticker $(($1 * 50)) 20 >/dev/null &
	game=$!
}

end_game() {
	kill "$game" 2>/dev/null || :
	wait "$game" 2>/dev/null || :
}

attached() { # BPF programs and links, of anybody
	bpftool -j prog show | python3 -c 'import json,sys; print(sum("arrive" in p.get("name", "") for p in json.load(sys.stdin)))'
}

attached_are() {
	[ "$(attached)" = "$1" ]
}

test_arm_records_each_appearance_once() {
	configure 'window = 2s' 'label = scene=yard'
	arm
	[ "$(sessions)" = 0 ]
	play 30
	wait_for 20 recorded 1
	sleep 2
	recorded 1 || die "the same process was recorded twice"
	end_game
	play 30
	wait_for 20 recorded 2
	end_game
	disarm
	for session in out/*.fperf; do
		valid "$session"
		SESSION=$session expect "r['session']['target']['name'] == 'armed-ticker'" \
			"r['session']['labels'] == {'armed': 'tick', 'scene': 'yard'}" \
			"1.5e9 < r['session']['duration_ns'] < 4e9" "total('ticker_work') > 0.1"
	done
	[ "$(stat -c %a state)" = 700 ] && [ "$(stat -c %a state/state.json)" = 600 ] || die "the state is open to others"
}

test_arm_ends_with_the_game() {
	configure 'window = 60s'
	arm
	play 3
	wait_for 30 recorded 1
	disarm
	valid out/*.fperf
	SESSION=$(echo out/*.fperf) expect "r['session']['end_reason'] == 'target ended'"
}

test_arm_waits_at_next_to_no_cost() {
	local before cpu switches
	configure 'window = 2s'
	before=$(attached)
	arm
	[ "$(attached)" -gt "$before" ] || die "the kernel is not asked to tell of arrivals"
	sleep 1
	cpu=$(awk '{print $14 + $15}' /proc/$watcher/stat)
	switches=$(awk '/ctxt_switches/{n += $2} END {print n}' /proc/$watcher/status)
	sleep 10
	cpu=$(($(awk '{print $14 + $15}' /proc/$watcher/stat) - cpu))
	switches=$(($(awk '/ctxt_switches/{n += $2} END {print n}' /proc/$watcher/status) - switches))
	note "10 s of waiting: $((cpu * 10)) ms of CPU, $switches switches"
	[ $cpu -le 1 ] && [ $switches -le 10 ] || die "waiting costs $((cpu * 10)) ms of CPU and $switches switches in 10 s"
	disarm
	wait_for 10 attached_are "$before" # the kernel lets go of a program a grace period after its link
	"$FP" arm --status arm.conf | grep -q 'nothing is armed' || die "the status does not say that nothing runs"
}

test_arm_takes_edits_up_at_once_and_refuses_bad_ones() {
	configure 'window = 2s'
	arm
	configure 'window = never'
	wait_for 5 state "'arm.conf:6: window = never' in s['config_error']"
	says 'arm.conf:6: .*the configuration before stays' arm.log
	play 20
	wait_for 20 recorded 1 # as before
	end_game
	sed -i 's/armed-ticker/other-ticker/; s/never/3s/' arm.conf # in place of, or over the file
	wait_for 5 state "not s['config_error']"
	play 5
	cp "$TARGETS/ticker" other-ticker
	./other-ticker 1000 20 >/dev/null &
	local other=$!
	wait_for 20 recorded 2
	end_game
	kill $other
	SESSION=$(ls -t out/*.fperf | head -1) expect "r['session']['target']['name'] == 'other-ticker'" \
		"2.5e9 < r['session']['duration_ns'] < 5e9"
	# a target that is taken out while it is recorded
	configure 'window = 60s'
	play 30
	wait_for 20 state "t['state'] == 'recording'"
	sleep 1
	printf '%s\n' '[arm]' "output = $PWD/out" "state = $PWD/state" '[target none]' 'name = nothing-of-the-kind' >arm.conf
	wait_for 20 state "t['state'] == 'not armed'"
	wait_for 20 recorded 3
	end_game
	disarm
}

test_arm_holds_its_quota_over_restarts() {
	configure 'window = 1s' 'quota = 2'
	arm
	play 20
	wait_for 20 recorded 1
	end_game
	kill -KILL "$watcher"
	wait "$watcher" || :
	"$FP" arm --status arm.conf | grep -q 'nothing is armed' || die "a killed watcher is said to run"
	arm
	play 20
	wait_for 20 recorded 2
	end_game
	wait_for 5 state "t['state'] == 'quota used up' and t['sessions'] == 2"
	play 4
	sleep 3
	recorded 2 || die "recorded beyond the quota"
	end_game
	disarm
	# the day before, less was left
	sed -i 's/"day": "[0-9-]*"/"day": "2020-01-01"/' state/state.json
	arm
	state "t['sessions'] == 0" || die "a new day does not begin with a new quota"
	disarm
}

test_arm_killed_while_it_records() {
	configure 'window = 30s' 'quota = 2'
	arm
	play 40
	wait_for 20 state "t['state'] == 'recording'"
	sleep 2
	kill -KILL "$watcher"
	wait "$watcher" || :
	sleep 3 # the recording ends with its watcher, in order
	valid out/*.fperf
	arm
	state "t['sessions'] == 1 and t['bytes'] > 1000" || die "what was recorded then does not count"
	sleep 2
	[ "$(sessions)" = 1 ] || die "the same process is recorded again"
	end_game
	play 20
	wait_for 20 state "t['state'] == 'recording'"
	sleep 1
	disarm # ends it
	[ "$(sessions)" = 2 ] || die "$(sessions) sessions"
	for session in out/*.fperf; do valid "$session"; done
	end_game
}

test_arm_is_one_per_state_directory() {
	configure 'window = 1s'
	arm
	exits_with 1 "$FP" arm arm.conf
	says 'another watcher'
	disarm
}

test_arm_finds_a_program_by_its_path() {
	mkdir -p bin
	cp "$TARGETS/ticker" bin/some-game
	printf '%s\n' '[arm]' "output = $PWD/out" "state = $PWD/state" '[target tick]' "exe = $PWD/bin/some-game" \
		'window = 1s' >arm.conf
	cp "$TARGETS/ticker" some-game # the same name in another place
	arm
	./some-game 150 20 >/dev/null &
	bin/some-game 1000 20 >/dev/null &
	local game=$!
	wait_for 20 recorded 1
	disarm
	SESSION=$(echo out/*.fperf) expect "r['session']['target']['pid'] == $game"
	end_game
}

test_arm_writes_only_what_triggers() {
	configure 'window = 6s' 'trigger = run-queue>10s'
	arm
	play 20
	wait_for 20 state "t['state'] == 'recording'"
	wait_for 30 state "t['state'] == 'waiting'"
	[ "$(sessions)" = 0 ] || die "wrote a session that nothing triggered"
	end_game
	disarm
}
