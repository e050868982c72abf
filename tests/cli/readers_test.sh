# Exports read back by other people's readers: npm packages, protoc, speedscope in headless Chromium.
# Python is that of Debian, which has the packages for it.
# shellcheck shell=bash
export PYTHONPATH=$TOP/tests/cli PYTHONDONTWRITEBYTECODE=1
export READERS=$BUILD/readers

# The npm packages of tests/exports, installed once a build. Without the registry this fails: a test that was not made has
# not passed.
need_readers() {
	mkdir -p "$READERS"
	cmp -s "$TOP/tests/exports/package-lock.json" "$READERS/installed" && return
	cp "$TOP"/tests/exports/package*.json "$READERS"
	(cd "$READERS" && timeout 50 npm ci --ignore-scripts --no-audit --no-fund --prefer-offline) ||
		die "npm ci could not install the readers of tests/exports (no registry?)"
	cp "$READERS/package-lock.json" "$READERS/installed"
}

rich() { # [hostile]: s.fperf and its report.json
	"$MAKE_SESSION" "rich${1:+-$1}" s.fperf
	"$FP" report --json s.fperf >report.json
}

test_pprof_by_its_npm_reader() {
	local kind
	need_readers
	for kind in '' hostile; do
		rich $kind
		fp 0 export s.fperf --to pprof -o o.pb.gz
		node "$TOP/tests/exports/read_pprof.cjs" o.pb.gz >o.json
		/usr/bin/python3 - <<-'P'
			from exports import *
			r, p = report(), json.load(open('o.json'))
			names = [t for t, _ in p['types']]
			assert p['types'][:3] == [['samples', 'count'], ['cpu', 'nanoseconds'], ['off_cpu', 'nanoseconds']]
			assert p['defaultType'] == 'cpu' and p['period'] == ['cpu', 'nanoseconds', '1000000']
			assert p['duration'] == '1000000000' and p['time'] == str(r['session']['started_unix_ns'])
			value = lambda s, name: s['values'][names.index(name)]
			assert sum(value(s, 'samples') for s in p['samples']) == r['quality']['samples']
			assert sum(value(s, 'cpu') for s in p['samples']) == sampled_cpu(r)
			total, own = collections.Counter(), collections.Counter()
			for s in p['samples']:
			    functions = [line['function'] for at in s['locations'] for line in at['lines']]
			    for name in set(functions):
			        total[name] += value(s, 'cpu')
			    own[s['locations'][0]['lines'][-1]['function']] += value(s, 'cpu')
			    assert value(s, 'off_cpu') == sum(s['values'][3:])
			same_totals(total, r['hot'])
			for h in r['hot']:
			    assert own[h['function']] == h['self_ns'], h
			# waits of the slow frame, by its label, are those of the ledger
			slow = r['slow_frames'][0]
			for ledger in slow['ledger']:
			    for kind, ns in dict(ledger['blocked_ns'], runnable=ledger['runnable_ns'], preempted=ledger['preempted_ns']).items():
			        got = sum(value(s, 'off_cpu_' + kind) for s in p['samples']
			                  if s['labels'].get('frame') == slow['index'] and s['labels']['tid'] == ledger['tid'])
			        assert got == ns, (ledger, kind, got)
			threads = {(s['labels']['thread'], s['labels']['tid']) for s in p['samples']}
			assert {('Worker 1', 4243), ('second', 4242), ('Loader', 4244)} <= threads, threads
			# code of a file: its mapping, where it lay in memory, with its build ID
			at = [at for s in p['samples'] for at in s['locations'] if at.get('mapping') and at['mapping']['file'].startswith('/opt')]
			assert all(x['mapping']['buildId'] == bytes((i * 13 + 1) & 255 for i in range(20)).hex() for x in at)
			assert {(x['mapping']['start'], x['mapping']['offset'], x['address']) for x in at} == {
			    (str(0x555500001000), str(0x1000), str(0x555500001000 + 0x2344 - 0x1000))}, at[0]
			for s in p['samples']:
			    for x in s['locations']:
			        assert not x.get('mapping') or int(x['mapping']['start']) <= int(x['address']) < int(x['mapping']['limit']), x
		P
	done
	fp 0 export s.fperf --to pprof --frames 3-4 --thread 4242 -o o.pb.gz
	node "$TOP/tests/exports/read_pprof.cjs" o.pb.gz >o.json
	/usr/bin/python3 -c "
import json
p = json.load(open('o.json'))
assert {s['labels'].get('frame') for s in p['samples']} == {3, 4}
assert {s['labels']['tid'] for s in p['samples']} == {4242}"
}

