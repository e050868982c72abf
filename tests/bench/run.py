#!/usr/bin/env python3
"""Measures what frameperf costs and prints Markdown tables, for docs/benchmarks.md.

    tests/bench/run.py [--build DIR] [--games a,b] [--seconds N] [--runs N] [--tool NAME] [PART...]

cost         ns per call of each BPF program (kernel.bpf_stats_enabled), recorder CPU and memory, per game
depth        ns per sample by depth of the stack, in a program that leaves the caches alone and in one that fills them
size         session bytes per minute beside perf record (frame pointers; with sched events) on runs of the same game
replay       whole runs of a game that draws the same frames each time (dsda-doom), with one tool or none
frame-times  frame times with recording switched on and off at random inside one run, beside perf record

Needs root, linux-perf (called with -B -N, because 6.1 can abort over build IDs), bpftool and the games
(tests/games/play --install). Timings on a shared machine are noisy: run it on an idle one and compare only figures of one
call.
"""
import argparse
import glob
import json
import math
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
COMM = {"es2gears": "es2gears_x11"}
SWAP = "/usr/lib/x86_64-linux-gnu/libGLX.so.0"
PIECE_FRAMES, PIECE_S, PLACE_S = 30, 0.25, 2


def sh(*argv, **kw):
    return subprocess.run(argv, capture_output=True, text=True, check=False, **kw)


def play(game, seconds, *wrapper):
    argv = [PLAY, game, str(seconds)] + (["--", *wrapper] if wrapper else [])
    return subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def game_pid(game, runner, wait=10):
    """The game that `runner` started, and not another's."""
    end = time.time() + wait
    while time.time() < end:
        rows = [line.split(None, 2) for line in sh("ps", "-e", "-o", "pid=,ppid=,comm=").stdout.splitlines()]
        parent = {row[0]: row[1] for row in rows}
        for pid, _, comm in rows:
            if comm != COMM.get(game, game):
                continue
            above = pid
            while above in parent and above != str(runner.pid):
                above = parent[above]
            if above == str(runner.pid):
                return int(pid)
        time.sleep(0.1)
    raise SystemExit(f"{game} did not start")


def fdinfo(path):
    try:
        with open(path, encoding="ascii") as file:
            return dict(line.split(":", 1) for line in file.read().splitlines() if ":" in line)
    except OSError:
        return {}


def programs(pid):
    """Run time in ns and count of the BPF programs that a recorder has open, by name."""
    names = {p["id"]: p.get("name", "?") for p in json.loads(sh("bpftool", "-j", "prog", "show").stdout or "[]")}
    found = {}
    for path in glob.glob(f"/proc/{pid}/fdinfo/*"):
        info = fdinfo(path)
        if "run_time_ns" in info:
            found[names.get(int(info["prog_id"]), "?")] = int(info["run_time_ns"]), int(info["run_cnt"])
    return found


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
        pid = game_pid(game, runner)
        time.sleep(2)
        with tempfile.TemporaryDirectory() as tmp:
            path = os.path.join(tmp, "s.fperf")
            rec = subprocess.Popen([args.frameperf, "record", "-q", "-o", path, "-p", str(pid), "-F", str(args.hz)])
            time.sleep(2)
            before, game_before = programs(rec.pid), cpu_seconds(pid)
            self_before, t0 = cpu_seconds(rec.pid), time.time()
            time.sleep(min(args.seconds, 4) if game.startswith("dsda") else args.seconds)
            try:
                game_cpu = cpu_seconds(pid) - game_before
            except OSError:
                game_cpu = float("nan")
            after, wall, self_cpu = programs(rec.pid), time.time() - t0, cpu_seconds(rec.pid) - self_before
            rss = int(re.search(r"VmHWM:\s+(\d+)", open(f"/proc/{rec.pid}/status").read()).group(1))
            rec.send_signal(signal.SIGINT)
            rec.wait()
            runner.terminate()
            runner.wait()
            size = os.path.getsize(path)
        total = 0
        for key, (ns, count) in sorted(after.items()):
            ns -= before.get(key, (0, 0))[0]
            count -= before.get(key, (0, 0))[1]
            total += ns
            if count:
                print(f"| {game} | {key} | {count / wall:.0f} | {ns / count:.0f} |")
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
    fd = os.open(path, os.O_WRONLY | (os.O_APPEND if path.endswith("uprobe_events") else 0))
    os.write(fd, line.encode() + b"\n")
    os.close(fd)


