#!/bin/bash
# All tests: unit, command line, page, live. User space is built with ASan and UBSan. Ends with "N passed, N failed" alone on a
# line, and fails if a test failed or a part ran none.
#   tests/run.sh [unit] [cli] [page] [live]
set -u
cd "$(dirname "$0")/.." || exit 1
export BUILD=${BUILD:-build-asan}
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1:abort_on_error=0:exitcode=99} UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}
parts=${*:-unit cli page live}
passed=0 failed=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT

count() { # PART PASSED FAILED STATUS
	local part=$1 good=${2:-0} bad=${3:-0} status=$4
	if [ "$good" = 0 ] && [ "$bad" = 0 ]; then
		echo "$part: ran no test"
		bad=1
	elif [ "$status" != 0 ] && [ "$bad" = 0 ]; then
		echo "$part: exits with $status"
		bad=1
	fi
	passed=$((passed + good)) failed=$((failed + bad))
}

for part in $parts; do
	echo "== $part"
	case $part in
	unit)
		"$BUILD/unit-tests" -j2 --timeout 240 2>&1 | tee "$log" | grep -v '^\[----\].*Warning' | tail -60
		status=${PIPESTATUS[0]}
		line=$(grep -o 'Tested: .*' "$log" | tail -1)
		good=$(echo "$line" | sed -n 's/.*Passing: \([0-9]*\).*/\1/p')
		tested=$(echo "$line" | sed -n 's/.*Tested: \([0-9]*\).*/\1/p')
		count unit "$good" $((${tested:-0} - ${good:-0})) "$status"
		;;
	*)
		"tests/$part/run.sh" 2>&1 | tee "$log"
		status=${PIPESTATUS[0]}
		line=$(grep -E '^[0-9]+ passed, [0-9]+ failed' "$log" | tail -1)
		count "$part" "${line%% passed*}" "$(echo "$line" | sed -n 's/.*, \([0-9]*\) failed.*/\1/p')" "$status"
		;;
	esac
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
