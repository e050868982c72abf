#!/bin/bash
# Live tests: real BPF on this machine. Needs root. Never skips: what cannot run here fails.
#   tests/live/run.sh [PATTERN]     runs every test_* function of tests/live/*_test.sh whose name matches PATTERN
# Env: BUILD=build (where frameperf and the targets are), LIVE_KEEP=1 keeps the scratch folders.
set -u
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
export BUILD=${BUILD:-build} TOP=$top
case $BUILD in /*) ;; *) BUILD=$top/$BUILD ;; esac
export FP=$BUILD/frameperf TARGETS=$BUILD/targets PLAY=$top/tests/games/play
pattern=${1:-.}
passed=0 failed=0 failures=

[ "$(id -u)" = 0 ] || { echo "live tests need root" >&2; echo "0 passed, 1 failed"; exit 1; }
mountpoint -q /sys/kernel/tracing || mount -t tracefs tracefs /sys/kernel/tracing
mountpoint -q /sys/kernel/debug || mount -t debugfs debugfs /sys/kernel/debug
mountpoint -q /sys/fs/bpf || mount -t bpf bpf /sys/fs/bpf
[ -x "$FP" ] || { echo "no $FP: run make first" >&2; echo "0 passed, 1 failed"; exit 1; }

run_one() { # FILE FUNCTION
	local scratch log start seconds
	scratch=$(mktemp -d /tmp/frameperf-live-XXXXXX)
	log=$scratch/log
	start=$(date +%s%N)
	if (cd "$scratch" && export HOME=$scratch && timeout -k 5 "${LIVE_TIMEOUT:-240}" \
		bash -eu -o pipefail -c '. "$1/lib.sh"; . "$2"; "$3"' _ "$here" "$1" "$2") >"$log" 2>&1 </dev/null; then
		passed=$((passed + 1)) verdict=ok
	else
		failed=$((failed + 1)) verdict=FAIL failures="$failures $2"
	fi
	seconds=$((($(date +%s%N) - start) / 100000000))
	printf '%-4s %s (%d.%d s)\n' "$verdict" "$2" $((seconds / 10)) $((seconds % 10))
	[ "$verdict" = ok ] && grep -h '^# ' "$log" | sed 's/^/       /'
	[ "$verdict" = ok ] || tail -n 25 "$log" | sed 's/^/     | /'
	[ -n "${LIVE_KEEP:-}" ] || rm -rf "$scratch"
}

for file in "$here"/*_test.sh; do
	for name in $(grep -oE '^test_[a-z0-9_]+' "$file"); do
		echo "$name" | grep -qE -- "$pattern" && run_one "$file" "$name"
	done
done
[ -z "$failures" ] || echo "failed:$failures"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
