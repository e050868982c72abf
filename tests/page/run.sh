#!/bin/bash
# Tests of the page: types, lint, unit tests, and the page itself in headless Chromium on sessions of known content.
#   tests/page/run.sh [PATTERN]     runs the browser tests whose name matches PATTERN
# Env: BUILD=build (where frameperf, make_game and make_session are), PAGE_SECONDS="10 600 3600" (lengths of the made-up
# recordings), CHROMIUM=chromium.
set -u
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
BUILD=${BUILD:-build}
case $BUILD in /*) ;; *) BUILD=$top/$BUILD ;; esac
seconds=${PAGE_SECONDS:-10 600}
passed=0 failed=0
scratch=$(mktemp -d /tmp/frameperf-page-XXXXXX)
trap 'rm -rf "$scratch"' EXIT

finish() {
	echo "$passed passed, $failed failed"
	[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
	exit
}

if sh "$top/userspace/output/page/build.sh" --check >"$scratch/check" 2>&1; then
	passed=$((passed + 1))
	echo "ok   types, lint and unit tests"
else
	failed=$((failed + 1))
	grep -vE '^(ok|  |# Subtest)' "$scratch/check" | tail -30
	echo "FAIL types, lint and unit tests"
fi

page() { # NAME [OPTION...]: the page and the report of $scratch/NAME.fperf
	local name=$1
	shift
	"$BUILD/frameperf" report -q "$scratch/$name.fperf" --html "$scratch/$name.html" "$@" &&
		"$BUILD/frameperf" report -q "$scratch/$name.fperf" --json "$@" >"$scratch/$name.json"
}

ready=1
for length in $seconds; do
	{ "$BUILD/make_game" "$length" "$scratch/game-$length.fperf" && page "game-$length"; } || ready=
done
for kind in frames hostile empty; do
	{ "$BUILD/make_session" $kind "$scratch/$kind.fperf" && page $kind; } || ready=
done
head -c "$(($(stat -c %s "$scratch/frames.fperf") - 5))" "$scratch/frames.fperf" >"$scratch/cut.fperf"
page cut
[ $? = 4 ] || [ -s "$scratch/cut.html" ] || ready=
if [ -z "$ready" ]; then
	echo "FAIL making the pages"
	failed=$((failed + 1))
	finish
fi
node "$here/browser.mjs" "$scratch" "${1:-}" | tee "$scratch/log"
[ "${PIPESTATUS[0]}" = 0 ] || grep -q '^FAIL' "$scratch/log" || failed=$((failed + 1))
passed=$((passed + $(grep -c '^ok' "$scratch/log")))
failed=$((failed + $(grep -c '^FAIL' "$scratch/log")))
finish
