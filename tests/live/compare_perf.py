#!/usr/bin/env python3
"""compare_perf.py REPORT.json PERF.DATA COMM: functions above 3 % of self time agree with perf by rank and share.

Reads perf.data itself, because perf 6.1 can abort over build IDs when it names code. A function is a module and the start
of the unwind entry (FDE) that covers the address, or the dynamic symbol at that start; so both tools name stripped code
alike. Samples of perf itself and of the kernel are left out on both sides."""
import bisect
import collections
import json
import os
import struct
import subprocess
import sys

IP, TID, TIME, ADDR, ID, STREAM, CPU, PERIOD, IDENTIFIER = 1, 2, 4, 8, 64, 512, 128, 256, 1 << 16


class Module:
    """Text segments and function starts of an ELF file."""

    def __init__(self, path):
        data = open(path, "rb").read()
        self.loads, hdr = [], None
        phoff, = struct.unpack_from("<Q", data, 32)
        entry_size, count = struct.unpack_from("<HH", data, 54)
        for i in range(count):
            kind, _, offset, vaddr, _, filesz, _, _ = struct.unpack_from("<IIQQQQQQ", data, phoff + i * entry_size)
            if kind == 1:
                self.loads.append((offset, filesz, vaddr))
            elif kind == 0x6474E550:
                hdr = (offset, vaddr)
        self.starts = []
        if hdr and data[hdr[0]:hdr[0] + 4] == b"\x01\x1b\x03\x3b":  # version 1, the encodings that linkers write
            n, = struct.unpack_from("<I", data, hdr[0] + 8)
            self.starts = [hdr[1] + struct.unpack_from("<i", data, hdr[0] + 12 + 8 * i)[0] for i in range(n)]
        self.names = {}
        for line in subprocess.run(["nm", "-D", "--defined-only", path], capture_output=True, text=True, check=False).stdout.splitlines():
            fields = line.split()
            if len(fields) == 3 and fields[1] in "tTwWi":
                self.names.setdefault(int(fields[0], 16), set()).add(fields[2].split("@")[0])

    def function(self, file_offset):
        for offset, size, vaddr in self.loads:
            if offset <= file_offset < offset + size:
                address = file_offset - offset + vaddr
                i = bisect.bisect_right(self.starts, address)
                return self.starts[i - 1] if i else address
        return None


def perf_functions(path, comm):
    """Counter of (module name, start or None), and a function that names them."""
    data = open(path, "rb").read()
    assert data[:8] == b"PERFILE2", "no perf.data"
    _, _, attrs, _, start, size = struct.unpack_from("<QQQQQQ", data, 8)
    sample_type, = struct.unpack_from("<Q", data, attrs + 24)
    maps, comms, modules, counts = collections.defaultdict(list), {}, {}, collections.Counter()
    at = start
    samples = []
    while at + 8 <= start + size:
        kind, _, length = struct.unpack_from("<IHH", data, at)
        if length < 8:
            break
        body = at + 8
        if kind == 10:
            pid, _, addr, size_, pgoff = struct.unpack_from("<IIQQQ", data, body)
            name = data[body + 64:at + length].split(b"\0")[0].decode(errors="replace")
            maps[pid].append((addr, addr + size_, pgoff, name))
        elif kind == 3:
            pid, tid = struct.unpack_from("<II", data, body)
            if pid == tid:
                comms[pid] = data[body + 8:at + length].split(b"\0")[0].decode(errors="replace")
        elif kind == 9:
            pos = body + (8 if sample_type & IDENTIFIER else 0)
            ip, pid = struct.unpack_from("<QI", data, pos)
            samples.append((pid, ip))
        at += length
    assert sample_type & (IP | TID) == IP | TID
    for pid, ip in samples:
        if comms.get(pid) != comm or ip >> 63:
            continue
        for low, high, pgoff, name in reversed(maps[pid]):
            if low <= ip < high:
                if name.startswith("/") and os.path.exists(name):
                    if name not in modules:
                        modules[name] = Module(name)
                    counts[(os.path.basename(name), modules[name].function(ip - low + pgoff))] += 1
                else:
                    counts[("[jit]", None)] += 1
                break
    named = {}
    for path_, module in modules.items():
        for address, names in module.names.items():
            named[(os.path.basename(path_), address)] = names
    return counts, named


def main():
    report = json.load(open(sys.argv[1], encoding="utf-8"))
    counts, named = perf_functions(sys.argv[2], sys.argv[3])
    total = sum(counts.values())
    if total < 500:
        sys.exit(f"perf has only {total} samples")
    by_name = {(module, name): (module, address) for (module, address), names in named.items() for name in names}
    ours = collections.Counter()
    for hot in report["hot"]:
        module, name = hot["module"], hot["function"]
        if module == "[kernel]":
            continue
        key = (module, None) if module == "[jit]" else by_name.get((module, name))
        if key is None and "+0x" in name:
            key = (module, int(name.rsplit("+0x", 1)[1], 16))
        ours[key or (module, name)] += hot["self_ns"]
    whole = sum(ours.values())
    top = [key for key, count in counts.most_common(10) if count / total > 0.03]
    bad = not top
    print(f"# {total} samples of perf, {len(top)} functions above 3 %")
    share = {key: (counts[key] / total, ours[key] / whole) for key in top}
    for key in top:
        theirs, mine = share[key]
        label = "/".join(sorted(named.get(key, {f"{key[1]:#x}" if key[1] is not None else ""})))
        print(f"# {label:34.34} {key[0]:22.22} perf {theirs:6.1%} frameperf {mine:6.1%}")
        if abs(mine - theirs) > max(0.015, 0.2 * theirs):
            print("share differs:", key, file=sys.stderr)
            bad = True
    for higher, lower in zip(top, top[1:]):  # rank, where the difference is more than chance
        if share[higher][0] - share[lower][0] > 0.01 and share[higher][1] < share[lower][1]:
            print("rank differs:", higher, lower, file=sys.stderr)
            bad = True
    return bad


sys.exit(main())
