#!/bin/bash
# Tests of the command line that need no BPF: usage, help, man pages, reports on session files of known content.
#   tests/cli/run.sh [PATTERN]     runs every test_* function of tests/cli/*_test.sh whose name matches PATTERN
# Env: BUILD=build (where frameperf and make_session are).
set -u
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
BUILD=${BUILD:-build}
case $BUILD in /*) ;; *) BUILD=$top/$BUILD ;; esac
export BUILD TOP=$top FP=$BUILD/frameperf MAKE_SESSION=$BUILD/make_session
pattern=${1:-.}
passed=0 failed=0 failures=
names=$(mktemp /tmp/frameperf-cli-XXXXXX)
trap 'rm -f "$names"' EXIT

for program in "$FP" "$MAKE_SESSION"; do
	[ -x "$program" ] || { echo "no $program: run make cli" >&2; echo "0 passed, 1 failed"; exit 1; }
done

run_one() { # FILE FUNCTION
	local scratch log verdict
	scratch=$(mktemp -d /tmp/frameperf-cli-XXXXXX)
	log=$scratch/log
	# shellcheck disable=SC2016
	if (cd "$scratch" && timeout -k 5 "${CLI_TIMEOUT:-60}" \
		bash -eu -o pipefail -c '. "$1/lib.sh"; . "$2"; "$3"' _ "$here" "$1" "$2") >"$log" 2>&1 </dev/null; then
		passed=$((passed + 1)) verdict=ok
	else
		failed=$((failed + 1)) verdict=FAIL failures="$failures $2"
	fi
	printf '%-4s %s\n' "$verdict" "$2"
	[ "$verdict" = ok ] || tail -n 25 "$log" | sed 's/^/     | /'
	rm -rf "$scratch"
}

for file in "$here"/*_test.sh; do
	grep -oE '^test_[a-z0-9_]+' "$file" >"$names"
	while read -r name; do
		if echo "$name" | grep -qE -- "$pattern"; then run_one "$file" "$name"; fi
	done <"$names"
done
[ -z "$failures" ] || echo "failed:$failures"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
