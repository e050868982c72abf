# Exports of session files of known content, each read back by a reader of its own.
# shellcheck shell=bash
export PYTHONPATH=$TOP/tests/cli PYTHONDONTWRITEBYTECODE=1

rich() { # [hostile]: s.fperf and its report.json
	"$MAKE_SESSION" "rich${1:+-$1}" s.fperf
	"$FP" report --json s.fperf >report.json
}

test_folded_sums() {
	local kind
	for kind in '' hostile; do
		rich $kind
		fp 0 export s.fperf --to folded -o o.folded
		has err o.folded
		fp 0 export s.fperf --to folded --frames slow
		cp out slow.folded
		python3 - <<-'P'
			from exports import *
			r = report()
			rows, slow = folded('o.folded'), folded('slow.folded')
			rename = lambda n: n.replace(';', ':')
			assert sum(ns for _, ns in rows) == sum(t['cpu_ns'] for t in r['threads'] if t['samples'])
			lost = sum(ns for names, ns in rows if names[-1] == '[no stack]')
			assert lost == 2_000_000, lost
			assert sum(ns for _, ns in rows) - lost == sum(h['self_ns'] for h in r['hot'])
			same_totals(totals(rows), r['hot'], rename)
			same_totals(totals(slow), r['hot_slow'], rename)
			assert sum(ns for _, ns in slow) == sum(h['self_ns'] for h in r['hot_slow'])
			assert any('[truncated]' in names for names, _ in rows)
		P
	done
}

test_folded_off_cpu_is_the_ledger() {
	rich
	fp 0 export s.fperf --to folded --off-cpu --frames 20
	python3 - <<-'P'
		from exports import *
		frame = report()['slow_frames'][0]
		assert frame['index'] == 20
		rows = folded('out')
		for ledger in frame['ledger']:
		    want = dict(ledger['blocked_ns'], runnable=ledger['runnable_ns'], preempted=ledger['preempted_ns'])
		    got = collections.Counter()
		    for names, ns in rows:
		        if names[0] == ledger['name']:
		            got[names[-1].strip('[]')] += ns
		    assert {k: v for k, v in want.items() if v} == dict(got), (ledger['name'], want, got)
		assert any(names[-2:] == ['futex_wait', '[lock]'] and ns == 30_000_000 for names, ns in rows), rows
	P
}

test_selection() {
	rich
	fp 0 export s.fperf --to folded --thread 'Worker 1'
	[ "$(cut -d';' -f1 out | sort -u)" = 'Worker 1' ] || die 'other threads'
	cp out by-name
	fp 0 export s.fperf --to folded --thread 4243
	cmp out by-name
	fp 0 export s.fperf --to folded --off-cpu --thread starting # its name before it was renamed
	[ "$(cut -d';' -f1 out | sort -u)" = Loader ] || die 'not by its first name'
	fp 1 export s.fperf --to folded --thread nobody -o o
	has err nobody 'Worker 1' Loader
	[ ! -e o ] || die 'a file of a failed export'
	fp 0 export s.fperf --to folded --from 0.81 --to 0.9
	python3 -c "
from exports import *
rows = folded('out')
assert {n[0] for n, _ in rows} == {'second'} and 80e6 < sum(ns for _, ns in rows) < 100e6, rows"
	fp 0 export s.fperf --to folded --slow-only
	cp out slow
	fp 0 export s.fperf --to folded --frames 20
	cmp out slow
	fp 0 export s.fperf --to folded --frames 3-5 --thread Main
	python3 -c "
from exports import *
assert sum(ns for _, ns in folded('out')) <= 31e6, out"
	fp 1 export s.fperf --to folded --frames 99
	has err 'frame 99' '0 to 39'
	fp 0 export s.fperf --to folded --frames slow --budget 1000
	silent out
	fp 2 export s.fperf --to folded --frames 5-3
	fp 2 export s.fperf --to folded --frames soon
	fp 2 export s.fperf --to flamegraph
	has err folded csv
	fp 2 export s.fperf
	has err --to
}

test_csv_is_mangohuds_log() {
	rich
	fp 0 export s.fperf --to csv
	cp out frames.csv
	fp 0 export s.fperf --to csv --frames slow
	python3 - <<-'P'
		import csv
		from exports import *
		f = report()['frames']
		rows = list(csv.reader(open('frames.csv', encoding='utf-8', newline='')))
		assert rows[0] == 'os,cpu,gpu,ram,kernel,driver,cpuscheduler'.split(','), rows[0]
		assert rows[1] == ['Linux', 'CPU, "model" 7', '', '', '6.1.0', '', ''], rows[1]
		head = ('fps,frametime,cpu_load,cpu_power,gpu_load,cpu_temp,gpu_temp,gpu_core_clock,gpu_mem_clock,'
		        'gpu_vram_used,gpu_power,ram_used,swap_used,process_rss,cpu_mhz,elapsed').split(',')
		assert rows[2] == head
		frames = [dict(zip(head, row, strict=True)) for row in rows[3:]]
		ns = [int(x['frametime'].replace('.', '')) for x in frames]
		assert len(ns) == f['timed'] == 40 and sum(ns) == f['duration_ns'] and max(ns) == f['time_ns']['max']
		assert all(abs(float(x['fps']) * float(x['frametime']) - 1000) < 0.1 for x in frames)
		assert [int(x['elapsed']) for x in frames][:2] == [110_000_000, 120_000_000]
		assert frames[0]['cpu_mhz'] == '1200' and frames[0]['cpu_load'] == '', frames[0]
		assert abs(float(frames[0]['process_rss']) - 1 / 1024) < 1e-6, frames[0]
		slow = list(csv.reader(open('out', newline='')))[3:]
		assert [row[1] for row in slow] == ['40.000000'], slow
	P
}

