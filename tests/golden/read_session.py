#!/usr/bin/env python3
"""A second reader of session files, written from docs/session-format.md and from nothing else; it even takes the
tables of record types from there.

  read_session.py FILE...            what each file holds, as one JSON object a line
  read_session.py --digest FILE      one line for each record type: name, number of records, checksum of their values
  read_session.py --dump TYPE FILE   the records of one type

Exit status: 0 whole, 4 damaged (what is readable is shown), 1 no session.
"""
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import zlib

SPECIFICATION = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/session-format.md")
FILE_MAGIC = bytes.fromhex("89465046 0d0a1a0a".replace(" ", ""))
CHUNK_MAGIC = bytes.fromhex("85464331")
FILE_HEADER, CHUNK_HEADER = 64, 56
MAX_BYTES, MAX_RECORDS, MAX_FRAMES = 16 << 20, 1 << 20, 1024
MASK = (1 << 64) - 1


class Damaged(Exception):
    """The bytes are not what the specification says."""


class Unknown(Exception):
    """Something that a newer version has added."""


def read_specification(path=SPECIFICATION):
    """{type number: (name, {column id: (name, type, default)})}"""
    types = {0: ("end", {1: ("type", "u32", 0), 2: ("count", "u64", 0)})}
    columns = None
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            heading = re.match(r"### (\d+) (\w+)$", line)
            row = re.match(r"\| (\d+) \| (\w+) \| ([ui]\d+|bytes|frames) \| (\S*) \|", line)
            if heading:
                columns = {}
                types[int(heading.group(1))] = (heading.group(2), columns)
            elif line.startswith("#"):
                columns = None
            elif row and columns is not None:
                default = int(row.group(4).replace("−", "-") or 0)
                columns[int(row.group(1))] = (row.group(2), row.group(3), default)
    return types


def decompress(stored, raw_size):
    try:
        from compression import zstd  # Python 3.14
        raw = zstd.decompress(stored)
    except ImportError:
        try:
            import zstandard
            raw = zstandard.ZstdDecompressor().decompress(stored, max_output_size=raw_size)
        except ImportError:
            if not shutil.which("zstd"):
                sys.exit("needs the zstd command, or Python's zstandard module")
            done = subprocess.run(["zstd", "-dcq"], input=stored, capture_output=True, check=False)
            if done.returncode:
                raise Damaged("zstd: " + done.stderr.decode(errors="replace").strip()) from None
            raw = done.stdout
    if len(raw) != raw_size:
        raise Damaged("raw size")
    return raw


def unzigzag(n):
    return ((n >> 1) ^ -(n & 1)) & MASK