def depth_means(args, depth, kib):
    """Means of ns per sample over short windows: the median of them is not moved by what the host does now and then."""
    target = subprocess.Popen([os.path.join(args.build, "bench/depth"), str(depth), str(kib)])
    with tempfile.TemporaryDirectory() as tmp:
        rec = subprocess.Popen([args.frameperf, "record", "-q", "--overhead", "off", "-o", f"{tmp}/s", "-F", "5000",
                                "-p", str(target.pid)], stderr=subprocess.DEVNULL)
        time.sleep(2)
        names = {p["id"]: p.get("name") for p in json.loads(sh("bpftool", "-j", "prog", "show").stdout or "[]")}
        path = next(p for p in glob.glob(f"/proc/{rec.pid}/fdinfo/*")
                    if names.get(int(fdinfo(p).get("prog_id", -1))) == "fperf_sample")
        last, means, end = fdinfo(path), [], time.monotonic() + 4
        while time.monotonic() < end:
            time.sleep(0.05)
            info = fdinfo(path)
            count = int(info["run_cnt"]) - int(last["run_cnt"])
            if count > 20:
                means.append((int(info["run_time_ns"]) - int(last["run_time_ns"])) / count)
                last = info
        rec.send_signal(signal.SIGINT)
        rec.wait()
    target.kill()
    target.wait()
    return means


def bench_depth(args):
    print("\n| stack frames | caches | ns/sample, median of windows | best fifth |\n|---|---|---|---|")
    subprocess.run(["sysctl", "-q", "kernel.bpf_stats_enabled=1"], check=True)
    for kib in (0, 4096):
        for depth in (2, 17, 57):
            means = sorted(depth_means(args, depth, kib))
            if means:
                print(f"| {depth + 4} | {'filled by the program' if kib else 'warm'} | {statistics.median(means):.0f} | "
                      f"{means[len(means) // 5]:.0f} |")
                sys.stdout.flush()
    subprocess.run(["sysctl", "-q", "kernel.bpf_stats_enabled=0"], check=True)


class Swaps:
    """Presents of games, seen by a uprobe of the kernel's own tracer in a trace buffer of ours: it costs the same whether we
    record or not."""

    TRACING = "/sys/kernel/tracing"

    def __init__(self):
        offset = next(l.split()[0] for l in sh("nm", "-D", SWAP).stdout.splitlines() if l.endswith(" T glXSwapBuffers"))
        if not os.path.exists(f"{self.TRACING}/uprobe_events"):
            subprocess.run(["mount", "-t", "tracefs", "tracefs", self.TRACING], check=True)
        self.event = f"fpbench/swap_{os.getpid()}"
        self.instance = f"{self.TRACING}/instances/fpbench_{os.getpid()}"
        write_event(f"{self.TRACING}/uprobe_events", f"p:{self.event} {SWAP}:0x{offset}")
        os.mkdir(self.instance)
        write_event(f"{self.instance}/trace_clock", "mono")
        write_event(f"{self.instance}/buffer_size_kb", "8192")
        write_event(f"{self.instance}/events/{self.event}/enable", "1")

    def finish(self, tids):
        """Times in s of those by these threads, and the end of it all."""
        write_event(f"{self.instance}/events/{self.event}/enable", "0")
        with open(f"{self.instance}/trace", encoding="utf-8", errors="replace") as file:
            rows = re.findall(r"^.{16}-(\d+)\s+\[\d+\].*?\s(\d+\.\d+): swap_", file.read(), re.M)
        os.rmdir(self.instance)
        write_event(f"{self.TRACING}/uprobe_events", f"-:{self.event}")
        return [float(time_s) for tid, time_s in rows if int(tid) in tids]