test_speedscope_by_its_schema() {
	local kind
	need_readers
	for kind in '' hostile; do
		rich $kind
		fp 0 export s.fperf --to speedscope -o o.json
		fp 0 export s.fperf --to speedscope --off-cpu --frames slow -o off.json
		/usr/bin/python3 - <<-'P'
			import os
			import jsonschema
			from exports import *
			r, s, off = report(), json.load(open('o.json')), json.load(open('off.json'))
			release = os.environ['READERS'] + '/node_modules/speedscope/dist/release/'
			schema = json.load(open(release + 'file-format-schema.json'))
			for file in (s, off):
			    jsonschema.validate(file, schema)
			assert sum(sum(p['weights']) for p in s['profiles']) == sampled_cpu(r)
			total = collections.Counter()
			for p in s['profiles']:
			    assert p['unit'] == 'nanoseconds' and p['endValue'] == sum(p['weights'])
			    assert len(p['weights']) == len(p['samples'])
			    for stack, ns in zip(p['samples'], p['weights']):
			        for name in {s['shared']['frames'][f]['name'] for f in stack}:
			            total[name] += ns
			same_totals(total, r['hot'])
			assert s['profiles'][s['activeProfileIndex']]['name'].endswith('(4242)')
			locks = collections.Counter()
			for p in off['profiles']:
			    for stack, ns in zip(p['samples'], p['weights']):
			        locks[p['name'], off['shared']['frames'][stack[-1]]['name']] += ns
			ledger = next(l for l in r['slow_frames'][0]['ledger'] if l['tid'] == 4242)
			assert locks[ledger['name'] + ' (4242)', '[lock]'] == ledger['blocked_ns']['lock'] == 30_000_000, locks
		P
	done
	"$MAKE_SESSION" empty e.fperf
	fp 0 export e.fperf --to speedscope -o e.json
	/usr/bin/python3 -c "
import json, os, jsonschema
jsonschema.validate(json.load(open('e.json')), json.load(open(os.environ['READERS'] + '/node_modules/speedscope/dist/release/file-format-schema.json')))"
}

# speedscope FILE: what its page shows after it has imported FILE, as text in page.
speedscope() {
	{
		printf 'speedscope.loadFileFromBase64("%s", "' "$1"
		base64 -w0 "$1"
		printf '")'
	} >file.js
	timeout 50 chromium --headless --no-sandbox --disable-gpu --user-data-dir="$PWD/chromium" --allow-file-access-from-files \
		--virtual-time-budget=10000 --dump-dom \
		"file://$READERS/node_modules/speedscope/dist/release/index.html#localProfilePath=$PWD/file.js" >page 2>chromium.log ||
		die "chromium: $(tail -n 3 chromium.log)"
}

test_speedscopes_own_importer() {
	local kind
	need_readers
	for kind in '' hostile; do
		rich $kind
		fp 0 export s.fperf --to speedscope -o o.speedscope.json
		speedscope o.speedscope.json
		/usr/bin/python3 - <<-'P'
			import html, re
			from exports import *
			page = open('page', encoding='utf-8').read()
			rows = re.findall(r'<tr title="([^"]*)".*?<td[^>]*>([\d.]+)ms</td></tr>', page, re.S)
			got = {html.unescape(name): float(ms) for name, ms in rows}
			want = {f"{t['name']} ({t['tid']})": t['cpu_ns'] / 1e6 for t in report()['threads'] if t['samples']}
			assert got.keys() == want.keys(), (got, want)
			assert all(abs(got[k] - want[k]) < 0.01 for k in want), (got, want)
		P
		fp 0 export s.fperf --to folded -o o.folded.txt
		speedscope o.folded.txt
		grep -q 'canvas' page || die 'it does not take the folded stacks'
		lacks page 'Unrecognized format'
	done
}

