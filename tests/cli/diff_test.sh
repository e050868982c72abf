# Comparisons of session files of known content: make_session run SEED PERCENT.
# shellcheck shell=bash

runs() { # PREFIX COUNT FIRST-SEED PERCENT [SCENE [MODEL]]
	local i
	for i in $(seq "$2"); do
		# make_session KIND FILE, then the kind's own arguments
		"$MAKE_SESSION" run "$1$i.fperf" $(($3 + i)) "${@:4}"
	done
}

py() { # a Python assertion on out, the comparison as JSON
	python3 - <<-P
		import json, math
		r = json.load(open('out'))
		s = r['scenes'][0]
		fig = {f['name']: f for f in s['figures']}
		$1
	P
}

test_a_slower_build_is_found_and_named() {
	runs a 5 10 0
	runs b 5 20 10
	fp 3 diff --base a?.fperf --new b?.fperf
	has out 'slower' 'worse' 'FAIL'
	has err 'gate default' 'worse: '
	fp 3 diff --json --base a?.fperf --new b?.fperf
	py "assert r['schema'] == 'frameperf.diff/1' and r['gates_hold'] is False, r['gates']
assert s['result'] == 'worse' and len(s['base']) == 5 and len(s['new']) == 5
m = fig['mean']
assert abs(m['relative'] - 0.075) < 0.02 and m['low'] < m['difference'] < m['high'] and m['p_holm'] < 0.05, m
assert m['unit'] == 'ns' and m['interval_of'] == 'runs' and m['result'] == 'worse', m
assert fig['fps']['result'] == 'worse' and fig['fps']['difference'] < 0, fig['fps']
f = s['functions'][0]
assert f['function'] == 'update' and f['self']['result'] == 'worse' and abs(f['self']['relative'] - 0.1) < 0.05, f"
	fp 0 diff --base a?.fperf --new b?.fperf --gate none
	fp 0 diff --base b?.fperf --new a?.fperf
	has out 'faster' 'better' update
}

test_equal_builds_are_no_regression() {
	runs a 4 10 0
	runs b 4 30 0
	fp 0 diff --base a?.fperf --new b?.fperf --json
	py "assert s['result'] in ('same', 'cannot_tell'), s['result']
assert all(f['result'] in ('same', 'cannot_tell') for f in s['figures']), fig
assert all(f['presence'] == 'both' for f in s['functions'])"
	fp 0 diff --base a?.fperf --new b?.fperf
	has out 'too short'
}

test_the_same_recordings_differ_by_nothing() {
	runs a 1 10 0
	cp a1.fperf copy.fperf
	fp 0 diff --base a1.fperf --new copy.fperf --json --gate 'p99<=+0%' --gate 'worst<=40ms'
	py "assert s['result'] == 'same' and r['gates_hold'], r
assert all(f['difference'] == 0 == f['low'] == f['high'] for f in s['figures'])"
	fp 0 diff --base a1.fperf --new copy.fperf
	has out 'same recordings'
}

test_one_run_each_says_what_it_can() {
	runs a 1 10 0
	runs b 1 20 20
	fp 0 diff --base a1.fperf --new b1.fperf
	has out 'One run cannot tell' 'at least 3' 'of these two runs'
	fp 3 diff --base a1.fperf --new b1.fperf --gate 'p99<=+3%'
	has err 'gate p99<=+3%' 'one run'
	fp 0 diff --base a1.fperf --new b1.fperf --gate 'worst<=60ms' --gate 'hitches<=300/min'
	fp 3 diff --base a1.fperf --new b1.fperf --gate 'worst<=30ms'
}

