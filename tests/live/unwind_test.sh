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

# Single-stepped, and stopped at random: every stack equals libdw's.
test_stacks_of_all_builds_equal_libdw() {
	local level programs=
	[ -x "$BUILD/unit-tests" ] || die "no $BUILD/unit-tests: run make unit first"
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
	programs="$programs;$PWD/stripped"
	FPERF_UNWIND_PROGRAMS=${programs#;} VERBOSE=1 \
		"$BUILD/unit-tests" --filter 'unwind/stacks_of_given*' --verbose=0 2>&1 | tee out.log
	note "$(grep -c 'stops,' out.log) builds, $(grep -oE '[0-9]+ stops' out.log | awk '{n += $1} END {print n}') stacks"
}
