# Whole and right stacks, however a program was built.
# shellcheck shell=bash

shapes_build() { # OUTPUT COMPILER FLAGS...
	local out=$1 compiler=$2
	shift 2
	command -v "$compiler" >/dev/null || return 0
	"$compiler" "$@" -g -I"$TOP/tests/unit/unwind" main.c "$TOP/tests/unit/unwind/shapes.c" -o "$out" -lm ||
		die "$compiler $* does not build"
	programs="$programs;$PWD/$out"
}

# The same hard shapes, built in every way that the tests know; their commands in $programs, separated by ';'.
shapes_build_all() {
	local level
	programs=
	echo '#include "shapes.h"
	int main(void) { for (;;) shapes_once(); }' >main.c
	for level in 0 1 2 3; do
		shapes_build gcc-O$level gcc -O$level -fomit-frame-pointer
		shapes_build clang-O$level clang -O$level -fomit-frame-pointer
	done
	shapes_build gcc-fp gcc -O2 -fno-omit-frame-pointer
	shapes_build gcc-native gcc -O3 -march=native -fomit-frame-pointer
	shapes_build no-pie gcc -O2 -no-pie
	shapes_build static gcc -O2 -static
	shapes_build static-pie gcc -O2 -static-pie
	shapes_build lld clang -O2 -fuse-ld=lld
	shapes_build gold gcc -O2 -fuse-ld=gold
	shapes_build separate-code gcc -O2 -Wl,-z,separate-code
	shapes_build one-segment gcc -O2 -Wl,-z,noseparate-code
	shapes_build lazy gcc -O2 -Wl,-z,lazy
	shapes_build cet gcc -O2 -fcf-protection=full
	strip -o stripped gcc-O2
	programs="${programs#;};$PWD/stripped"
}

# Single-stepped, and stopped at random: every stack equals libdw's.
test_stacks_of_all_builds_equal_libdw() {
	[ -x "$BUILD/unit-tests" ] || die "no $BUILD/unit-tests: run make unit first"
	shapes_build_all
	FPERF_UNWIND_PROGRAMS=$programs VERBOSE=1 \
		"$BUILD/unit-tests" --filter 'unwind/stacks_of_given*' --verbose=0 2>&1 | tee out.log
	note "$(grep -c 'stops,' out.log) builds, $(grep -oE '[0-9]+ stops' out.log | awk '{n += $1} END {print n}') stacks"
}

# checked STACKS: s.fperf, recorded with --unwind check, has at least so many stacks that equal libdw's, and none that
# says otherwise. Sets $equal.
checked() {
	local shorter longer guessed wrong first
	read -r equal shorter longer guessed wrong first < <(python3 - "$TOP/tests/golden" s.fperf <<'EOP'
import sys
sys.path.insert(0, sys.argv[1])
from read_session import Session
s = Session(sys.argv[2])
text = dict(s.records[1])
meta = {text[key]: text[value].decode() for key, value in s.records[2]}
print(*(meta.get(b"unwind.check." + key, "none") for key in (b"equal", b"shorter", b"longer", b"guessed", b"wrong", b"first_wrong")))
EOP
	)
	echo "equal $equal shorter $shorter longer $longer guessed $guessed wrong $wrong $first"
	[ "$wrong" = 0 ] || die "$wrong stacks wrong, first $first"
	[ "$equal" -ge "$1" ] || die "only $equal stacks compared and equal"
}

# The BPF program itself on the same registers and bytes as libdw, in all builds; few at a time, as libdw is slow.
test_stacks_from_bpf_equal_libdw_in_all_builds() {
	local group=0 all=0 list
	shapes_build_all
	while list=$(echo "$programs" | tr ';' '\n' | tail -n +$((group * 7 + 1)) | head -7) && [ -n "$list" ]; do
		# shellcheck disable=SC2086
		record -q -d 5 --unwind check -- sh -c 'for program; do timeout 6 "$program" & done; wait' _ $list
		checked 300
		all=$((all + equal)) group=$((group + 1))
	done
	note "$all stacks equal, none wrong"
}

test_stacks_from_bpf_equal_libdw_in_games() {
	local game all=0
	for game in glmark2 minetest vkcube; do
		"$PLAY" $game 6 -- "$FP" record -q -d 5 --unwind check -o "$PWD/s.fperf" -- >game.log 2>&1 || :
		checked 200
		all=$((all + equal))
	done
	note "$all stacks equal, none wrong"
}