test_gates_hold_only_with_confidence() {
	runs a 5 10 0
	runs b 5 20 3
	fp 0 diff --base a?.fperf --new b?.fperf --gate 'mean<=+5%' --gate 'fps>=80fps' --gate 'worst<=60ms' --junit j.xml --markdown m.md
	has out 'ok   mean<=+5% holds'
	has j.xml 'tests="3" failures="0"'
	python3 -c "
import xml.etree.ElementTree as E
t = E.parse('j.xml').getroot()
assert [c.get('name') for c in t.iter('testcase')] == ['mean<=+5%', 'fps>=80fps', 'worst<=60ms']"
	has m.md '| gate |' '✅'
	fp 3 diff --base a?.fperf --new b?.fperf --gate 'mean<=+5%' --gate 'mean<=+1%' --junit j.xml
	has err 'gate mean<=+1% does not hold'
	lacks err 'mean<=+5%'
	has j.xml 'failures="1"' '<failure type="fails"'
	fp 0 diff --base a?.fperf --new b?.fperf --gate 'func:update<=+0.5ms' --gate 'total:main<=12ms'
	fp 3 diff --base a?.fperf --new b?.fperf --gate 'func:update<=+0.1ms'
	fp 3 diff --base a?.fperf --new b?.fperf --gate 'func:nothing_of_that_name<=+1ms'
	has err 'no function of that name'
	fp 3 diff --base a?.fperf --new b?.fperf --gate 'mean<=+2.3%' --json
	py "g = r['gates'][0]
assert g['outcome'] in ('fails', 'cannot_tell') and g['bound'] > g['limit'], g"
}

test_scenes_are_compared_like_with_like() {
	runs a 3 10 0 forest
	runs c 3 40 0 cave
	runs b 3 20 10 forest
	runs d 3 50 0 cave
	runs x 1 60 0 menu
	fp 3 diff --base a?.fperf c?.fperf --new b?.fperf d?.fperf x1.fperf --json
	has err "scene 'menu'"
	py "assert [x['scene'] for x in r['scenes']] == ['cave', 'forest'], r['scenes']
assert r['scenes'][1]['result'] == 'worse' and r['scenes'][0]['result'] != 'worse'
assert [(g['scene'], g['holds']) for g in r['gates']] == [('cave', True), ('forest', False)], r['gates']"
	fp 0 diff --base a?.fperf c?.fperf --new b?.fperf d?.fperf --scene cave
	fp 1 diff --base a?.fperf --new d?.fperf
	has err 'no scene in common'
}

test_what_is_not_comparable_is_refused() {
	runs a 3 10 0 s BoardA
	runs b 3 20 0 s BoardB
	fp 1 diff --base a?.fperf --new b?.fperf
	has err 'not comparable' 'BoardA' 'BoardB' '--force'
	silent out
	fp 0 diff --base a?.fperf --new b?.fperf --force
	has out 'BoardA' 'BoardB'
}

test_wrong_use_is_explained() {
	runs a 1 10 0
	fp 2 diff
	has err '--base is missing'
	fp 2 diff --base a1.fperf
	has err '--new is missing'
	fp 2 diff --base a1.fperf --new a1.fperf --gate 'p99<=3%'
	has err '+3%'
	fp 2 diff --base a1.fperf --new a1.fperf --min-effect x
	fp 2 diff --base a1.fperf --new a1.fperf a1.fperf more --junit
	fp 1 diff --base a1.fperf --new none.fperf
	has err none.fperf
	"$MAKE_SESSION" empty e.fperf
	fp 1 diff --base a1.fperf --new e.fperf
	has err 'no frames' e.fperf
	fp 1 diff --base a1.fperf --new a1.fperf --junit /no/such/dir/x
	has err /no/such/dir/x
}

test_hostile_names_in_comparisons() {
	"$MAKE_SESSION" hostile h.fperf
	cp h.fperf g.fperf
	fp 0 diff --base h.fperf --new g.fperf --markdown m.md --junit j.xml
	no_control_characters out
	no_control_characters m.md
	python3 -c "import xml.etree.ElementTree as E; E.parse('j.xml')"
	fp 0 diff --base h.fperf --new g.fperf --json
	python3 -m json.tool out >/dev/null
}