test_firefox_by_its_documented_format() {
	local kind
	for kind in '' hostile; do
		rich $kind
		fp 0 export s.fperf --to firefox -o o.json
		/usr/bin/python3 - <<-'P'
			import os
			import jsonschema
			from exports import *
			r, p = report(), json.load(open('o.json', encoding='utf-8'))
			jsonschema.validate(p, json.load(open(os.environ['TOP'] + '/tests/exports/firefox.schema.json')))
			shared, threads = p['shared'], p['threads']
			def columns(table):
			    assert all(len(v) == table['length'] for v in table.values() if isinstance(v, list)), table.keys()
			for table in shared.values():
			    if isinstance(table, dict):
			        columns(table)
			for t in threads:
			    columns(t['samples']), columns(t['markers'])
			# every index points into its table, parents come first
			strings, stacks, frames = shared['stringArray'], shared['stackTable'], shared['frameTable']
			assert all(0 <= o <= i for i, o in enumerate(stacks['prefixOffset']))
			assert all(f < frames['length'] for f in stacks['frame'])
			assert all(f < shared['funcTable']['length'] for f in frames['func'])
			assert all(n < len(strings) for n in shared['funcTable']['name'])
			assert all(c < len(p['meta']['categories']) for c in frames['category'])
			assert all(x < len(p['libs']) for x in frames['lib'] + shared['funcTable']['resource'])
			assert all(s is None or s < stacks['length'] for t in threads for s in t['samples']['stack'])
			assert len({(t['pid'], t['tid']) for t in threads}) == len(threads) == 4
			assert {t['pid'] for t in threads if t['isMainThread']} == {t['pid'] for t in threads}
			# CPU use and the time of each kind of wait
			cpu = {(t['cpu_ns'], t['tid']) for t in r['threads']}
			assert {(sum(t['samples']['threadCPUDelta']), int(str(t['tid']).split('.')[0])) for t in threads} == cpu
			names = [c['name'] for c in p['meta']['categories']]
			by = collections.Counter()
			for t in threads:
			    for stack, ms in zip(t['samples']['stack'], t['samples']['weight']):
			        if stack is not None:
			            by[names[frames['category'][stacks['frame'][stack]]]] += round(ms * 1e6)
			        assert stack is not None or ms == 0
			assert by['user'] + by['kernel'] == sum(t['cpu_ns'] for t in r['threads']), by
			assert all(by[k] for k in ('runnable', 'preempted', 'lock', 'io', 'fault', 'sleep')), by
			# frames and verdicts
			main = threads[p['meta']['initialSelectedThreads'][0]]['markers']
			kinds = collections.Counter(d['type'] for d in main['data'])
			slow = r['slow_frames']
			assert kinds['Frame'] == r['frames']['timed'] and kinds['SlowFrame'] == len(slow) == 1, kinds
			i = next(i for i, d in enumerate(main['data']) if d['type'] == 'SlowFrame')
			assert main['data'][i]['number'] == 20 and main['data'][i]['cause'] == 'lock'
			assert main['data'][i]['verdict'].encode('ascii', 'replace') == slow[0]['verdict']['text'].encode('ascii', 'replace')
			assert round((main['endTime'][i] - main['startTime'][i]) * 1e6) == slow[0]['time_ns']
			assert all(d['type'] in {s['name'] for s in p['meta']['markerSchema']} for t in threads for d in t['markers']['data'])
		P
	done
	"$MAKE_SESSION" empty e.fperf
	fp 0 export e.fperf --to firefox -o e.json
	/usr/bin/python3 -c "
import json, os, jsonschema
jsonschema.validate(json.load(open('e.json')), json.load(open(os.environ['TOP'] + '/tests/exports/firefox.schema.json')))"
}