# An entry probe on a hot function: the kernel carries its first instruction out itself (push), or steps through a copy of
# it elsewhere (sub), with the thread's registers in between.
test_stacks_of_probed_functions() {
	local first
	cat >probed.c <<'EOC'
static volatile unsigned long sink;
__attribute__((noinline)) void inner(volatile unsigned long *p, unsigned long k) { for (int i = 0; i < 4000; i++) p[i & 3] += k; }
__attribute__((naked, noinline)) unsigned long probed(unsigned long n);
__asm__(".globl probed\nprobed:\n.cfi_startproc\n" FIRST "lea 0(%rsp), %rdi\nmov $3, %esi\ncall inner\n" LAST "ret\n.cfi_endproc\n");
__attribute__((noinline)) void middle(unsigned long n) { volatile unsigned long room[6] = {n}; probed(n); sink += room[1]; }
int main(void) { for (unsigned long i = 0;; i++) middle(i); return 0; }
EOC
	for first in push sub; do
		if [ $first = push ]; then
			set -- 'push %rbp\n.cfi_def_cfa_offset 16\nsub $64, %rsp\n.cfi_def_cfa_offset 80\n' 'add $64, %rsp\npop %rbp\n'
		else
			set -- 'sub $72, %rsp\n.cfi_def_cfa_offset 80\n' 'add $72, %rsp\n.cfi_def_cfa_offset 8\n'
		fi
		gcc -O2 -g -fomit-frame-pointer -DFIRST="\"$1\"" -DLAST="\"$2\"" probed.c -o probed_$first
		record -q -d 3 --unwind check --mark "$PWD/probed_$first:probed" -- timeout 4 "./probed_$first" ||
			[ $? = 124 ] # ends on its own while the last stacks are compared
		checked 100
		expect "thread('probed')[0]['stacks_complete_share'] > 0.9" "total('main') > 0.9" "total('middle') > 0.9" "total('probed') > 0.9"
	done
}

# Hand-written start code, with unwind information that lies and with none: the stack ends there all the same.
test_start_code_without_cfi_is_the_end() {
	cat >start.c <<'EOC'
static volatile unsigned long sink;
__attribute__((noinline)) void work(void) { for (unsigned long i = 0; i < 1200000000ul; i++) sink += i; }
__attribute__((noinline)) void mid(void) { work(); sink++; }
void begin(void) { mid(); __asm__ volatile("mov $60, %eax; xor %edi, %edi; syscall"); }
__asm__(".globl _start\n_start:\n" CFI_START "mov %rsp, %rdi\nand $-16, %rsp\ncall begin\nhlt\n" CFI_END);
EOC
	gcc -O2 -g -nostdlib -static -fno-pie -no-pie -DCFI_START='""' -DCFI_END='""' start.c -o bare
	gcc -O2 -g -nostdlib -static -fno-pie -no-pie -DCFI_START='".cfi_startproc\n"' \
		-DCFI_END='".cfi_endproc\n"' start.c -o lying
	for program in bare lying; do
		record -- "./$program"
		expect "thread('$program')[0]['stacks_complete_share'] > 0.6" "total('mid') > 0.6"
	done
}

# rbp is a counter, and there is no unwind information: the stack stops, and nothing is invented.
test_a_counter_in_rbp_is_no_frame_pointer() {
	cat >counter.c <<'EOC'
static volatile unsigned long sink;
__attribute__((noinline)) void hot(void) {
	__asm__ volatile("mov $900000000, %%rbp\n1: dec %%rbp\njnz 1b" ::: "rbp", "cc"); sink++; }
__attribute__((noinline)) void outer(void) { hot(); sink++; }
int main(void) { outer(); outer(); outer(); return 0; }
EOC
	gcc -O2 -g -fomit-frame-pointer -fno-asynchronous-unwind-tables -fno-unwind-tables counter.c -o counter
	record -- ./counter
	expect "thread('counter')[0]['stacks_complete_share'] < 0.2" "share('hot') > 0.9" \
		"total('_start') < 0.1"
}

# Deeper than what is kept: leaf and root are there, and it costs no samples.
test_deep_stacks_keep_leaf_and_root() {
	local depth
	cat >deep.c <<'EOC'
#include <stdlib.h>
static volatile unsigned long sink;
__attribute__((noinline)) void spin(void) { for (unsigned long i = 0; i < 800000000ul; i++) sink += i; }
__attribute__((noinline)) int recurse(int n) {
	volatile char pad[40]; pad[0] = (char)n;
	if (!n) { spin(); return pad[0]; }
	return recurse(n - 1) + pad[0]; }
int main(int argc, char **argv) { return argc > 1 ? recurse(atoi(argv[1])) & 1 : 0; }
EOC
	gcc -O2 -g -fomit-frame-pointer deep.c -o deep
	for depth in 100 200 1000 3500; do
		record -- ./deep $depth || :
		expect "share('spin') > 0.8" "total('main') > 0.6" "total('recurse') > 0.6"
	done
}

