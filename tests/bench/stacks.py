#!/usr/bin/env python3
"""Whole stacks beside perf: one run of each game, recorded at the same time by frameperf and by perf record with frame
pointers and with stack dumps of 16 and 64 KiB. Prints a Markdown table for docs/benchmarks.md: for each game and thread
the share of stacks that reach the thread's start, of all stacks and of those whose innermost stack frame is ELF code.

    tests/bench/stacks.py [--build DIR] [--games a,b] [--seconds N] [--warm N] [--attach N]

One judge for all: the outermost stack frame lies in a function of libc whose unwind information says that it has no
caller (clone, clone3), or at the program's entry point. perf unwinds its dumps itself (perf script, without names: perf
6.1 can abort when it names code). Needs root, linux-perf, binutils and the games (tests/games/play --install).
"""
import argparse
import collections
import os
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "tests/golden"))
import read_session  # noqa: E402  pylint: disable=wrong-import-position

PERF = {"perf dwarf 64 KiB": "dwarf,65528", "perf dwarf 16 KiB": "dwarf,16384", "perf fp": "fp"}
OURS = "frameperf"
COMM = {"es2gears": "es2gears_x11"}
SHORT = {"dsda-doom": (1.2, 1.5)}  # attach and warm of games that end by themselves after some seconds
ENTRY_BYTES = 64  # of start code, behind the entry point
COMPLETE = 1


class Starts:
    """Where threads start in a file: ranges of file offsets."""

    def __init__(self):
        self.files = {}

    def has(self, path, offset):
        if path not in self.files:
            self.files[path] = self.read(path)
        return any(low <= offset < high for low, high in self.files[path])

    def read(self, path):
        try:
            with open(path, "rb") as file:
                data = file.read()
        except OSError:
            return []
        if data[:5] != b"\x7fELF\x02":
            return []
        entry, phoff = struct.unpack_from("<QQ", data, 24)
        size, count = struct.unpack_from("<HH", data, 54)
        headers = [struct.unpack_from("<IIQQQQ", data, phoff + i * size) for i in range(count)]
        loads = [(vaddr, vaddr + filesz, offset) for kind, _, offset, vaddr, _, filesz in headers if kind == 1]
        ranges = [(entry, entry + ENTRY_BYTES)] if any(header[0] == 3 for header in headers) else []
        if re.match(r"(libc[.-]|ld-)", os.path.basename(path)):
            ranges += self.without_caller(path)
        return [(low - vaddr + offset, high - vaddr + offset) for low, high in ranges
                for vaddr, end, offset in loads if vaddr <= low < end]

    @staticmethod
    def without_caller(path):
        """Functions whose return address is undefined: 'u' in the last column of the table that readelf prints."""
        ranges, current = [], None
        out = subprocess.run(["readelf", "-wF", path], capture_output=True, text=True, check=False).stdout
        for line in out.splitlines():
            found = re.search(r" FDE .*pc=([0-9a-f]+)\.\.([0-9a-f]+)", line)
            if found:
                current = tuple(int(word, 16) for word in found.groups())
            elif current and re.match(r"[0-9a-f]{16} .* u *$", line) and current not in ranges:
                ranges.append(current)
        return ranges


class Stack:
    """One user stack: its leaf, and its outermost stack frame as (path, file offset)."""

    def __init__(self, time_s, thread, frames):
        self.time_s, self.thread = time_s, thread
        self.leaf_is_elf = bool(frames) and self.is_elf(frames[0][0])
        self.outermost = frames[-1] if frames else ("", 0)
        self.depth = len(frames)
        self.outcome = None  # as frameperf sees it

    @staticmethod
    def is_elf(path):
        return path == "[vdso]" or path[:1] == "/" and not re.match(r"/tmp/perf-\d+\.map|/memfd:|/dev/", path)


def perf_stacks(path):
    done = subprocess.run(["perf", "script", "-i", path, "-F", "comm,tid,time,ip,dso"], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"perf script fails: {done.stderr.strip()[-500:]}")
    head, frames = None, []
    for line in done.stdout.splitlines() + [""]:
        frame = re.match(r"\s+([0-9a-f]+) \((.*)\)$", line)
        start = re.match(r"\s*(\S.*?)\s+(\d+)\s+(\d+\.\d+):", line)
        if frame:
            if not frame.group(2).startswith("[kernel") and not (frame.group(2) == "[unknown]" and frame.group(1).startswith("f" * 8)):
                frames.append((frame.group(2), int(frame.group(1), 16)))
        elif start:
            head, frames = (float(start.group(3)), start.group(1)), []
        elif not line and head:
            yield Stack(*head, frames)
            head = None


def our_stacks(path):
    session = read_session.Session(path)
    types = {name: number for number, (name, _) in session.types.items()}

    def rows(name):
        columns = session.types[types[name]][1]
        names = [columns[column][0] for column in sorted(columns)]
        return [dict(zip(names, row)) for row in session.records[types[name]]]

    strings = {row["id"]: row.get("bytes", row.get("text", b"")).decode(errors="replace") for row in rows("string")}
    modules = {row["id"]: (strings.get(row["path"], "") if row["kind"] in (0, 2) else "") for row in rows("module")}
    threads = {row["id"]: strings.get(row["name"], "") for row in rows("thread")}
    for row in rows("thread_name") if "thread_name" in types else []:
        threads[row["thread"]] = strings.get(row["name"], "")
    stacks = {row["id"]: row for row in rows("stack")}
    for row in rows("sample"):
        stack = stacks[row["stack"]]
        frames = [(modules.get(module, ""), offset) for module, _, kernel, offset in stack["frames"] if not kernel]
        found = Stack(row["time_ns"] / 1e9, threads.get(row["thread"], ""), frames)
        found.outcome = stack["outcome"]
        yield found