def toggle(pid, end, tool, settle_s, rng):
    """Starts and stops the tool at random until `end`. Returns (from, to, on); attaching and writing out are no part of a
    span."""
    spans, on = [], rng.random() < 0.5
    with tempfile.TemporaryDirectory() as tmp:
        while time.monotonic() < end and os.path.exists(f"/proc/{pid}"):
            on = on if rng.random() < 0.2 else not on
            rec = None
            if on:
                rec = subprocess.Popen([w.replace("@OUT@", f"{tmp}/s").replace("@PID@", str(pid)) for w in tool],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                time.sleep(settle_s)
            start = time.monotonic()
            time.sleep(rng.uniform(0.5, 1.1) if settle_s <= 1 else rng.uniform(2, 4))
            spans.append((start, time.monotonic(), on))
            if rec:
                rec.send_signal(signal.SIGINT)
                rec.wait()
                time.sleep(0.1)
    return spans


def pieces(times, spans, replay):
    """Pieces of a run that lie inside one span: (place in the scene, log of the mean frame time, on). The place is the number
    of the frame where every run draws the same frames, else the time."""
    found, first = [], 0
    for last in range(1, len(times)):
        wall = times[last] - times[first]
        if (last - first < PIECE_FRAMES) if replay else (wall < PIECE_S):
            continue
        on = [span[2] for span in spans if span[0] <= times[first] and times[last] <= span[1]]
        if on:
            place = first if replay else int((times[first] - times[0]) / PLACE_S)
            found.append((place, math.log(wall / (last - first)), on[0]))
        first = last
    return found


def cost_of(runs):
    """Share by which frames take longer when on: least squares with a term for each run and one for each place in the
    scene, which is the same in every run of a replay. None when the places cannot be told from the tool."""
    rows = [(number, *piece) for number, run in enumerate(runs) for piece in run]
    y, x = [row[2] for row in rows], [float(row[3]) for row in rows]
    for values in (y, x):
        for _ in range(40):
            for key in (0, 1):
                sums = {}
                for row, value in zip(rows, values):
                    total = sums.setdefault(row[key], [0.0, 0])
                    total[0] += value
                    total[1] += 1
                for i, row in enumerate(rows):
                    values[i] -= sums[row[key]][0] / sums[row[key]][1]
    square = sum(v * v for v in x)
    return 100 * (math.exp(sum(a * b for a, b in zip(x, y)) / square) - 1) if square > 1e-6 else None


def interval(runs):
    """95 % of the costs of samples of the runs, drawn with replacement."""
    rng = random.Random(1)
    costs = [cost_of([rng.choice(runs) for _ in runs]) for _ in range(100)]
    costs = sorted(c for c in costs if c is not None)
    return (costs[len(costs) // 40], costs[-1 - len(costs) // 40]) if costs else (math.nan, math.nan)


def one_run(args, game, tool, rng):
    swaps, times, spans = Swaps(), [], []
    replay = game.startswith("dsda")  # draws the same frames in each run, and ends by itself
    runner = play(game, args.seconds + 10)
    try:
        pid = game_pid(game, runner)
        if not replay:
            time.sleep(3)
        tids = {int(tid) for tid in os.listdir(f"/proc/{pid}/task")}
        spans = toggle(pid, time.monotonic() + args.seconds, tool, args.settle, rng)
        runner.terminate()
        runner.wait()
    finally:
        times = swaps.finish(tids)
    return pieces(times, spans, replay), sum(1 for a, b in zip(spans, spans[1:]) if a[2] != b[2])


def tools_compared(args):
    perf = ["perf", "record", "-q", "-B", "-N", "-e", "cpu-clock", "-F", "999"]
    sched = ["-e", "sched:sched_switch", "-e", "sched:sched_wakeup", "-e", "sched:sched_waking"]
    where = ["-o", "@OUT@", "-p", "@PID@"]
    return {"frameperf, everything on": [args.frameperf, "record", "-q", "-F", str(args.hz), *where],
             "perf record, fp": [*perf, "-g", *where],
             "perf record, fp + sched events, system-wide": [*perf, *sched, "-g", "-a", "-o", "@OUT@"],
             "perf record, dwarf 16 KB": [*perf, "--call-graph", "dwarf,16384", *where]}


def whole_run(game, tool, seconds):
    """(wall ms, CPU ms) of a frame in the last three fifths of a run, recorded by the tool from its start to its end."""
    swaps, tids, cpu = Swaps(), set(), []
    runner = play(game, seconds)
    with tempfile.TemporaryDirectory() as tmp:
        try:
            pid = game_pid(game, runner)
            rec = tool and subprocess.Popen([w.replace("@OUT@", f"{tmp}/s").replace("@PID@", str(pid)) for w in tool],
                                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            while os.path.exists(f"/proc/{pid}"):
                try:
                    tids |= {int(tid) for tid in os.listdir(f"/proc/{pid}/task")}
                    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
                        cpu.append((time.monotonic(), sum(map(int, file.read().rsplit(")", 1)[1].split()[11:13]))))
                except OSError:
                    break
                time.sleep(0.1)
            runner.wait()
            if rec:
                rec.send_signal(signal.SIGINT)
                rec.wait()
        finally:
            times = swaps.finish(tids)
    times = times[len(times) * 2 // 5:]
    inside = [(at, ticks) for at, ticks in cpu if times and times[0] <= at <= times[-1]]
    if len(times) < 100 or len(inside) < 2:
        return None
    wall = (times[-1] - times[0]) / (len(times) - 1)
    busy = (inside[-1][1] - inside[0][1]) / os.sysconf("SC_CLK_TCK") / (inside[-1][0] - inside[0][0])
    return 1e3 * wall, 1e3 * wall * busy


def bench_replay(args):
    tools = {"nothing recorded": None, **{k: v for k, v in tools_compared(args).items() if args.tool in k}}
    rng = random.Random(args.seed)
    for game in args.games:
        got = {name: [] for name in tools}
        for _ in range(args.runs):
            for name in rng.sample(list(tools), len(tools)):
                got[name].append(whole_run(game, tools[name], args.seconds))
        print(f"\n| {game}, median of {args.runs} | wall time of a frame | CPU time of a frame |\n|---|---|---|")
        base = None
        for name, pairs in got.items():
            pairs = [pair for pair in pairs if pair]
            if not pairs:
                print(f"| {name} | too few frames | |")
                continue
            mid = [statistics.median(pair[i] for pair in pairs) for i in (0, 1)]
            base = base or mid
            print(f"| {name} | {mid[0]:.3f} ms ({100 * (mid[0] / base[0] - 1):+.1f} %) | "
                  f"{mid[1]:.3f} ms ({100 * (mid[1] / base[1] - 1):+.1f} %) |")
        sys.stdout.flush()


def bench_frame_times(args):
    tools = tools_compared(args)
    rng = random.Random(args.seed)
    print("\n| game | tool | frame time off | cost when on | 95 % of resampled runs | runs | switches | pieces off, on |")
    print("|---|---|---|---|---|---|---|---|")
    for game in args.games:
        for name, tool in tools.items():
            if args.tool not in name:
                continue
            done = [one_run(args, game, tool, rng) for _ in range(args.runs * (3 if game.startswith("dsda") else 1))]
            runs = [run for run, _ in done if run]
            off = [math.exp(piece[1]) for run in runs for piece in run if not piece[2]]
            on = sum(1 for run in runs for piece in run if piece[2])
            cost = cost_of(runs) if off and on else None
            if cost is None:
                print(f"| {game} | {name} | too few frames |  |  | {len(runs)} |  |  |")
                continue
            low, high = interval(runs)
            print(f"| {game} | {name} | {1e3 * statistics.median(off):.3f} ms | {cost:+.2f} % | {low:+.1f} … {high:+.1f} % | "
                  f"{len(runs)} | {sum(switches for _, switches in done)} | {len(off)}, {on} |")
            sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", default=["cost", "depth", "size", "frame-times"])
    parser.add_argument("--build", default=os.path.join(TOP, "build"))
    parser.add_argument("--games", default="neverball,minetest", type=lambda s: s.split(","))
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--tool", default="", help="frame-times: only tools whose name holds this")
    parser.add_argument("--settle", type=float, default=1.0,
                        help="frame-times: seconds from the start of a tool to that of a span")
    parser.add_argument("--hz", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    args.frameperf = os.path.join(args.build, "frameperf")
    if os.geteuid() != 0:
        sys.exit("needs root")
    for what in args.what:
        {"cost": bench_cost, "depth": bench_depth, "size": bench_size, "replay": bench_replay,
         "frame-times": bench_frame_times}[what](args)


main()