# The Firefox profiler's own command line tool, which loads and upgrades a profile as the web page does.
firefox_cli() { # OUT ARGS...
	local out=$1
	shift
	HOME=$PWD/home timeout 20 node "$READERS/node_modules/@firefox-devtools/profiler-cli/dist/profiler-cli.js" "$@" >"$out"
}

test_firefox_by_the_profilers_own_tool() {
	local kind tries
	need_readers
	trap 'firefox_cli stop stop --all || :' EXIT # it leaves a daemon
	for kind in '' hostile; do
		rich $kind
		mkdir -p home
		fp 0 export s.fperf --to firefox -o o.json
		firefox_cli load load o.json 2>load.err || : # says so when its daemon is slow to start; asked again below
		tries=0
		until firefox_cli info profile info --all --json 2>info.err; do
			tries=$((tries + 1))
			[ $tries -lt 10 ] || die "the profiler does not load it: $(cat load load.err info.err)"
			sleep 0.5
		done
		firefox_cli functions thread functions --json
		firefox_cli markers thread markers --json
		firefox_cli stop stop
		/usr/bin/python3 - <<-'P'
			from exports import *
			r, info = report(), json.load(open('info'))
			got = {(t['name'].replace('\ufffd', '?'), round(t['cpuMs'] * 1e6)) for p in info['processes'] for t in p['threads']}
			want = {(t['name'].replace('\ufffd', '?'), t['cpu_ns']) for t in r['threads']}
			assert got == want, (got, want)
			assert info['processCount'] == 2
			own = {f['name']: round(f['selfSamples'] * 1e6) for f in json.load(open('functions'))['functions']}
			hot = {h['function']: h['self_ns'] for h in r['hot']}
			name = next(n for n in hot if n.startswith('Template<') or n == 'path_find')
			del hot[name] # of another thread
			for n in ('clear_page', 'draw', 'collide', 'line\\x0abreak\\x0d\\x1b[2J'):
			    if n in hot:
			        assert own[n] == hot[n], (n, own[n], hot[n])
			types = {t['markerName']: t['count'] for t in json.load(open('markers'))['byType']}
			assert types['Frame'] == 40 and types['Slow frame'] == 1, types
		P
	done
}

# schema.pb: what a trace is read with: the fields that we write, or all of Perfetto's own.
perfetto_schema() {
	if [ -n "${PERFETTO_PROTOS:-}" ]; then
		protoc -I"$PERFETTO_PROTOS" --include_imports --descriptor_set_out=schema.pb protos/perfetto/trace/trace.proto ||
			die 'the schema of PERFETTO_PROTOS does not compile'
	else
		protoc -I"$TOP/tests/exports" --descriptor_set_out=schema.pb perfetto.proto || die 'protoc'
	fi
}

