#!/usr/bin/env python3
"""A flight recorder over a long time: memory, entries in BPF maps, and what it costs.

    tests/bench/soak.py --build build [--game minetest] [--seconds 3600] [--every 10] [--limit-kib 2048]

Runs the game under `frameperf record --flight` (as root; tests/games/play), looks at the recorder every few seconds,
asks for a session now and then, and prints a table for docs/benchmarks.md. Exit status 1: memory or maps have grown.
"""
import argparse
import json
import os
import re
import signal
import subprocess
import sys
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def recorder_pid(log):
    """The recorder says its pid when everything runs."""
    try:
        found = re.search(r"frameperf trigger -p (\d+)", open(log, errors="replace").read())
    except FileNotFoundError:
        return None
    return int(found.group(1)) if found else None


def status(pid, key):
    for line in open(f"/proc/{pid}/status"):
        if line.startswith(key + ":"):
            return int(line.split()[1])
    raise KeyError(key)


def cpu_seconds(pid):
    fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def bpftool(*args):
    run = subprocess.run(["bpftool", "-j", *args], capture_output=True, text=True)
    return json.loads(run.stdout) if run.stdout.strip() else []


def own(kind, pid):
    """Ids of the BPF objects that the recorder holds."""
    ids = set()
    for fd in os.listdir(f"/proc/{pid}/fdinfo"):
        try:
            found = re.search(rf"^{kind}_id:\s*(\d+)$", open(f"/proc/{pid}/fdinfo/{fd}").read(), re.M)
        except FileNotFoundError:
            continue
        if found:
            ids.add(found.group(1))
    return sorted(ids)


def map_entries(pid):
    """Entries in the hash maps, by name; arrays cannot grow."""
    entries = {}
    for ident in own("map", pid):
        item = bpftool("map", "show", "id", ident)
        if not item or "hash" not in item["type"]:
            continue
        dump = bpftool("map", "dump", "id", ident)
        entries[item["name"]] = len(dump) if isinstance(dump, list) else 0
    return entries


def bpf_seconds(pid):
    return sum((bpftool("prog", "show", "id", ident) or {}).get("run_time_ns", 0) for ident in own("prog", pid)) / 1e9


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--game", default="minetest")
    parser.add_argument("--seconds", type=int, default=3600)
    parser.add_argument("--every", type=float, default=10)
    parser.add_argument("--limit-kib", type=int, default=2048, help="how much resident memory may grow after a minute")
    parser.add_argument("--out", default="/tmp/frameperf-soak")
    args = parser.parse_args()
    os.makedirs(args.out, exist_ok=True)
    for name in os.listdir(args.out):
        if name.startswith("soak") and (name.endswith(".fperf") or name.endswith(".log")):
            os.unlink(os.path.join(args.out, name))
    log = os.path.join(args.out, "soak.log")
    subprocess.run(["sysctl", "-q", "kernel.bpf_stats_enabled=1"], check=True)
    command = [os.path.join(TOP, "tests/games/play"), args.game, str(args.seconds), "--",
               os.path.join(os.path.abspath(args.build), "frameperf"), "record", "-o",
               os.path.join(args.out, "soak.fperf"), "--flight", "30,2M", "--trigger", "stall>2s", "--trigger",
               "frame>500ms", "--cool-down", "120", "--trigger-limit", "1000", "--"]
    with open(log, "w") as out:
        game = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, start_new_session=True)
    while not recorder_pid(log):
        if game.poll() is not None:
            sys.exit(f"the recorder did not start: see {log}")
        time.sleep(0.2)
    pid, rows, begun, asked = recorder_pid(log), [], time.monotonic(), time.monotonic()
    try:
        while game.poll() is None:
            time.sleep(args.every)
            try:
                rows.append({"at": time.monotonic() - begun, "rss": status(pid, "VmRSS"), "cpu": cpu_seconds(pid),
                             "bpf": bpf_seconds(pid), "maps": map_entries(pid)})
            except (FileNotFoundError, ProcessLookupError, KeyError):
                break
            if time.monotonic() - asked > 300:
                asked = time.monotonic()
                os.kill(pid, signal.SIGUSR2)
    finally:
        subprocess.run(["sysctl", "-q", "kernel.bpf_stats_enabled=0"])
        if game.poll() is None:
            try:
                game.wait(60)
            except subprocess.TimeoutExpired:
                os.killpg(game.pid, signal.SIGTERM)
    rows = rows[:-1] or rows  # the last may be from its end
    settled = [row for row in rows if row["at"] >= min(60, args.seconds / 4)]
    if len(settled) < 4:
        sys.exit("too short to say anything")
    step = max(1, len(rows) // 12)
    print("| after | resident | recorder CPU | BPF programs | entries in hash maps |\n|---|---|---|---|---|")
    for row in rows[::step] + [rows[-1]]:
        print(f"| {row['at']:.0f} s | {row['rss']} KiB | {row['cpu']:.2f} s | {row['bpf']:.2f} s | "
              f"{sum(row['maps'].values())} |")
    first, last = settled[0], settled[-1]
    span, cpus = last["at"] - first["at"], os.cpu_count()
    third = len(settled) // 3
    early, late = (max(row["rss"] for row in part) for part in (settled[:third + 1], settled[-third - 1:]))
    maps_early, maps_late = (max(sum(row["maps"].values()) for row in part)
                             for part in (settled[:third + 1], settled[-third - 1:]))
    print(f"\nrecorder {100 * (last['cpu'] - first['cpu']) / span:.2f} % of a core, BPF programs "
          f"{100 * (last['bpf'] - first['bpf']) / span:.2f} % of a core ({cpus} cores), "
          f"most memory early {early} KiB, late {late} KiB; map entries early {maps_early}, late {maps_late}")
    print("maps:", last["maps"])
    sessions = [name for name in os.listdir(args.out) if name.endswith(".fperf")]
    print(f"{len(sessions)} sessions, largest {max([os.path.getsize(os.path.join(args.out, n)) for n in sessions] or [0])} bytes")
    grown = late > early + args.limit_kib or maps_late > maps_early * 1.2 + 50
    print("GROWN" if grown else "flat")
    sys.exit(grown)


main()