# Workers that live 20 ms: a child has its parent's tables from its first instruction on.
test_forked_workers_have_whole_stacks() {
	cat >forker.c <<'EOC'
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static volatile unsigned long sink;
static long ms(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1000 + t.tv_nsec / 1000000; }
__attribute__((noinline)) void work(long until) { while (ms() < until) for (int i = 0; i < 20000; i++) sink += i; }
__attribute__((noinline)) void job(void) { work(ms() + 20); sink++; }
int main(void) {
	work(ms() + 300);
	for (int i = 0; i < 80; i++) { if (!fork()) { job(); _exit(0); } wait(0); }
	return 0; }
EOC
	gcc -O2 -g -fomit-frame-pointer forker.c -o forker
	record -- ./forker
	expect "total('job') > 0.5" "total('main') > 0.9" "r['quality']['stacks']['complete_share'] > 0.9"
	note "$(python3 -c 'import json; print(json.load(open("report.json"))["quality"]["stacks"])')"
}

# Programs that replace each other, with other code at the same addresses: no rule of one is used for the other.
test_an_exec_at_the_same_addresses() {
	cat >turns.c <<'EOC'
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
static volatile unsigned long sink;
static long ms(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1000 + t.tv_nsec / 1000000; }
__attribute__((noinline)) int deep(int n) { volatile char room[ROOM]; room[n] = (char)n; for (int i = 0; i < 300; i++) sink += i; return n ? deep(n - 1) + room[n] : 0; }
int main(int argc, char **argv) {
	long until = ms() + 60;
	while (ms() < until) sink += deep(12);
	int left = argc > 1 ? atoi(argv[1]) - 1 : 0;
	char text[3] = {(char)('0' + left / 10 % 10), (char)('0' + left % 10), 0};
	if (left > 0) execl(OTHER, OTHER, text, (char *)0);
	return 0; }
EOC
	gcc -O2 -g -static -no-pie -fno-pie -fomit-frame-pointer -DROOM=40 -DOTHER='"./two"' turns.c -o one
	gcc -O3 -g -static -no-pie -fno-pie -fomit-frame-pointer -DROOM=333 -DOTHER='"./one"' turns.c -o two
	record -q --unwind check -- ./one 40
	checked 100
}

# A library with FUNCTIONS functions of three rows each that nothing calls, and one that runs for a while.
rows_library() { # NAME FUNCTIONS
	cat >"$1.s" <<EOS
.text
.rept $2
.cfi_startproc
nop
.cfi_def_cfa_offset 32
nop
.cfi_def_cfa_offset 64
nop
.cfi_endproc
.endr
.section .note.GNU-stack
EOS
	cat >"$1.c" <<EOC
#include <time.h>
static volatile unsigned long sink;
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec / 1e9; }
__attribute__((noinline)) void inner_$1(void) { for (int i = 0; i < 100000; i++) sink += i; }
__attribute__((noinline)) void outer_$1(double seconds) { for (double end = now() + seconds; now() < end;) inner_$1(); sink++; }
EOC
	gcc -O2 -fomit-frame-pointer -shared -fPIC -o "lib$1.so" "$1.c" "$1.s"
}

# Three libraries of 90,000 rows take turns where there is memory for two: tables go, come back when they are met, and the
# report says so.
test_tables_at_their_bound_of_memory_take_turns() {
	local library
	for library in one two three; do
		rows_library $library 30000
	done
	cat >turns.c <<'EOC'
#include <dlfcn.h>
#include <stdio.h>
int main(void) {
	const char *names[] = {"one", "two", "three"};
	void (*work[3])(double);
	for (int i = 0; i < 3; i++) {
		char path[64], symbol[64];
		snprintf(path, sizeof(path), "./lib%s.so", names[i]);
		snprintf(symbol, sizeof(symbol), "outer_%s", names[i]);
		void *library = dlopen(path, RTLD_NOW);
		if (!library || !(*(void **)&work[i] = dlsym(library, symbol))) return 1;
	}
	for (int turn = 0; turn < 6; turn++) work[turn % 3](2);
	return 0; }
EOC
	gcc -O2 -fomit-frame-pointer turns.c -o turns
	record --frame off --unwind-memory 2 -- ./turns
	valid
	"$FP" info -v s.fperf >info.log
	"$FP" report s.fperf >report.log
	note "$(grep -A3 '^Unwinding' info.log | tr -s ' \n' ' ')"
	grep -Eq '[1-9][0-9]* dropped for memory' info.log || die "no table was dropped: $(grep -A4 '^Unwinding' info.log)"
	grep -q 'unwind-memory' report.log || die "the report does not say that tables were dropped"
	# each turn of 2 s begins without a table, for a second at most while the others are too young to go
	expect "r['quality']['stacks']['complete_share'] > 0.45" "total('outer_one') > 0.12" "total('outer_two') > 0.12" "total('outer_three') > 0.12"
	# the memory is enough: whole stacks from then on
	record --frame off -- ./turns
	valid
	"$FP" info -v s.fperf >info.log
	grep -q ' 0 dropped for memory' info.log || die "tables were dropped without need: $(grep -A4 '^Unwinding' info.log)"
	expect "r['quality']['stacks']['complete_share'] > 0.97"
}

