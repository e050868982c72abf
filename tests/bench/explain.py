#!/usr/bin/env python3
"""How often `report --explain` finds a fault of a known kind, and how often it finds something in clean runs.

Records RUNS runs of the workload of each kind: at real-time priority, so that other work on the machine is not the
reason for slow frames. Prints a table for docs/benchmarks.md. Run as root.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

FAKE_SYSFS = r"""
set -e
fake=$1; shift
root=/sys/devices/system/cpu
mkdir -p "$fake"
for f in online present possible; do cat $root/$f >"$fake/$f" 2>/dev/null || :; done
for c in $(cd $root && echo cpu[0-9]*); do
    mkdir -p "$fake/$c/cpufreq"
    cd "$fake/$c/cpufreq"
    echo 300000 | tee cpuinfo_min_freq scaling_min_freq >/dev/null
    echo 1800000 | tee cpuinfo_max_freq scaling_max_freq scaling_cur_freq >/dev/null
    echo fake >scaling_driver
    echo schedutil >scaling_governor
    echo "${c#cpu}" | tee affected_cpus related_cpus >/dev/null
    cd /
done
mount --bind "$fake" $root
exec "$@"
"""


def is_periodic(f, args):
    return f["kind"] == "period" and abs(f["period_ns"] / 1e9 / args.period - 1) < 0.05


KINDS = {
    "clean": ([], lambda f, args: True),
    "periodic": (["--stutter", "{period}"], is_periodic),
    "one CPU": (["--slow-cpu", "1"], lambda f, args: f["kind"] == "cpu" and f["cpu"] == 1),
    "frequency": (["--clock", "{clock}"], lambda f, args: f["kind"] == "frequency"),
    "co-running task": ([], lambda f, args: f["kind"] == "task" and f["name"] == "hog"),
}


def record(args, kind, scratch, number):
    build, clock = args.build, os.path.join(scratch, "clock")
    with open(clock, "wb") as f:
        f.write((100).to_bytes(4, sys.byteorder))
    session = os.path.join(args.keep or scratch, f"{kind.replace(' ', '_')}-{number}.fperf")
    game = os.path.join(build, "workloads", "game-nofp")
    options = [o.format(period=args.period, clock=clock) for o in KINDS[kind][0]]
    command = [os.path.join(build, "frameperf"), "record", "-q", "-o", session, "--as-root", "--frame", game + ":game_present", "--",
               "chrt", "-f", "5", game, "--seconds", str(args.seconds), "--no-faults", "--rate", "60", "--speed", "1500", "--seed", str(number),
               "--truth", os.path.join(scratch, "truth"), *options]
    beside = None
    if kind == "frequency":
        fake = os.path.join(scratch, f"cpu-{number}")
        command = ["unshare", "-m", "sh", "-c", FAKE_SYSFS, "sh", fake, *command]
        beside = [os.path.join(build, "live", "step_freq"), clock, str(args.seconds + 1)]
    if kind == "co-running task":
        beside = ["chrt", "-f", "20", os.path.join(build, "workloads", "hog"), str(args.seconds + 1)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as run:
        other = subprocess.Popen(beside) if beside else None
        error = run.communicate(timeout=args.seconds * 3 + 30)[1]
        if other:
            other.terminate()
            other.wait()
    if run.returncode:
        raise SystemExit(f"explain: {kind}: recording failed: {error.decode()}")
    return session


def explain(args, session):
    out = subprocess.run([os.path.join(args.build, "frameperf"), "report", "--explain", "--json", session], check=True, capture_output=True)
    return json.loads(out.stdout)["explain"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", required=True)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--seconds", type=int, default=15)
    parser.add_argument("--period", type=float, default=1.5)
    parser.add_argument("--kinds", nargs="*", default=list(KINDS))
    parser.add_argument("--keep", help="keep the sessions in this folder")
    args = parser.parse_args()
    scratch = tempfile.mkdtemp(prefix="frameperf-explain-")
    if args.keep:
        os.makedirs(args.keep, exist_ok=True)
    print("| runs of the workload | runs | found | ranked first | anything found | slow frames a run |")
    print("|---|--:|--:|--:|--:|--:|")
    for kind in args.kinds:
        found = first = anything = slow = 0
        wanted = KINDS[kind][1]
        for number in range(args.runs):
            explanation = explain(args, record(args, kind, scratch, number))
            findings = explanation["findings"]
            slow += explanation["slow"]
            anything += bool(findings)
            found += any(wanted(f, args) for f in findings)
            first += bool(findings) and wanted(findings[0], args)
            print(f"# {kind} {number}: {explanation['slow']} slow; " + "; ".join(f["text"] for f in findings), file=sys.stderr)
        shown = ("–", "–") if kind == "clean" else (found, first)
        print(f"| {kind} | {args.runs} | {shown[0]} | {shown[1]} | {anything} | {slow / args.runs:.0f} |", flush=True)
    shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    main()
