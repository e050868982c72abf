#!/bin/sh
# run.sh DIRECTORY SECONDS: runs every fuzzer in DIRECTORY for SECONDS. Starts from tests/fuzz/corpus/NAME; what is found
# new stays in DIRECTORY/NAME.corpus, and inputs that fail in DIRECTORY. Fails if one of them found something.
set -eu
directory=$1 seconds=$2
here=$(cd "$(dirname "$0")" && pwd)
[ "$seconds" -gt 0 ] || exit 0
status=0
for fuzzer in "$directory"/fuzz_*; do
	[ -f "$fuzzer" ] && [ -x "$fuzzer" ] || continue
	name=$(basename "$fuzzer")
	seeds=$here/corpus/$name
	mkdir -p "$directory/$name.corpus"
	[ -d "$seeds" ] || seeds=
	# shellcheck disable=SC2086 # no seeds: no argument
	if "$fuzzer" -max_total_time="$seconds" -rss_limit_mb=2048 -timeout=10 -max_len=65536 -print_final_stats=1 \
		-artifact_prefix="$directory/$name-" "$directory/$name.corpus" $seeds >"$directory/$name.log" 2>&1; then
		echo "$name: nothing found in $(sed -n 's/^stat::number_of_executed_units: *//p' "$directory/$name.log") runs"
	else
		echo "$name: FAILED, see $directory/$name.log" >&2
		tail -40 "$directory/$name.log" >&2
		status=1
	fi
done
exit $status