test_results_do_not_depend_on_the_time_of_day() {
	runs a 9 10 0
	runs b 9 30 1
	fp 0 diff --base a?.fperf --new b?.fperf --json --gate none
	cp out one
	fp 0 diff --base a?.fperf --new b?.fperf --json --gate none
	cmp out one
}

test_the_comparison_fits_the_width() {
	runs a 3 10 0
	runs b 3 20 10
	local columns
	for columns in 80 100 120; do
		COLUMNS=$columns "$FP" diff --base a?.fperf --new b?.fperf --gate none >out
		python3 -c "
long = [l for l in open('out', encoding='utf-8') if len(l.rstrip('\n')) > $columns]
assert not long, long"
	done
}

test_baselines_are_picked_by_device_and_scene() {
	runs a 3 10 0 forest BoardA
	runs c 3 40 0 cave BoardA
	runs o 3 70 0 forest 'Board B/..'
	runs b 3 20 10 forest BoardA
	fp 0 baseline add base a?.fperf c?.fperf o?.fperf
	has out base/BoardA-x86_64/forest/ base/Board_B_..-x86_64/forest/
	fp 0 baseline list base
	has out BoardA-x86_64 cave forest
	fp 0 baseline check base
	has out '3 runs' 'differs by'
	fp 3 diff --baseline base --new b?.fperf --json
	py "assert len(r['scenes']) == 1 and len(s['base']) == 3, s['base']
assert s['scene'] == 'forest' and all('/BoardA-x86_64/forest/' in b['path'] for b in s['base']), s['base']
assert s['result'] == 'worse', s['result']"
	fp 1 baseline add base a1.fperf
	has err 'there already'
	runs x 1 90 0 desert BoardA
	fp 1 diff --baseline base --new x1.fperf
	has err 'no baseline for scene desert'
	fp 2 diff --baseline base --base a1.fperf --new b1.fperf
	[ -z "$(find base -name '*.part')" ] || die "left a part"
}

test_baselines_that_are_not_there_or_broken() {
	fp 2 baseline
	fp 2 baseline list
	fp 2 baseline remove base
	fp 1 baseline list nowhere
	fp 1 baseline add base
	has err 'FILE is missing'
	mkdir empty
	fp 0 baseline check empty
	has err 'no baselines'
	runs a 1 10 0 forest
	head -c 3000 a1.fperf >cut.fperf
	fp 1 baseline add base cut.fperf
	has err damaged
	fp 0 baseline add base a1.fperf
	fp 0 baseline check base
	has out 'fewer than 3'
	echo x >"$(find base -name '*.fperf')"
	fp 1 baseline check base
}

# scipy as the judge of p-values and intervals; its degrees of freedom are rounded down as ours are.
test_statistics_agree_with_scipy() {
	runs a 5 10 0
	runs b 4 20 2
	fp 0 diff --base a?.fperf --new b?.fperf --json --gate none
	/usr/bin/python3 - <<-'P'
		import json, math
		from scipy import stats
		s = json.load(open('out'))['scenes'][0]
		seen = 0
		for f in s['figures']:
		    a = [r['figures'][f['name']] for r in s['base'] if f['name'] in r['figures']]
		    b = [r['figures'][f['name']] for r in s['new'] if f['name'] in r['figures']]
		    if f['name'] in ('hitches', 'jank') or len(set(a + b)) == 1:
		        continue
		    va, vb = stats.tvar(a) / len(a), stats.tvar(b) / len(b)
		    df = math.floor((va + vb) ** 2 / (va * va / (len(a) - 1) + vb * vb / (len(b) - 1)))
		    error, t = math.sqrt(va + vb), stats.ttest_ind(b, a, equal_var=False).statistic
		    reach = stats.t.ppf(0.975, df) * error
		    close = lambda x, y: abs(x - y) <= 1e-6 * (abs(y) + error)
		    assert close(f['p'], 2 * stats.t.sf(abs(t), df)), (f, df)
		    assert close(f['low'], f['difference'] - reach) and close(f['high'], f['difference'] + reach), f
		    seen += 1
		assert seen >= 8, seen
	P
}