# 1.5 million rows in one library.
test_a_library_with_a_million_rows() {
	rows_library huge 500000
	cat >huge_main.c <<'EOC'
void outer_huge(double);
int main(void) { outer_huge(6); return 0; }
EOC
	gcc -O2 -fomit-frame-pointer huge_main.c -o huge -L. -lhuge -Wl,-rpath,"$PWD"
	record --frame off -- ./huge
	valid
	"$FP" info -v s.fperf >info.log
	note "$(grep -A3 '^Unwinding' info.log | tr -s ' \n' ' ')"
	expect "total('outer_huge') > 0.5" "r['quality']['stacks']['complete_share'] > 0.5"
	record --frame off -- ./huge # from the cache on disk
	"$FP" info -v s.fperf >info.log
	note "$(grep -A3 '^Unwinding' info.log | tr -s ' \n' ' ')"
	expect "r['quality']['stacks']['complete_share'] > 0.95"
}

# Code without unwind information that keeps no frame pointer: the report names the module and what to do.
test_the_report_names_who_breaks_stacks() {
	cat >bare.c <<'EOC'
static volatile unsigned long sink;
__attribute__((noinline)) void bare_inner(void) { for (int i = 0; i < 100000; i++) sink += i; }
__attribute__((noinline)) void bare_outer(int n) { while (n--) bare_inner(); sink++; }
EOC
	gcc -O2 -fomit-frame-pointer -fno-asynchronous-unwind-tables -fno-unwind-tables -shared -fPIC -o libbare.so bare.c
	printf 'void bare_outer(int);\nint main(void) { bare_outer(30000); return 0; }\n' >bare_main.c
	gcc -O2 bare_main.c -o bare -L. -lbare -Wl,-rpath,"$PWD"
	record --frame off -- ./bare
	valid
	expect "[(b['module'].rsplit('/', 1)[1], b['reason']) for b in r['quality']['stacks']['broken']][0] == ('libbare.so', 'no_row')"
	"$FP" report s.fperf | tr -s ' \n' ' ' | grep -q 'libbare.so: stop at code without unwind information; build it with' ||
		die "the report does not say it: $("$FP" report s.fperf | tail -8)"
	"$FP" info s.fperf | tr -s ' \n' ' ' | grep -q 'libbare.so: stop at code without unwind information' || die "info does not say it"
}

# Text that is copied to anonymous memory at the same address, as is done for huge pages: it is still the program's, whether
# recording sees that happen or comes later.
test_text_moved_to_anonymous_memory() {
	cat >moved.c <<'EOC'
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
static volatile unsigned long sink;
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec / 1e9; }
__attribute__((noinline)) void moved_inner(void) { for (int i = 0; i < 100000; i++) sink += i; }
__attribute__((noinline)) void moved_outer(double seconds) { for (double end = now() + seconds; now() < end;) moved_inner(); sink++; }
int main(void) {
	unsigned long start, end;
	char line[512];
	FILE *maps = fopen("/proc/self/maps", "r");
	while (fgets(line, sizeof(line), maps))
		if (strstr(line, "r-xp") && sscanf(line, "%lx-%lx", &start, &end) == 2) break;
	void *copy = mmap(0, end - start, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(copy, (void *)start, end - start);
	if (mprotect(copy, end - start, PROT_READ | PROT_EXEC)) return 1;
	if (mremap(copy, end - start, end - start, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)start) != (void *)start) return 2;
	puts("moved");
	fflush(stdout);
	moved_outer(3);
	return 0; }
EOC
	gcc -O2 -g -fomit-frame-pointer moved.c -o moved
	local target
	record --frame off -- ./moved
	valid
	expect "total('moved_outer') > 0.8" "r['quality']['stacks']['complete_share'] > 0.9"
	./moved >moved.log & target=$!
	wait_for 5 grep -q moved moved.log
	record --frame off -p $target
	valid
	expect "total('moved_outer') > 0.8" "r['quality']['stacks']['complete_share'] > 0.9"
}
