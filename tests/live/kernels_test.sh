# The oldest kernel that we promise, in an emulated guest.
# shellcheck shell=bash

# Not below $HOME, which is each test's own.
VM_KERNELS=${VM_KERNELS:-$(getent passwd 0 | cut -d: -f6)/.cache/frameperf-kernels}
export VM_KERNELS

test_kernel_5_10_records_everything() {
	local out=$BUILD/kernel-5.10
	mkdir -p "$out"
	"$TOP/tests/vm/fetch-kernel.sh" 5.10 amd64
	VM_REPO=$TOP VM_CPUFREQ=1 VM_TIMEOUT=200 "$TOP/tests/vm/run-in-vm.sh" 5.10-amd64 amd64 \
		"ASAN_OPTIONS=detect_leaks=0 $FP record -o $out/s.fperf --frame $TARGETS/ticker:ticker_frame -- $TARGETS/ticker 60 10 &&
		 sh tests/vm/step-frequency.sh >/dev/null 2>&1 & sleep 0.1; wait" >vm.log 2>&1 || die "guest: $(tail -20 vm.log)"
	cat vm.log
	valid "$out/s.fperf"
	SESSION=$out/s.fperf expect "r['session']['host']['kernel'].startswith('5.10.')" \
		"all(source(s)['state'] == 'active' for s in ('sample', 'sched', 'process', 'mapping', 'frame'))" \
		"frames['count'] in (59, 60)" "total('ticker_work') > 0.1"
}

# The event of a CPU that goes offline is gone for good; what runs on the CPU once it is back is sampled again.
test_a_cpu_that_goes_and_comes_back() {
	local out=$BUILD/kernel-5.10
	mkdir -p "$out"
	"$TOP/tests/vm/fetch-kernel.sh" 5.10 amd64
	cat >"$out/session.sh" <<X
cpu=/sys/devices/system/cpu/cpu1/online
echo 0 >\$cpu || exit 9
sleep 1
echo 1 >\$cpu || exit 9
sleep 2.5
exec taskset -c 1 $TARGETS/hotspots 4
X
	VM_REPO=$TOP VM_TIMEOUT=200 "$TOP/tests/vm/run-in-vm.sh" 5.10-amd64 amd64 \
		"ASAN_OPTIONS=detect_leaks=0 $FP record -o $out/cpu.fperf --frame off -- sh $out/session.sh" >vm.log 2>&1 ||
		die "guest: $(tail -20 vm.log)"
	cat vm.log
	valid "$out/cpu.fperf"
	SESSION=$out/cpu.fperf expect "thread('hotspots')[0]['cpu_ns'] > 2e9" \
		"thread('hotspots')[0]['samples'] * r['quality']['sample_period_ns'] > 0.7 * thread('hotspots')[0]['cpu_ns']"
}

# A static recorder for arm64, cross-built, on the oldest kernel; programs without frame pointers, one of which signs its
# return addresses. Emulated, so that samples are few.
test_kernel_5_10_of_arm64_unwinds() {
	local out=$BUILD/arm64 name
	mkdir -p "$out/t"
	"$TOP/tests/vm/fetch-kernel.sh" 5.10 arm64
	make -s -C "$TOP" -j2 ARCH=arm64 STATIC=1 SANITIZE= BUILD="$out" all >build.log 2>&1 || die "$(tail -20 build.log)"
	echo '#include "shapes.h"
	#include <unistd.h>
	int main(void) { for (alarm(30);;) shapes_once(); }' >main.c
	for name in plain:none signed:pac-ret; do
		aarch64-linux-gnu-gcc -O2 -g -fomit-frame-pointer -mbranch-protection=${name#*:} -static \
			-I"$TOP/tests/unit/unwind" main.c "$TOP/tests/unit/unwind/shapes.c" -o "$out/t/${name%:*}" -lm
	done
	aarch64-linux-gnu-objdump -d "$out/t/signed" >signed.txt
	grep -q paciasp signed.txt || die "return addresses are not signed"
	VM_REPO=$TOP VM_CPU=max,pauth-impdef=on VM_TIMEOUT=100 "$TOP/tests/vm/run-in-vm.sh" 5.10-arm64 arm64 \
		"grep -c paca /proc/cpuinfo; for name in plain signed; do
			$out/frameperf record -d 9 --frame off -o $out/t/\$name.fperf -- $out/t/\$name || exit 1; done" >vm.log 2>&1 ||
		die "guest: $(tail -20 vm.log)"
	cat vm.log
	[ "$(head -1 vm.log)" -gt 0 ] || die "the guest does not sign return addresses"
	for name in plain signed; do
		valid "$out/t/$name.fperf"
		SESSION=$out/t/$name.fperf expect "r['session']['host']['arch'] == 'aarch64'" \
			"all(source(s)['state'] == 'active' for s in ('sample', 'sched', 'process', 'mapping', 'unwind'))" \
			"r['quality']['samples'] > 50" "total('main') > 0.5" "total('shapes_once') > 0.5" \
			"r['quality']['stacks']['complete_share'] > 0.5" \
			"sum(n for reason, n in r['quality']['stacks']['by_reason'].items() if reason != 'table_missing') < 0.05 * r['quality']['samples']" \
			"sum(h['self_share'] for h in r['hot'] if h['module'] in ('', '[unknown]')) < 0.02"
		note "$name: $(python3 -c 'import json; print(json.load(open("report.json"))["quality"]["stacks"])')"
	done
}
