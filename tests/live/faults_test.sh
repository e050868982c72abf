# What goes wrong around a recording: signals, files, privileges, kernel features, full rings.
# shellcheck shell=bash

test_signals_at_any_moment() {
	local ms signal rc before good=0
	before=$(bpf_programs)
	for ms in $(seq 0 25 600); do
		for signal in INT TERM; do
			rm -f s.fperf
			"$FP" record -o s.fperf -- sleep 10 2>err.log & local job=$!
			sleep "$(printf '%d.%03d' $((ms / 1000)) $((ms % 1000)))"
			kill -$signal $job 2>/dev/null || :
			rc=0
			wait $job || rc=$?
			if [ -e s.fperf ]; then valid >/dev/null; good=$((good + 1)); fi
			[ $rc -lt 126 ] || [ $rc = 130 ] || [ $rc = 143 ] || die "status $rc after SIG$signal at $ms ms"
		done
	done
	pkill -x -f 'sleep 10' || :
	wait_for 10 bpf_programs_at_most "$before"
	[ $good -ge 20 ] || die "only $good of 50 left a session"
}

test_signal_storm_is_harmless() {
	"$TARGETS/hotspots" 3 >/dev/null & local target=$!
	"$FP" record -o s.fperf -d 2 -p $target 2>err.log & local job=$!
	for _ in $(seq 300); do kill -WINCH $job 2>/dev/null && kill -CHLD $job && kill -CONT $job || break; sleep 0.005; done
	wait $job
	expect "r['session']['duration_ns'] > 1.7e9" "share('hot_sixty') > 0.5"
	kill $target
}

test_kill_9_leaves_a_readable_session() {
	"$TARGETS/hotspots" 20 >/dev/null & local target=$!
	"$FP" record -o s.fperf -p $target 2>err.log & local job=$!
	sleep 6
	kill -9 $job
	wait $job 2>/dev/null || :
	kill $target
	exits_with 4 "$FP" check s.fperf
	"$FP" report s.fperf --json >report.json || [ $? = 4 ] || die "report fails"
	python3 "$TOP/tests/live/expect.py" report.json "share('hot_sixty') > 0.4" "r['session']['complete'] == False"
}

test_duration_is_kept() {
	local start
	start=$(date +%s%N)
	record -d 2 -- sleep 10 || [ $? -ge 128 ] || die "status $?"
	start=$((($(date +%s%N) - start) / 1000000))
	[ $start -lt 4500 ] || die "took $start ms"
	expect "abs(r['session']['duration_ns'] - 2e9) < 0.3e9"
	pkill -f 'sleep 10' || :
}

test_output_cannot_be_written() {
	exits_with 1 "$FP" record -o /proc/no/such/file.fperf -- true
	says /proc/no/such/file.fperf
	exits_with 1 "$FP" record -o "$PWD" -- true
}

test_planted_link_is_refused() {
	echo precious >victim
	ln -s victim s.fperf
	exits_with 1 "$FP" record -o s.fperf -- true
	says 'link'
	[ "$(cat victim)" = precious ] || die "followed the link"
}

test_disk_full() {
	local before
	before=$(bpf_programs)
	mkdir small
	mount -t tmpfs -o size=256k tmpfs small
	local rc=0
	"$FP" record -o small/s.fperf -F 10000 -- "$TARGETS/many_threads" 3000 2>err.log || rc=$?
	cat err.log
	[ $rc != 0 ] || { umount small; die "status 0 although the disk was full"; }
	says 'space'
	"$FP" report small/s.fperf >out.log || [ $? = 4 ] || { umount small; die "not readable"; }
	rm -f small/*
	mount -t tmpfs -o size=8k,remount tmpfs small
	exits_with 1 "$FP" record -o small/none.fperf -- true
	[ ! -e small/none.fperf ] || die "left an empty file"
	umount small
	wait_for 10 bpf_programs_at_most "$before"
}

test_no_btf() {
	local rc=0
	unshare -m bash -c 'mount --bind /dev/null /sys/kernel/btf/vmlinux; for f in /boot/vmlinux-* /lib/modules/*/vmlinux*; do [ ! -e "$f" ] || mount --bind /dev/null "$f"; done
		"$0" record -o s.fperf -- "$1" 1' "$FP" "$TARGETS/hotspots" 2>err.log || rc=$?
	cat err.log
	says 'BTF'
	if [ $rc = 0 ]; then expect "any(s['state'] != 'active' and 'BTF' in (s['reason'] or '') for s in r['sources'])"; fi
	[ $rc -le 1 ] || die "status $rc"
}

test_tracefs_unmounted() {
	unshare -m bash -c 'umount -l /sys/kernel/tracing 2>/dev/null; umount -l /sys/kernel/debug 2>/dev/null
		"$0" record -o s.fperf -- "$1" 1' "$FP" "$TARGETS/hotspots" 2>err.log || die "fails: $(cat err.log)"
	expect "share('hot_sixty') > 0.5" "source('sample')['state'] == 'active'" "source('sched')['state'] == 'active'"
}

test_no_privileges() {
	cp "$FP" ./frameperf && chmod 755 frameperf . && mkdir -m 777 open
	exits_with 1 setpriv --reuid 65534 --regid 65534 --clear-groups ./frameperf record -o open/s.fperf -- true
	says 'root|privilege|CAP_'
	[ ! -e open/s.fperf ] || valid open/s.fperf
}

test_low_limits() {
	bash -c 'ulimit -Sn 16; ulimit -l 64; "$0" record -o s.fperf -- "$1" 1' "$FP" "$TARGETS/hotspots" 2>err.log ||
		die "fails: $(cat err.log)"
	expect "share('hot_sixty') > 0.5"
}

test_ring_full_is_counted() {
	"$TARGETS/switcher" 12 >/dev/null & local target=$!
	"$FP" record -o s.fperf -F 10000 -d 7 -p $target 2>err.log & local job=$!
	sleep 2
	kill -STOP $job
	sleep 2.5
	kill -CONT $job
	wait $job || die "record fails: $(cat err.log)"
	kill $target
	valid
	expect "sum(lost.values()) > 0" "r['quality']['samples'] > 0"
	says 'lost'
}

# The kernel's limit goes down while we record, as it does by itself when sampling takes too long.
test_throttled_samples_are_counted() {
	local limit job target
	limit=$(cat /proc/sys/kernel/perf_event_max_sample_rate)
	# shellcheck disable=SC2064
	trap "echo $limit >/proc/sys/kernel/perf_event_max_sample_rate" EXIT
	"$TARGETS/hotspots" 7 >/dev/null & target=$!
	"$FP" record -o s.fperf -F 8000 -d 5 -p $target 2>err.log & job=$!
	sleep 1.5
	echo 900 >/proc/sys/kernel/perf_event_max_sample_rate
	sleep 2.5
	echo "$limit" >/proc/sys/kernel/perf_event_max_sample_rate
	wait $job || die "record fails: $(cat err.log)"
	grep -q 'throttles sampling' err.log || die "nothing is said: $(cat err.log)"
	valid
	expect "lost.get('throttled', 0) > 1000" "lost['throttled'] < 8000 * 5"
	says 'throttled sampling'
}

test_empty_sessions() {
	record -- sleep 0.5
	valid
	"$FP" report s.fperf >out.log || die "report exits with $?"
	expect "'frames' in r" "not (frames.get('count') or 0)" "r['slow_frames'] == []"
}