test_perfetto_by_its_schema() {
	local kind
	perfetto_schema
	for kind in '' hostile; do
		rich $kind
		fp 0 export s.fperf --to perfetto -o o.pftrace
		PYTHONPATH=$PYTHONPATH:$TOP/tests/exports /usr/bin/python3 - <<-'P'
			from exports import *
			import read_perfetto
			r, t = report(), read_perfetto.load('o.pftrace')
			start = 3_456_000_000_000_000
			# running: the CPU time of each thread, exactly
			cpu, want = collections.Counter(), collections.Counter()
			for _, tid, since, to in t.running:
			    cpu[tid] += to - since
			for thread in r['threads']:
			    want[thread['tid']] += thread['cpu_ns']
			assert {k: v for k, v in cpu.items() if k in want} == dict(want), (cpu, want)
			# who woke whom, from which state
			lock = [s for s in t.states if s[0] == 4242 and s[5] - s[2] > 25_000_000]
			assert lock[0][1:4] == (1, start + 306_000_000, 4243) and lock[0][4] - lock[0][2] == 30_000_000, lock
			assert any(s[3] == 77 for s in t.states if s[0] == 4243), 'no waker from outside'
			assert any(s[1] == 0x100 for s in t.states if s[0] == 4243), 'not preempted'
			assert t.threads[77] == 'assetd' and t.threads[4244] == 'Loader' and t.io_waits == 10, t.io_waits
			assert any(x[1] == 77 for x in t.running), 'who took the core is not shown'
			# frames with verdicts, one after the other
			frames = [s for s in t.slices if s[0][-1] == 'Frames']
			assert len(frames) == r['frames']['timed'] and sum(s[3] - s[2] for s in frames) == r['frames']['duration_ns']
			slow = next(s for s in frames if s[1] == 'Slow frame 20')
			assert slow[3] - slow[2] == 40_000_000 and slow[4]['cause'] == 'lock', slow
			assert slow[4]['excess_ns'] == r['slow_frames'][0]['verdict']['excess_ns']
			chain = [s for s in t.slices if s[0][-1] == 'Critical chain']
			assert sum(s[3] - s[2] for s in chain) == 40_000_000 and any(s[1].startswith('lock in ') for s in chain), chain
			want = sum(a['tid'] != b['tid'] for a, b in zip(r['slow_frames'][0]['chain'], r['slow_frames'][0]['chain'][1:]))
			assert len(t.flows) == want and all(a[0] != b[0] and a[3] == b[2] for a, b in t.flows), t.flows
			# marks, scopes, clocks, counters
			assert len([i for i in t.instants if i[0] == 4243]) == 60, t.instants[:3]
			scopes = [s for s in t.slices if 'Worker 1' in s[0] and s[0][-1] == s[1]]
			assert len(scopes) == 120 and {s[3] - s[2] for s in scopes} == {1_000_300, 2_500_000}, scopes[:3]
			assert t.frequency == {0: 10, 1: 10}
			assert [v for _, v in t.counters['Memory (RSS)']][:2] == [1 << 20, 4 << 20], t.counters
			assert len(t.counters) == 3
			# stacks
			samples = [s for s in t.samples if s[0] == 'frameperf.cpu']
			assert len(samples) == r['quality']['samples'] and sum(s[4] for s in samples) == sampled_cpu(r)
			total = collections.Counter()
			for s in samples:
			    for name in set(s[3]):
			        total[name] += s[4]
			same_totals(total, r['hot'])
			waits = [s for s in t.samples if s[0] == 'frameperf.waits']
			assert sum(s[4] for s in waits if s[3][-1] == '[lock]' and s[1] == 4242) == 30_000_000
			frame, (path, build_id) = samples[0][5][0]
			assert path == b'/opt/a game/bin;game' and build_id == bytes((i * 13 + 1) & 255 for i in range(20)), path
			assert frame.rel_pc == 0x2344
		P
	done
	fp 0 export s.fperf --to perfetto --frames 19-21 --thread 4242 -o o.pftrace
	PYTHONPATH=$PYTHONPATH:$TOP/tests/exports /usr/bin/python3 -c "
import read_perfetto
t = read_perfetto.load('o.pftrace')
assert {x[1] for x in t.running} == {4242} and len([s for s in t.slices if s[0][-1] == 'Frames']) == 3, t.running
assert sum(x[3] - x[2] for x in t.running) + sum(s[4] for s in t.samples if s[0] == 'frameperf.waits') == 60_000_000"
	"$MAKE_SESSION" empty e.fperf
	fp 0 export e.fperf --to perfetto -o o.pftrace
	PYTHONPATH=$PYTHONPATH:$TOP/tests/exports /usr/bin/python3 -c "
import read_perfetto
assert not read_perfetto.load('o.pftrace').samples"
}
