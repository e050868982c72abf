# Copies of lower levels say the same as the session that they were made from, and say what they do not hold.
# shellcheck shell=bash

levels() { # KIND: s.fperf, and s.level1.fperf and s.level0.fperf from it
	"$MAKE_SESSION" "$1" s.fperf
	fp 0 check --level 1 s.fperf
	has out 's.level1.fperf'
	fp 0 check --level 0 s.fperf
	for file in s.level1.fperf s.level0.fperf; do
		fp 0 check "$file"
		has out 'whole'
	done
	for level in 1 0; do
		fp 0 report --json "s.level$level.fperf"
		mv out "level$level.json"
		python3 "$TOP/tests/cli/check_schema.py" "level$level.json" || die "not the schema"
	done
	fp 0 report --json s.fperf
	mv out level2.json
}

test_level_1_keeps_frames_verdicts_and_ledgers() {
	local kind
	for kind in frames rich hostile; do
		rm -f s.*
		levels "$kind"
		python3 - <<-'P'
			import json
			full, less = json.load(open('level2.json')), json.load(open('level1.json'))
			assert less['session']['level'] == 1, less['session']
			for key in full['frames'] or {}:
			    a, b = full['frames'][key], less['frames'][key]
			    if key == 'time_ns':
			        assert all(abs(a[k] - b[k]) <= 1024 for k in a), (a, b)
			    elif isinstance(a, (int, float)):
			        assert abs(a - b) <= 1024 + abs(a) * 1e-3, (key, a, b)
			    else:
			        assert a == b, (key, a, b)
			assert full['causes'] == less['causes'], (full['causes'], less['causes'])
			assert len(full['slow_frames']) == len(less['slow_frames'])
			for a, b in zip(full['slow_frames'], less['slow_frames']):
			    share = b['verdict'].pop('share')
			    assert abs(a['verdict'].pop('share') - share) < 1e-6
			    assert a['verdict'] == b['verdict'], (a['verdict'], b['verdict'])
			    assert abs(a['active_ns'] - b['active_ns']) <= 2048 and b['chain'] is None
			    kept = {row['tid']: row for row in b['ledger']}
			    assert a['verdict']['thread']['tid'] in kept, b['ledger']
			    for row in a['ledger']:
			        for key, ns in row.items():
			            if row['tid'] in kept and isinstance(ns, int) and key.endswith('_ns'):
			                assert abs(ns - kept[row['tid']][key]) <= a['time_ns'] / 500 + 1024, (key, row, kept)
			hot = {(h['function'], h['module']): h for h in less['hot']}
			for h in full['hot']:
			    if h['self_share'] > 0.01:
			        assert abs(hot[h['function'], h['module']]['self_share'] - h['self_share']) < 0.01, h
			for a, b in zip(full['threads'], less['threads']):
			    assert (a['tid'], a['switches'], a['samples']) == (b['tid'], b['switches'], b['samples']), (a, b)
			    assert a['cpu_ns'] == b['cpu_ns'] and a['name'] == b['name'], (a, b)
			assert [f['mean_khz'] for f in full['freq']] == [f['mean_khz'] for f in less['freq']]
			assert full['quality']['lost'] == less['quality']['lost']
			assert full['sources'] == less['sources']
		P
	done
	fp 0 report s.level1.fperf
	has out 'level 1' 'no critical chains'
	fp 0 info s.level1.fperf
	has out 'level 1' 'ledger'
}

test_level_0_keeps_sums_and_is_small() {
	levels frames
	[ "$(stat -c %s s.level0.fperf)" -lt 1024 ] || die "level 0 takes $(stat -c %s s.level0.fperf) bytes"
	python3 - <<-'P'
		import json
		full, less = json.load(open('level2.json')), json.load(open('level0.json'))
		assert less['session']['level'] == 0
		for key in ('slow_frames', 'hot', 'hot_slow', 'threads', 'freq'):
		    assert less[key] is None, (key, less[key])
		a, b = full['frames'], less['frames']
		assert (a['count'], a['slow'], a['marker'], a['budget_ns']) == (b['count'], b['slow'], b['marker'], b['budget_ns'])
		for key in a['time_ns']:
		    assert abs(a['time_ns'][key] - b['time_ns'][key]) <= a['time_ns'][key] / 500, key
		assert full['causes'] == less['causes']
		assert full['usage'] == less['usage'] and less['usage']['memory_peak_bytes'] is None
		assert [(s['name'], s['state']) for s in full['sources'] if s['state'] == 'active'] == \
		       [(s['name'], s['state']) for s in less['sources'] if s['state'] == 'active']
	P
	fp 0 report s.level0.fperf
	has out '61 frames' 'level 0' 'only sums'
	fp 1 report --frame 3 s.level0.fperf
	has err 'level 0 keeps no single frames'
	fp 1 check --level 1 s.level0.fperf
	has err 'only level 2'
	fp 0 info s.level0.fperf
	lacks out 'with a user stack'
}
