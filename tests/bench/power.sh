#!/bin/bash
# How often `diff` finds injected regressions, and how often it raises a false alarm.
#   tests/bench/power.sh BUILD POOL RUNS [PRIORITY]
# Records RUNS runs of the workload as it is, three times as many, and of each slower build, in turns, and the same with
# dsda-doom, which LD_PRELOAD makes slower, where they are not in POOL already; then draws comparisons from them. With
# PRIORITY the workload runs at that real-time priority, so that other work on the machine does not disturb it, at 120
# frames a second. Prints tables for docs/benchmarks.md. As root.
set -eu
build=$1 pool=$2 runs=$3 priority=${4:-}
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$pool/game" "$pool/doom"
pool=$(cd "$pool" && pwd)
rate=1000
[ -z "$priority" ] || rate=120

game() { # NAME OPTIONS...: one run of the workload
	local file=$pool/game/$1.fperf
	shift
	[ ! -e "$file" ] || return 0
	timeout 60 "$build/frameperf" record -q -o "$file" --as-root --frame "$build/workloads/game-nofp:game_present" -- \
		${priority:+chrt -f "$priority"} "$build/workloads/game-nofp" --seconds 10 --no-faults --rate $rate --speed 1500 \
		--truth /dev/null "$@" >/dev/null 2>&1 || rm -f "$file"
}

doom() { # NAME SETTINGS...: one run of the demo
	local file=$pool/doom/$1.fperf
	shift
	[ ! -e "$file" ] || return 0
	timeout 90 "$here/../games/play" dsda-doom 40 -- "$build/frameperf" record -q -o "$file" --as-root -- \
		env LD_PRELOAD="$build/workloads/slower.so" "$@" >/dev/null 2>&1 || rm -f "$file"
}

for i in $(seq "$runs"); do
	game "a-$i"
	game "more 1 %-$i" --more plan_paths=1
	game "more 5 %-$i" --more plan_paths=5
	game "a-$((runs + i))"
	game "more 2 %-$i" --more plan_paths=2
	game "more 10 %-$i" --more plan_paths=10
	game "a-$((2 * runs + i))"
	game "lock-$i" --lock-wait 0.5
	game "hitches-$i" --hitches 20
	doom "a-$i" SLOWER_WORK=200000
	doom "more 1 %-$i" SLOWER_WORK=202000
	doom "more 5 %-$i" SLOWER_WORK=210000
	doom "a-$((runs + i))" SLOWER_WORK=200000
	doom "more 2 %-$i" SLOWER_WORK=204000
	doom "more 10 %-$i" SLOWER_WORK=220000
	doom "lock-$i" SLOWER_WORK=200000 SLOWER_LOCK_MS=0.5
	doom "hitches-$i" SLOWER_WORK=200000 SLOWER_HITCHES=20
done
echo "The workload:"
"$build/bench/power" "$pool/game" plan_paths
echo
echo "dsda-doom:"
"$build/bench/power" "$pool/doom" draw_overlay
