# The page that report writes: one file, whole, and safe whatever is in the session. What it shows is tested in
# tests/page.
# shellcheck shell=bash

page_core() { # FILE: the decoded head of the page's first block, into core.json
	python3 - "$1" <<-'P'
		import base64, json, re, struct, sys, zlib
		page = open(sys.argv[1], encoding='utf-8').read()
		raw = zlib.decompress(base64.b64decode(re.search('id="data-core">([^<]*)<', page).group(1)), -15)
		size = struct.unpack('<I', raw[:4])[0]
		open('core.json', 'wb').write(raw[4:4 + size])
	P
}

test_page_is_one_whole_file() {
	"$MAKE_SESSION" frames s.fperf
	fp 0 report s.fperf --html p.html
	silent out
	silent err
	has p.html '<!doctype html>' 'id="data-core"' 'id="data-lanes"' 'id="data-samples"' 'id="data-frames"' '</html>'
	lacks p.html '<!--data-->'
	! grep -oE '(src|href)="[^"]*"|@import|url\(http' p.html || die "the page wants more than itself"
	page_core p.html
	fp 0 report s.fperf --json
	python3 -c "
import json
r, p = json.load(open('out')), json.load(open('core.json'))['report']
for frame in r['slow_frames']: del frame['chain'], frame['ledger']
del r['hot'], r['hot_slow'] # the page counts its own from the stacks
assert p == r, 'the page holds another report'"
}

test_page_of_hostile_names() {
	"$MAKE_SESSION" hostile s.fperf
	fp 0 report s.fperf --html p.html
	python3 -c "
text = open('p.html', 'rb').read().decode()
assert not {c for c in text if c not in '\n\t' and (ord(c) < 32 or c == '\u202e')}"
	page_core p.html
	python3 -c "
import json
assert '\x1b' in json.load(open('core.json'))['report']['session']['target']['name']"
	[ "$(grep -c '</script' p.html)" = 5 ] || die "scripts end where they should not"
}

test_page_of_empty_session() {
	"$MAKE_SESSION" empty s.fperf
	fp 0 report s.fperf --html p.html
	page_core p.html
}

test_page_that_cannot_be_written() {
	"$MAKE_SESSION" frames s.fperf
	fp 1 report s.fperf --html no/such/p.html
	has err 'no/such/p.html'
	fp 1 report s.fperf --html /dev/full
	has err 'No space'
	[ -e /dev/full ] || die "took the device away"
}

test_pages_of_damaged_sessions() {
	"$MAKE_SESSION" frames s.fperf
	python3 - <<-'P'
		import os, random, subprocess
		data = open('s.fperf', 'rb').read()
		random.seed(11)
		variants = [data[:random.randrange(len(data))] for _ in range(8)]
		for _ in range(12):
		    copy = bytearray(data)
		    copy[random.randrange(len(data))] ^= 1 << random.randrange(8)
		    variants.append(bytes(copy))
		for variant in variants:
		    open('v.fperf', 'wb').write(variant)
		    run = subprocess.run([os.environ['FP'], 'report', 'v.fperf', '--html', 'v.html'], capture_output=True, timeout=20)
		    assert run.returncode in (0, 1, 4), (run.returncode, run.stderr)
		    if run.returncode != 1:
		        assert open('v.html', encoding='utf-8').read().rstrip().endswith('</html>')
	P
}