def descendant(root, name):
    """The process of this name below `root`: others may play the same game."""
    parents, names = {}, {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
                text = file.read()
        except OSError:
            continue
        names[int(pid)] = text[text.index("(") + 1:text.rindex(")")]
        parents[int(pid)] = int(text.rsplit(")", 1)[1].split()[1])
    for pid, found in names.items():
        above = pid
        while above in parents and above != root:
            above = parents[above]
        if found == name and above == root:
            return pid
    return None


def record(args, game, folder):
    """Records one run with all tools at once; returns the time in which all of them recorded."""
    attach, warm = SHORT.get(game, (args.attach, args.warm))
    runner = subprocess.Popen([os.path.join(TOP, "tests/games/play"), game, str(int(attach + warm + args.seconds) + 12)],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    pid = None
    until = time.monotonic() + 15
    while not pid:
        pid = descendant(runner.pid, COMM.get(game, game))
        if time.monotonic() > until:
            sys.exit(f"{game} did not start")
        time.sleep(0.05)
    time.sleep(attach)
    tools = [subprocess.Popen([os.path.join(args.build, "frameperf"), "record", "-q", "-F", str(args.hz), "-o", f"{folder}/s.fperf", "-p", str(pid)])]
    for i, graph in enumerate(PERF.values()):
        tools.append(subprocess.Popen(["perf", "record", "-q", "-B", "-N", "-k", "CLOCK_MONOTONIC", "-e", "cpu-clock", "-F", str(args.perf_hz),
                                       "--call-graph", graph, "-p", str(pid), "-o", f"{folder}/perf{i}"], stderr=subprocess.DEVNULL))
    time.sleep(warm)
    start = time.monotonic()
    while time.monotonic() < start + args.seconds and os.path.exists(f"/proc/{pid}"):
        time.sleep(0.1)
    end = time.monotonic()
    for tool in tools:
        tool.send_signal(signal.SIGINT)
    for tool in tools:
        tool.wait()
    if os.path.exists(f"/proc/{pid}"):
        os.kill(pid, signal.SIGKILL)
    runner.wait()
    return start, end


def share(part, whole):
    return f"{100 * part / whole:.1f}" if whole else "–"


def cell(stacks, starts):
    whole = [starts.has(*stack.outermost) for stack in stacks]
    elf = [reached for reached, stack in zip(whole, stacks) if stack.leaf_is_elf]
    return f"{share(sum(whole), len(whole))} / {share(sum(elf), len(elf))} ({len(stacks)})"


def compare(args, game, starts):
    with tempfile.TemporaryDirectory() as folder:
        start, end = record(args, game, folder)
        stacks = {OURS: list(our_stacks(f"{folder}/s.fperf"))}
        for i, name in enumerate(PERF):
            stacks[name] = list(perf_stacks(f"{folder}/perf{i}"))
    for name, found in stacks.items():
        stacks[name] = [stack for stack in found if start <= stack.time_s < end]
        if not stacks[name]:
            sys.exit(f"{game}: no samples of {name}")
    by_thread = collections.Counter(stack.thread for stack in stacks[OURS])
    total = sum(by_thread.values())
    for thread in [None] + [name for name, count in by_thread.most_common() if count >= 0.03 * total]:
        row = [cell([stack for stack in found if thread in (None, stack.thread)], starts) for found in stacks.values()]
        print(f"| {game} | {thread or 'all threads'} | " + " | ".join(row) + " |", flush=True)
    note(game, stacks[OURS], starts)


def note(game, stacks, starts):
    """What frameperf itself says of its stacks (outcomes: docs/session-format.md), and whether that is so."""
    outcomes = collections.Counter(stack.outcome for stack in stacks)
    false = collections.Counter(stack.outermost[0] for stack in stacks if stack.outcome == COMPLETE and not starts.has(*stack.outermost))
    depths = sorted(stack.depth for stack in stacks)
    print(f"{game}: outcomes {dict(outcomes.most_common())}; called complete without ending at a thread's start: {dict(false) or 0}; depth "
          f"{depths[len(depths) // 10]}/{depths[len(depths) // 2]}/{depths[len(depths) * 9 // 10]} (p10/p50/p90)", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(TOP, "build"))
    parser.add_argument("--games", default="dsda-doom,neverball,minetest,vkcube", type=lambda text: text.split(","))
    parser.add_argument("--seconds", type=float, default=6, help="that are looked at")
    parser.add_argument("--warm", type=float, default=3, help="seconds before, for all tools to be attached and tables built")
    parser.add_argument("--attach", type=float, default=2, help="seconds after the game's start, when its threads are there")
    parser.add_argument("--hz", type=int, default=997)
    parser.add_argument("--perf-hz", type=int, default=199, help="of each perf: three run at once, and dumps are large")
    args = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("needs root")
    starts = Starts()
    print("| game | thread | " + " | ".join([OURS, *PERF]) + " |\n|" + "---|" * (3 + len(PERF)))
    for game in args.games:
        compare(args, game, starts)


main()
