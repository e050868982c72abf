#!/usr/bin/env python3
"""compare_perf.py REPORT.json PERF-SCRIPT.txt COMM: the functions above 3 % of self time agree by rank.

Unnamed code is compared by module, since the two tools spell unknown addresses differently."""
import collections
import json
import os
import re
import sys

report = json.load(open(sys.argv[1], encoding="utf-8"))
comm = sys.argv[3]
perf = collections.Counter()
for line in open(sys.argv[2], encoding="utf-8", errors="replace"):
    match = re.match(r"\s*(.+?)\s+([0-9a-f]+)\s+(.*?)\s+\((.*)\)\s*$", line)
    if not match:
        continue
    symbol, dso = match.group(3).split("+0x")[0], os.path.basename(match.group(4))
    if "kernel" in dso or match.group(4).startswith("["):
        dso = "[kernel]" if "kernel" in dso else dso
    perf[(symbol if symbol != "[unknown]" else "?", dso)] += 1
total = sum(perf.values())
if total < 1000:
    sys.exit(f"perf has only {total} samples")
ours = collections.Counter()
for hot in report["hot"]:
    name = hot["function"]
    ours[("?" if "+0x" in name else name, hot["module"])] += hot["self_share"]


def known(table, scale):
    return {key: value / scale for key, value in table.items() if key[0] != "?" and "kernel" not in key[1]}


ours, theirs = known(ours, 1.0), known(perf, total)
top = [key for key, share in sorted(theirs.items(), key=lambda kv: -kv[1]) if share > 0.03][:10]
print("# functions above 3 %:", len(top))
bad = False
for key in top:
    print(f"# {key[0]:40.40} {key[1]:24.24} perf {theirs[key]:6.1%} frameperf {ours.get(key, 0):6.1%}")
    if abs(ours.get(key, 0) - theirs[key]) > max(0.02, 0.25 * theirs[key]):
        bad = True
for higher, lower in zip(top, top[1:]):  # rank: only where perf sees a clear difference
    if theirs[higher] - theirs[lower] > 0.015 and ours.get(higher, 0) < ours.get(lower, 0):
        print("rank differs:", higher, lower, file=sys.stderr)
        bad = True
sys.exit(1 if bad or not top else 0)