test_csv_of_functions() {
	local kind
	for kind in '' hostile; do
		rich $kind
		fp 0 export s.fperf --to csv --table functions
		python3 - <<-'P'
			import csv
			from exports import *
			r = report()
			rows = list(csv.DictReader(open('out', encoding='utf-8', newline='')))
			sampled = [row for row in rows if int(row['total_ns'])]
			assert len(sampled) == len(r['hot']), (len(sampled), len(r['hot']))
			assert [int(row['self_ns']) for row in rows] == sorted((int(row['self_ns']) for row in rows), reverse=True)
			order = lambda x: (-int(x['total_ns']), -int(x['self_ns']), x['function'].strip())
			for row, hot in zip(sorted(sampled, key=order), sorted(r['hot'], key=order)):
			    assert int(row['self_ns']) == hot['self_ns'] and int(row['total_ns']) == hot['total_ns'], (row, hot)
			    assert abs(float(row['self_share']) - hot['self_share']) < 1e-8
			    assert row['module'] == hot['module']
			    assert int(row['frame_max_ns']) >= int(row['frame_mean_ns'])
			assert len(open('out', encoding='utf-8').read().splitlines()) == len(rows) + 1
			by = {row['function']: row for row in rows}
			assert by['spawn']['calls'] == '60' and by['spawn']['call_mean_ns'] == '', by['spawn']
			assert by['glXSwapBuffers']['calls'] == '41' and by['glXSwapBuffers']['total_ns'] == '0'
			scope = by['path_find']
			assert scope['calls'] == '121', scope
			assert (int(scope['call_mean_ns']), int(scope['call_max_ns'])) == (1_750_150, 2_500_000), scope
		P
	done
}

test_an_export_is_whole_or_not_there() {
	local rc=0
	rich
	"$FP" export s.fperf --to folded >/dev/full 2>err || rc=$?
	[ $rc = 1 ] || die "exit status $rc"
	has err 'No space'
	echo old >kept
	fp 1 export s.fperf --to folded --frames 99 -o kept
	[ "$(cat kept)" = old ] || die 'the old file is gone'
	fp 1 export s.fperf --to folded -o nowhere/o
	has err nowhere/o
	fp 1 export none.fperf --to folded -o o
	[ ! -e o ] || die 'a file without a session'
	fp 0 export s.fperf --to folded -o kept
	grep -q path_find kept || die 'not replaced'
	[ "$(ls kept*)" = kept ] || die "left behind: $(ls kept*)"
	umask 027
	fp 0 export s.fperf --to folded -o mode
	[ "$(stat -c %a mode)" = 640 ] || die "mode $(stat -c %a mode)"
}

test_terminal_gets_a_file() {
	rich
	script -qec "'$FP' export s.fperf --to folded" /dev/null >out </dev/null
	[ -s s.folded ] || die 'no s.folded'
	script -qec "'$FP' export s.fperf --to csv --table functions" /dev/null >out </dev/null
	[ -s s-functions.csv ] || die 'no s-functions.csv'
}

formats() {
	{ "$FP" export --to nothing x 2>&1 || :; } | sed -n 's/.*there are: //p' | tr -d ','
}

test_empty_and_damaged_sessions() {
	local format size
	"$MAKE_SESSION" empty e.fperf
	rich
	size=$(stat -c %s s.fperf)
	head -c $((size * 2 / 3)) s.fperf >cut.fperf
	for format in $(formats); do
		fp 0 export e.fperf --to "$format" -o o
		has err 'no samples' 'no scheduler records'
		[ -e o ] || die "no file for $format"
		fp 4 export cut.fperf --to "$format" -o o
	done
}

test_lower_levels_say_what_they_cannot_give() {
	local format
	rich
	"$FP" check -q s.fperf --level 1 && "$FP" check -q s.fperf --level 0
	for format in $(formats); do
		fp 0 export s.level1.fperf --to "$format" -o o
		has err 'level 1 keeps results' 'neither stacks nor'
		fp 0 export s.level0.fperf --to "$format" -o o
		has err 'level 0 keeps statistics only'
	done
	fp 0 export s.level1.fperf --to csv -o frames.csv
	[ "$(wc -l <frames.csv)" = 43 ] || die "not 40 frames: $(wc -l <frames.csv)"
	"$FP" report --json s.level1.fperf >report.json
	fp 0 export s.level1.fperf --to csv --table functions
	python3 - <<-'P'
		import csv
		from exports import *
		rows = {(r['function'], r['module']): r for r in csv.DictReader(open('out', encoding='utf-8', newline=''))}
		hot = report()['hot']
		assert hot
		for h in hot:
		    row = rows[h['function'], h['module']]
		    assert int(row['self_ns']) == h['self_ns'] and int(row['total_ns']) == h['total_ns'], (row, h)
		    assert abs(float(row['total_share']) - h['total_share']) < 1e-6, (row, h)
	P
}

test_flipped_bits_are_survived() {
	rich hostile
	formats >list
	python3 - <<-'P'
		import os, random, subprocess
		data = open('s.fperf', 'rb').read()
		formats = open("list").read().split()
		assert len(formats) >= 2
		random.seed(11)
		for n in range(24):
		    copy = bytearray(data)
		    for _ in range(1 + n % 3):
		        copy[random.randrange(len(data))] ^= 1 << random.randrange(8)
		    open('v.fperf', 'wb').write(copy)
		    for format in formats:
		        run = subprocess.run([os.environ['FP'], 'export', 'v.fperf', '--to', format, '-o', 'o'],
		                             capture_output=True, timeout=30)
		        assert run.returncode in (0, 1, 4), (format, run.returncode, run.stderr)
	P
}