class Body:
    """Bytes that are taken off from the front."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, size):
        if size > len(self.data) - self.at:
            raise Damaged("too short")
        self.at += size
        return self.data[self.at - size:self.at]

    def u32(self):
        return struct.unpack("<I", self.take(4))[0]

    def integers(self, count, signed=False):
        width, shift = self.take(2)
        if not 1 <= width <= 8 or shift > 63:
            raise Damaged("integer array")
        planes = [self.take(count) for _ in range(width)]
        stored = (sum(plane[i] << (8 * k) for k, plane in enumerate(planes)) for i in range(count))
        return [(unzigzag(value) if signed else value) << shift & MASK for value in stored]


def cut(value, kind):
    """The value as a field of this type holds it, unsigned."""
    return value & ((1 << int(kind[1:])) - 1)


def decode_sparse(body, count):
    bitmap = body.take((count + 7) // 8)
    return [bool(bitmap[i // 8] >> (i % 8) & 1) for i in range(count)]


class Chunk:
    """Decodes the payload of one chunk into {column id: [value of each record]}; integers unsigned."""

    def __init__(self, columns, count, payload):
        self.columns, self.count = columns, count
        self.values = {}
        for column, (_, kind, default) in columns.items():
            if kind[0] in "ui" and kind[1:].isdigit():
                self.values[column] = [cut(default, kind)] * count
            else:
                self.values[column] = [b"" if kind == "bytes" else ()] * count
        body, seen = Body(payload), set()
        while body.at < len(payload):
            column, kind, predictor, value, key, match, size = struct.unpack("<6BI", body.take(10))
            content = Body(body.take(size))
            if column in seen:
                raise Damaged("column twice")
            seen.add(column)
            if column in columns:
                self.column(column, kind, predictor, (value, key, match), content)

    def column(self, column, kind, predictor, others, body):
        wanted = {"bytes": 1, "frames": 2}.get(self.columns[column][1], 0)
        if kind != wanted:
            raise Unknown("kind of column")
        if kind == 1:
            lengths = body.integers(self.count)
            self.values[column] = [body.take(length) for length in lengths]
        elif kind == 2:
            self.values[column] = self.frames(body)
        else:
            self.integers(column, predictor & 0x7f, bool(predictor & 0x80), others, body)

    def other(self, column):
        if column not in self.columns:
            raise Unknown("column referred to")
        if self.columns[column][1] in ("bytes", "frames"):
            raise Damaged("column referred to")
        return self.values[column]

    def integers(self, column, predictor, sparse, others, body):
        kind = self.columns[column][1]
        mine = self.values[column]
        if predictor > 7:
            raise Unknown("predictor")
        value = self.other(others[0]) if 3 <= predictor <= 6 else None
        key = self.other(others[1]) if predictor >= 4 else None
        match = self.other(others[2]) if predictor >= 5 else None
        if predictor == 7:
            if sparse:
                raise Unknown("sparse recent")
            self.recent(mine, kind, key, match, body)
            return
        present = decode_sparse(body, self.count) if sparse else [True] * self.count
        entries = iter(body.integers(sum(present), predictor != 0))
        learned, before = {}, None
        for i in range(self.count):
            if present[i]:
                entry = next(entries)
                if predictor:
                    expected = self.expect(predictor, i, mine, value, key, match, learned, before)
                    entry += expected
                mine[i] = cut(entry, kind)
            if present[i] or (value is not None and value is not mine):
                before = i
                if key is not None:
                    learned[key[i]] = i
                if match is not None:
                    learned[match[i]] = i

    @staticmethod
    def expect(predictor, i, mine, value, key, match, learned, before):
        if predictor == 1 or before is None and predictor != 3:
            return 0
        if predictor == 2:
            return mine[before]
        if predictor == 3:
            return value[i]
        found = learned.get(key[i])
        if predictor == 6 and (found is None or match[found] != key[i]):
            return 0
        return value[before if found is None else found]

    def recent(self, mine, kind, key, match, body):
        ranks = body.take(self.count)
        entries = iter(body.integers(ranks.count(0), True))
        lists, highest = {}, 0
        for i, rank in enumerate(ranks):
            recent = lists.setdefault((key[i] & 0xffffffff, match[i] & 0xffffffff), [])
            if rank:
                if rank > len(recent):
                    raise Damaged("rank")
                mine[i] = recent.pop(rank - 1)
            else:
                mine[i] = cut(next(entries) + highest, kind)
                highest = max(highest, mine[i])
                if mine[i] in recent:
                    recent.remove(mine[i])
            recent.insert(0, mine[i])
            del recent[255:]

    def frames(self, body):
        frame_count, node_count = body.u32(), body.u32()
        modules, kinds = body.integers(frame_count), body.integers(frame_count)
        offsets = body.integers(frame_count, True)
        steps, refs = body.integers(node_count), body.integers(node_count)
        leaves = body.integers(self.count, True)
        frames, module, offset = [], 0, 0
        for i in range(frame_count):
            module = module + modules[i] & 0xffffffff
            offset = offset + offsets[i] & MASK
            frames.append((module, kinds[i] & 0xff, kinds[i] >> 8 & 0xff, offset))
        stacks = [()]
        for node in range(1, node_count + 1):
            step, ref = steps[node - 1], refs[node - 1]
            if not 1 <= step <= node or ref >= frame_count or len(stacks[node - step]) >= MAX_FRAMES:
                raise Damaged("tree of calls")
            stacks.append((frames[ref],) + stacks[node - step])
        result, leaf = [], 0
        for entry in leaves:
            leaf = leaf + entry & MASK
            if leaf > node_count:
                raise Damaged("leaf")
            result.append(stacks[leaf])
        return result


class Session:
    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = file.read()
        self.types = read_specification()
        self.records = {number: [] for number in self.types}
        self.bad = self.unknown = self.skipped = 0
        self.cut = False
        self.end = None
        self.tag = None
        self.next = 0
        self.read()

    def header_at(self, at):
        data = self.data[at:at + CHUNK_HEADER]
        if len(data) < CHUNK_HEADER or data[:4] != CHUNK_MAGIC:
            return None
        if struct.unpack_from("<I", data, 52)[0] != zlib.crc32(data[:52]):
            return None
        names = ("tag", "type", "codec", "sequence", "stored", "raw", "count", "checksum", "first", "last")
        header = dict(zip(names, struct.unpack_from("<4xIHBxIIIIIQQ", data)))
        if max(header["stored"], header["raw"]) > MAX_BYTES or header["count"] > min(MAX_RECORDS, header["raw"]):
            return None
        if self.tag not in (None, header["tag"]) or header["sequence"] < self.next:
            return None
        return header

    def search(self, at):
        while True:
            at = self.data.find(CHUNK_MAGIC, at)
            if at < 0:
                return len(self.data)
            if self.header_at(at):
                return at
            at += 1

    def start(self):
        data = self.data[:FILE_HEADER]
        if len(data) == FILE_HEADER and data[:8] == FILE_MAGIC and \
                struct.unpack_from("<I", data, 60)[0] == zlib.crc32(data[:60]):
            major, _, size = struct.unpack_from("<HHI", data, 8)
            if major != 1:
                sys.exit("format %d.x is not known" % major)
            self.tag = struct.unpack_from("<I", data, 16)[0]
            return min(size, len(self.data))
        at = self.search(0)
        if at == len(self.data):
            sys.exit("no session")
        self.skipped += at
        return at

    def follow(self, header):
        self.bad += header["sequence"] - self.next
        self.next = header["sequence"] + 1

    def read(self):
        at = self.start()
        while at < len(self.data):
            header = self.header_at(at)
            body = at + CHUNK_HEADER
            if header:
                stored = self.data[body:body + header["stored"]]
                if len(stored) == header["stored"] and zlib.crc32(stored) == header["checksum"]:
                    self.tag = header["tag"]
                    self.follow(header)
                    self.chunk(header, stored)
                    at = body + header["stored"]
                    continue
                if self.tag is not None:
                    self.follow(header)
                after = self.search(body)
                if after == len(self.data) and len(stored) < header["stored"]:
                    self.cut = True
                else:
                    self.bad += 1
            elif len(self.data) - at < CHUNK_HEADER:
                after, self.cut = len(self.data), True
            else:
                after = self.search(at + 1)
                self.bad += after == len(self.data)
            self.skipped += after - at
            at = after

    def chunk(self, header, stored):
        if header["type"] not in self.types or header["codec"] > 1:
            self.unknown += 1
            return
        columns = self.types[header["type"]][1]
        try:
            if header["codec"] == 1:
                stored = decompress(stored, header["raw"])
            elif header["stored"] != header["raw"]:
                raise Damaged("raw size")
            values = Chunk(columns, header["count"], stored).values
        except Unknown:
            self.unknown += 1
            return
        except Damaged:
            self.bad += 1
            return
        rows = list(zip(*(values[column] for column in sorted(columns))))
        if header["type"] == 0:
            self.end = dict(rows)
        self.records[header["type"]] += rows

    def damaged(self):
        return bool(self.bad or self.skipped or self.cut or self.end is None)

    def lines(self, number):
        """One text line for each record, with all columns in order."""
        columns = self.types[number][1]
        kinds = [columns[column][1] for column in sorted(columns)]
        rows = self.records[number]
        if self.types[number][0] == "meta":  # the last of a key counts, at the place of the first
            rows = {row[0]: row for row in rows}.values()
        for row in rows:
            fields = []
            for kind, value in zip(kinds, row):
                if kind == "bytes":
                    fields.append(value.hex())
                elif kind == "frames":
                    fields.append(" ".join("%d:%d:%d:%d" % frame for frame in value))
                else:
                    bits = int(kind[1:])
                    fields.append(str(value - (1 << bits) if kind[0] == "i" and value >> (bits - 1) else value))
            yield "\t".join(fields) + "\n"

    def digest(self):
        for number in sorted(self.types):
            if number:
                lines = list(self.lines(number))
                yield "%s %d %08x" % (self.types[number][0], len(lines), zlib.crc32("".join(lines).encode()))

    def summary(self):
        return {"records": {self.types[n][0]: len(rows) for n, rows in self.records.items() if n and rows},
                "chunks_bad": self.bad, "chunks_unknown": self.unknown, "bytes_skipped": self.skipped,
                "tail_cut": self.cut, "not_closed": self.end is None}


def main(arguments):
    damaged = False
    if len(arguments) == 2 and arguments[0] == "--digest":
        session = Session(arguments[1])
        print("\n".join(session.digest()))
        damaged = session.damaged()
    elif len(arguments) == 3 and arguments[0] == "--dump":
        session = Session(arguments[2])
        numbers = [number for number, (name, _) in session.types.items() if name == arguments[1]]
        if not numbers:
            sys.exit("no record type " + arguments[1])
        sys.stdout.writelines(session.lines(numbers[0]))
        damaged = session.damaged()
    elif arguments and not arguments[0].startswith("-"):
        for path in arguments:
            session = Session(path)
            print(json.dumps(session.summary()))
            damaged = damaged or session.damaged()
    else:
        sys.exit(__doc__.strip())
    return 4 if damaged else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
