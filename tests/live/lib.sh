# Helpers of the live tests. Each test runs in a scratch folder of its own, with -eu -o pipefail.
# shellcheck shell=bash

die() {
	echo "FAILED: $*" >&2
	exit 1
}

note() { # shown beside a passed test
	echo "# $*"
}

record() { # ARGS...: frameperf record -o s.fperf ARGS; its messages go to record.log
	local rc=0
	"$FP" record -o s.fperf "$@" 2>record.log || rc=$?
	cat record.log
	return $rc
}

# expect EXPRESSION: holds a Python expression against `r`, the report of s.fperf as JSON (FILE in $SESSION, extra report
# arguments in $REPORT_ARGS). Prints the values of the sub-expressions on failure.
expect() {
	local file=${SESSION:-s.fperf}
	# shellcheck disable=SC2086
	"$FP" report "$file" --json ${REPORT_ARGS:-} >report.json || die "report of $file exits with $?"
	python3 "$TOP/tests/live/expect.py" report.json "$@" || exit 1
}

valid() { # FILE: check accepts the session, and no thread ran for longer than the recording lasted
	"$FP" check "${1:-s.fperf}" || die "check of ${1:-s.fperf} exits with $?"
	"$FP" report "${1:-s.fperf}" --json >valid.json || die "report of ${1:-s.fperf} exits with $?"
	python3 - valid.json <<-'X' || die "a thread ran for longer than the recording lasted"
		import collections, json, sys
		report = json.load(open(sys.argv[1]))
		ran = collections.Counter()
		for thread in report["threads"]:
		    ran[thread["pid"], thread["tid"]] += thread["cpu_ns"] or 0
		too_long = {task: ns for task, ns in ran.items() if ns > 1.001 * report["session"]["duration_ns"] + 1e6}
		print("ran too long:", too_long) if too_long else None
		sys.exit(bool(too_long))
	X
}

exits_with() { # STATUS COMMAND...: the command ends with STATUS; output in out.log and err.log
	local want=$1 rc=0
	shift
	"$@" >out.log 2>err.log || rc=$?
	cat out.log err.log
	[ "$rc" = "$want" ] || die "exit status $rc instead of $want: $*"
}

says() { # PATTERN [FILE]: a message matches
	grep -qiE -- "$1" "${2:-err.log}" || die "no '$1' in ${2:-err.log}"
}

wait_for() { # SECONDS COMMAND...: until it succeeds
	local until=$(($(date +%s) + $1))
	shift
	until "$@"; do
		[ "$(date +%s)" -lt $until ] || die "timed out waiting for: $*"
		sleep 0.05
	done
}

bpf_programs() { # how many BPF programs of ours are loaded
	bpftool prog show 2>/dev/null | grep -c 'name fperf' || :
}

bpf_programs_at_most() { # NUMBER; the kernel lets go of a program a grace period after its last user
	[ "$(bpf_programs)" -le "$1" ]
}
