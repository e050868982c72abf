# The oldest kernel that we promise, in an emulated guest.
# shellcheck shell=bash

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
