#!/usr/bin/env python3
"""Measures what frameperf costs and prints Markdown tables, for docs/benchmarks.md.

    tests/bench/run.py [--build DIR] [--games a,b] [--seconds N] [--runs N] [--tool NAME] [cost] [size] [onoff]

cost   ns per call of each BPF program (kernel.bpf_stats_enabled), recorder CPU and memory, per game
size   session bytes per minute beside perf record (frame pointers; with sched events) on runs of the same game
onoff  frame times with recording switched on and off at random inside one run

Needs root, linux-perf (called with -B -N, because 6.1 can abort over build IDs), bpftool and the games (tests/games/play --install). Timings on a shared machine are noisy: run it
on an idle one and compare only figures of one call.
"""
import argparse
import json
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PLAY = os.path.join(TOP, "tests/games/play")
COMM = {"dsda-doom": "dsda-doom", "neverball": "neverball", "minetest": "minetest", "vkcube": "vkcube",
        "glmark2": "glmark2", "glxgears": "glxgears"}
SWAP = "/usr/lib/x86_64-linux-gnu/libGLX.so.0"


def sh(*argv, **kw):
    return subprocess.run(argv, capture_output=True, text=True, check=False, **kw)


def play(game, seconds, *wrapper):
    argv = [PLAY, game, str(seconds)] + (["--", *wrapper] if wrapper else [])
    return subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def game_pid(game, wait=10):
    end = time.time() + wait
    while time.time() < end:
        out = sh("pgrep", "-n", "-x", COMM[game]).stdout.split()
        if out:
            return int(out[0])
        time.sleep(0.1)
    raise SystemExit(f"{game} did not start")


def programs():
    progs = json.loads(sh("bpftool", "-j", "prog", "show").stdout or "[]")
    return {(p["id"], p.get("name", "?")): (p.get("run_time_ns", 0), p.get("run_cnt", 0)) for p in progs
            if p.get("name", "").startswith("fperf")}


def cpu_seconds(pid):
    """User + system time of a process and of its threads that have ended."""
    fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def bench_cost(args):
    print("\n| game | program | calls/s | ns/call |\n|---|---|---|---|")
    rows = []
    subprocess.run(["sysctl", "-q", "kernel.bpf_stats_enabled=1"], check=True)
    for game in args.games:
        runner = play(game, args.seconds + 8)
        pid = game_pid(game)
        time.sleep(2)
        with tempfile.TemporaryDirectory() as tmp:
            path = os.path.join(tmp, "s.fperf")
            rec = subprocess.Popen([args.frameperf, "record", "-q", "-o", path, "-p", str(pid), "-F", str(args.hz)])
            time.sleep(2)
            before, game_before = programs(), cpu_seconds(pid)
            self_before, t0 = cpu_seconds(rec.pid), time.time()
            time.sleep(min(args.seconds, 4) if game.startswith("dsda") else args.seconds)
            try:
                game_cpu = cpu_seconds(pid) - game_before
            except OSError:
                game_cpu = float("nan")
            after, wall, self_cpu = programs(), time.time() - t0, cpu_seconds(rec.pid) - self_before
            rss = int(re.search(r"VmHWM:\s+(\d+)", open(f"/proc/{rec.pid}/status").read()).group(1))
            rec.send_signal(signal.SIGINT)
            rec.wait()
            runner.terminate()
            runner.wait()
            size = os.path.getsize(path)
        total = 0
        for key, (ns, count) in sorted(after.items(), key=lambda kv: kv[0][1]):
            ns -= before.get(key, (0, 0))[0]
            count -= before.get(key, (0, 0))[1]
            total += ns
            if count:
                print(f"| {game} | {key[1]} | {count / wall:.0f} | {ns / count:.0f} |")
        rows.append((game, 100 * total / 1e9 / game_cpu, 100 * self_cpu / wall, 100 * (total / 1e9 + self_cpu) / game_cpu,
                     rss / 1024, size / wall * 60 / 1e6))
    subprocess.run(["sysctl", "-q", "kernel.bpf_stats_enabled=0"], check=True)
    print("\n| game | BPF time / game CPU | recorder, of a core | all / game CPU | recorder RSS | file per minute |")
    print("|---|---|---|---|---|---|")
    for game, bpf, rec, both, rss, size in rows:
        print(f"| {game} | {bpf:.2f} % | {rec:.2f} % | {both:.2f} % | {rss:.1f} MiB | {size:.2f} MB |")


def bench_size(args):
    print("\n| game | tool | file | bytes/s | frames |\n|---|---|---|---|---|")
    for game in args.games:
        with tempfile.TemporaryDirectory() as tmp:
            for name, argv in (
                ("frameperf, everything on", [args.frameperf, "record", "-q", "-o", f"{tmp}/s", "--"]),
                ("perf, fp", ["perf", "record", "-q", "-B", "-N", "-e", "cpu-clock", "-F", "999", "-g", "-o", f"{tmp}/s", "--"]),
                ("perf, fp, -z", ["perf", "record", "-q", "-B", "-N", "-z", "-e", "cpu-clock", "-F", "999", "-g", "-o", f"{tmp}/s", "--"]),
                ("perf, fp + sched events, system-wide",
                 ["perf", "record", "-q", "-B", "-N", "-a", "-e", "cpu-clock", "-e", "sched:sched_switch", "-e", "sched:sched_waking",
                  "-F", "999", "-g", "-o", f"{tmp}/s", "--"]),
                ("perf, dwarf 16 KB", ["perf", "record", "-q", "-B", "-N", "-e", "cpu-clock", "-F", "999", "--call-graph", "dwarf,16384",
                                       "-o", f"{tmp}/s", "--"]),
            ):
                t0 = time.time()
                play(game, args.seconds, *argv).wait()
                wall = time.time() - t0
                size = os.path.getsize(f"{tmp}/s") if os.path.exists(f"{tmp}/s") else 0
                frames = ""
                if name.startswith("frameperf"):
                    report = json.loads(sh(args.frameperf, "report", f"{tmp}/s", "--json").stdout)
                    frames = str(report["frames"]["count"])
                print(f"| {game} | {name} | {size / 1e6:.2f} MB | {size / wall / 1e3:.1f} kB/s | {frames} |")
                for leftover in os.listdir(tmp):
                    os.unlink(os.path.join(tmp, leftover))


