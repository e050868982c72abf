# Hours of recording: what comes and goes leaves nothing behind, and what comes late is recorded as well.
# shellcheck shell=bash

# The entries in the recorder's hash maps, one line of "NAME COUNT" for each; those that evict by themselves are left out.
hash_entries() { # PID
	local id
	sed -n 's/^map_id:\t*//p' /proc/"$1"/fdinfo/* 2>/dev/null | sort -un | while read -r id; do
		bpftool -j map show id "$id" >map.json 2>/dev/null || continue
		python3 -c 'import json, sys; m = json.load(sys.stdin); sys.exit(m["type"] not in ("hash", "percpu_hash"))' <map.json ||
			continue
		bpftool -j map dump id "$id" | python3 -c 'import json, sys
m = json.load(open("map.json")); print(m.get("name", "?"), len(json.load(sys.stdin)))'
	done
}

entries() { # PID
	hash_entries "$1" | awk '{n += $2} END {print n + 0}'
}

entries_at_most() { # PID COUNT
	[ "$(entries "$1")" -le "$2" ]
}

descriptors() { # PID
	find /proc/"$1"/fd -mindepth 1 | wc -l
}

resident_kib() { # PID
	awk '/^VmRSS/ {print $2}' /proc/"$1"/status
}

short_programs_build() {
	local level
	cat >short.c <<'EOC'
static volatile unsigned long sink;
__attribute__((noinline)) void burst(void) { for (int i = 0; i < 20000; i++) sink += i; }
int main(void) { burst(); return 0; }
EOC
	for level in 0 1 2 3; do
		gcc -O$level -g -fomit-frame-pointer short.c -o short$level
	done
	gcc -O2 -g -static short.c -o short4
	cat >churn.c <<'EOC'
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
extern char **environ;
int main(int argc, char **argv) { /* COUNT PROGRAM...: that many processes, of each program in turn */
	for (int i = 0; i < atoi(argv[1]); i++) {
		char *program = argv[2 + i % (argc - 2)], *arguments[] = {program, 0};
		pid_t child;
		if (posix_spawn(&child, program, 0, 0, arguments, environ)) return 1;
		waitpid(child, 0, 0);
	}
	return 0; }
EOC
	gcc -O2 churn.c -o churn
	cat >late.c <<'EOC'
#include <time.h>
static volatile unsigned long sink;
static long ms(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1000 + t.tv_nsec / 1000000; }
__attribute__((noinline)) void late_inner(void) { for (int i = 0; i < 100000; i++) sink += i; }
__attribute__((noinline)) void late_outer(void) { late_inner(); sink++; }
int main(void) { for (long until = ms() + 3000; ms() < until;) late_outer(); return 0; }
EOC
	gcc -O2 -g -fomit-frame-pointer late.c -o late
}

# LIVE_PROCESSES of them, 2000 by default, and then a program that is recorded as if it were the first.
test_short_processes_leave_nothing_behind() {
	local count=${LIVE_PROCESSES:-2000} recorder before after fds_before fds_after kib_before kib_after
	short_programs_build
	cat >session.sh <<'X'
./churn 500 ./short0 ./short1 ./short2 ./short3 ./short4
touch warm
until [ -e churn.go ]; do sleep 0.1; done
./churn "$1" ./short0 ./short1 ./short2 ./short3 ./short4
touch churned
until [ -e late.go ]; do sleep 0.1; done
exec ./late
X
	# what AddressSanitizer, if it is there, keeps of freed memory is not ours
	ASAN_OPTIONS="${ASAN_OPTIONS:-}:quarantine_size_mb=1:thread_local_quarantine_size_kb=64" \
		"$FP" record -q -o s.fperf --overhead off --frame off -- sh session.sh "$count" 2>record.log &
	recorder=$!
	wait_for 60 test -e warm
	sleep 2
	before=$(entries $recorder) fds_before=$(descriptors $recorder) kib_before=$(resident_kib $recorder)
	hash_entries $recorder | sort >maps.before
	touch churn.go
	wait_for $((60 + count / 50)) test -e churned
	sleep 2
	kib_after=$(resident_kib $recorder) fds_after=$(descriptors $recorder)
	hash_entries $recorder | sort >maps.after
	diff maps.before maps.after || :
	after=$(entries $recorder)
	touch late.go
	wait $recorder || die "record exits with $?"
	cat record.log
	note "$count processes: $before -> $after map entries, $fds_before -> $fds_after descriptors, $kib_before -> $kib_after KiB"
	[ "$before" -gt 0 ] || die "no map entry was found: nothing is measured"
	[ "$after" -le $((before + 8)) ] || die "$before map entries before the processes, $after after them"
	[ "$fds_after" -le $((fds_before + 4)) ] || die "$fds_before descriptors before the processes, $fds_after after them"
	# who ended in the last 20 s is still known, with some 2 KiB
	[ $((kib_after - kib_before)) -lt $((8192 + (count < 5000 ? count : 5000) * 5 / 2)) ] || die "$kib_before KiB before the processes, $kib_after after them"
	valid
	expect "thread('late')[0]['stacks_complete_share'] > 0.98" "thread('late')[0]['samples'] > 1000" \
		"total('late_outer') > 0.95 * thread('late')[0]['cpu_ns'] / sum(t['cpu_ns'] or 0 for t in threads)"
}
