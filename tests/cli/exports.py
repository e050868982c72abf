"""What the tests of exports share: the report's sums, and a reader of folded stacks that knows nothing of how they
were written."""
import collections
import json
import re


def report(path='report.json'):
    return json.load(open(path, encoding='utf-8'))


def sampled_cpu(r):
    """CPU time that samples stand for: that of the threads that have any."""
    return sum(t['cpu_ns'] for t in r['threads'] if t['samples'])


def folded(path):
    """[(names from the root, number)] by the rule that all readers share: the last word of a line is a number."""
    data = open(path, 'rb').read()
    assert not data or data.endswith(b'\n')
    rows = []
    for line in data.decode('utf-8').splitlines():
        match = re.fullmatch(r'(\S.*) (\d+)', line)
        assert match, repr(line[:200])
        names = match[1].split(';')
        assert all(names), line
        assert not re.search(r'[\x00-\x1f\x7f]', line), repr(line)
        rows.append((names, int(match[2])))
    assert len({tuple(n) for n, _ in rows}) == len(rows), 'a stack twice'
    return rows


def totals(rows):
    """ns by function, each counted once a stack; the first name is the thread."""
    out = collections.Counter()
    for names, ns in rows:
        for name in set(names[1:]):
            out[name] += ns
    return out


def same_totals(got, hot, rename=lambda n: n, slack=0):
    """Every function of the report is there with its total; `slack`: ns a format cannot say."""
    want = collections.Counter()
    for h in hot:
        want[rename(h['function'])] += h['total_ns']
    for name, ns in want.items():
        assert abs(got[name] - ns) <= slack, (name, got[name], ns)