def write_event(path, line):
    fd = os.open(path, os.O_WRONLY | os.O_APPEND)  # tracefs does not seek, as open() of Python would
    os.write(fd, line.encode() + b"\n")
    os.close(fd)


def swap_times(tmp, pid, seconds):
    """Presents of the game, seen by a uprobe of the kernel's own tracer: the same cost whether we record or not."""
    events = "/sys/kernel/tracing/uprobe_events"
    offset = next(l.split()[0] for l in sh("nm", "-D", SWAP).stdout.splitlines() if l.endswith(" T glXSwapBuffers"))
    write_event(events, f"p:fpbench/swap {SWAP}:0x{offset}")
    try:
        data = os.path.join(tmp, "perf.data")
        subprocess.run(["perf", "record", "-q", "-B", "-N", "-k", "CLOCK_MONOTONIC", "-e", "fpbench:swap", "-p", str(pid), "-o", data,
                        "--", "sleep", str(seconds)], check=False, stderr=subprocess.DEVNULL)
        out = sh("perf", "script", "-i", data, "--ns", "-F", "time").stdout
        return [float(x.rstrip(": \n")) for x in out.splitlines() if x.strip()]
    finally:
        write_event(events, "-:fpbench/swap")


def toggle(args, pid, seconds, tool, rng, spans):
    """Starts and stops the tool at random; spans gets (from, to, on)."""
    end = time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as tmp:
        while time.monotonic() < end:
            on = rng.random() < 0.5
            length = rng.uniform(0.6, 1.2)
            rec = None
            if on:
                rec = subprocess.Popen([w.replace("@OUT@", f"{tmp}/s").replace("@PID@", str(pid)) for w in tool],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                time.sleep(0.6)  # attaching is not what is measured
            start = time.monotonic()
            time.sleep(length)
            spans.append((start, time.monotonic(), on))
            if rec:
                rec.send_signal(signal.SIGINT)
                rec.wait()
                time.sleep(0.2)


def bench_onoff(args):
    tools = {"frameperf, everything on": [args.frameperf, "record", "-q", "-o", "@OUT@", "-p", "@PID@", "-F", str(args.hz)],
             "perf record, fp": ["perf", "record", "-q", "-B", "-N", "-e", "cpu-clock", "-F", "999", "-g", "-o", "@OUT@", "-p", "@PID@"],
             "perf record, dwarf 16 KB": ["perf", "record", "-q", "-B", "-N", "-e", "cpu-clock", "-F", "999", "--call-graph",
                                          "dwarf,16384", "-o", "@OUT@", "-p", "@PID@"]}
    rng = random.Random(args.seed)
    print("\n| game | tool | frame time off | on | cost, median of runs | runs | switches |\n|---|---|---|---|---|---|---|")
    for game in args.games:
        for name, tool in tools.items():
            if args.tool not in name:
                continue
            costs, offs, ons, switches = [], [], [], 0
            for _ in range(args.runs):
                runner = play(game, args.seconds + 12)
                pid = game_pid(game)
                time.sleep(3)
                spans = []
                with tempfile.TemporaryDirectory() as tmp:
                    child = os.fork()
                    if child == 0:
                        times = swap_times(tmp, pid, args.seconds)
                        with open(f"{tmp}/times", "w", encoding="ascii") as file:
                            json.dump(times, file)
                        os._exit(0)
                    time.sleep(0.5)
                    toggle(args, pid, args.seconds - 1.5, tool, rng, spans)
                    os.waitpid(child, 0)
                    times = json.load(open(f"{tmp}/times", encoding="ascii"))
                runner.terminate()
                runner.wait()
                means = {True: [], False: []}
                for start, end, on in spans:
                    inside = [t for t in times if start <= t <= end]
                    if len(inside) > 20:
                        means[on].append((inside[-1] - inside[0]) / (len(inside) - 1))
                switches += sum(1 for a, b in zip(spans, spans[1:]) if a[2] != b[2])
                if means[True] and means[False]:
                    off, on = statistics.median(means[False]), statistics.median(means[True])
                    costs.append(100 * (on / off - 1))
                    offs.append(off)
                    ons.append(on)
            if costs:
                print(f"| {game} | {name} | {1e3 * statistics.median(offs):.3f} ms | {1e3 * statistics.median(ons):.3f} ms | "
                      f"{statistics.median(costs):+.2f} % ({min(costs):+.1f} … {max(costs):+.1f}) | {len(costs)} | {switches} |")
                sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", default=["cost", "size", "onoff"])
    parser.add_argument("--build", default=os.path.join(TOP, "build"))
    parser.add_argument("--games", default="neverball,minetest", type=lambda s: s.split(","))
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--tool", default="", help="onoff: only tools whose name holds this")
    parser.add_argument("--hz", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    args.frameperf = os.path.join(args.build, "frameperf")
    if os.geteuid() != 0:
        sys.exit("needs root")
    for what in args.what:
        {"cost": bench_cost, "size": bench_size, "onoff": bench_onoff}[what](args)


main()
