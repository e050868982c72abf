#!/usr/bin/env python3
"""expect.py REPORT.json EXPRESSION...: each expression must be true of the report `r`; helpers are below."""
import json
import re
import sys


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        r = json.load(file)
    hot = {h["function"]: h for h in r.get("hot") or []}
    threads = r.get("threads") or []

    def share(name):
        return sum(h["self_share"] for f, h in hot.items() if f == name)

    def total(name):
        return max([h["total_share"] for f, h in hot.items() if f == name], default=0.0)

    def thread(pattern):
        return [t for t in threads if re.search(pattern, t["name"])]

    def source(name):
        return next((s for s in r["sources"] if s["name"] == name), {"state": "missing", "reason": ""})

    names = {"r": r, "hot": hot, "threads": threads, "share": share, "total": total, "thread": thread,
             "source": source, "lost": r["quality"]["lost"], "frames": r.get("frames") or {},
             "slow": r.get("slow_frames") or [], "re": re}
    bad = 0
    for expression in sys.argv[2:]:
        value = eval(expression, dict(names))  # expressions come from the tests themselves
        if not value:
            bad = 1
            print("does not hold:", expression, file=sys.stderr)
    if bad:
        print("hot:", [(h["function"], round(h["self_share"], 3)) for h in (r.get("hot") or [])[:12]], file=sys.stderr)
        print("threads:", [(t["name"], t["cpu_ns"], t["samples"]) for t in threads[:12]], file=sys.stderr)
        print("frames:", r.get("frames"), "sources:", r["sources"], "quality:", r["quality"], file=sys.stderr)
    return bad


sys.exit(main())
