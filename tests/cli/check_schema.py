#!/usr/bin/env python3
"""check_schema.py REPORT.json: holds a report against schema frameperf.report/1: keys, types, units, meaning of null."""
import json
import sys


class Bad(Exception):
    pass


def integer(value, where):
    if isinstance(value, bool) or not isinstance(value, int):
        raise Bad(f"{where}: {value!r} is no integer")


def count(value, where):
    integer(value, where)
    if value < 0:
        raise Bad(f"{where}: {value} is negative")


def number(value, where):
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value or abs(value) == float("inf"):
        raise Bad(f"{where}: {value!r} is no number")


def share(value, where):
    number(value, where)
    if not -1e-9 <= value <= 1 + 1e-9:
        raise Bad(f"{where}: {value} is no share")


def text(value, where):
    if not isinstance(value, str):
        raise Bad(f"{where}: {value!r} is no text")


def boolean(value, where):
    if not isinstance(value, bool):
        raise Bad(f"{where}: {value!r} is neither true nor false")


def one_of(*values):
    def check(value, where):
        if value not in values:
            raise Bad(f"{where}: {value!r} is none of {values}")
    return check


def maybe(check):
    """The key must be there, its value may be null."""
    return lambda value, where: None if value is None else check(value, where)


class Optional:
    """The key may be absent."""
    def __init__(self, check):
        self.check = check


def array(check):
    def walk(value, where):
        if not isinstance(value, list):
            raise Bad(f"{where}: no array")
        for i, item in enumerate(value):
            check(item, f"{where}[{i}]")
    return walk


def mapping(check):
    def walk(value, where):
        if not isinstance(value, dict):
            raise Bad(f"{where}: no object")
        for key, item in value.items():
            check(item, f"{where}.{key}")
    return walk


def obj(**keys):
    def walk(value, where):
        if not isinstance(value, dict):
            raise Bad(f"{where}: no object but {value!r}")
        for key, check in keys.items():
            if isinstance(check, Optional):
                if key in value:
                    check.check(value[key], f"{where}.{key}")
            elif key not in value:
                raise Bad(f"{where}.{key}: missing")
            else:
                check(value[key], f"{where}.{key}")
    return walk


CAUSE = one_of("cpu", "lock", "io", "fault", "gpu", "sleep", "event", "run_queue", "preempted", "frequency", "unknown")
STATE = one_of("user", "kernel", "runnable", "preempted", "lock", "io", "fault", "gpu", "sleep", "event", "other")
THREAD = dict(pid=maybe(count), tid=maybe(count), name=maybe(text))
PLACE = obj(function=maybe(text), module=maybe(text))
VERDICT = obj(cause=CAUSE, thread=obj(**THREAD), place=PLACE, leaf=PLACE,
              by=maybe(obj(**THREAD, function=maybe(text))), excess_ns=count, share=maybe(share), text=maybe(text))
CHAIN = array(obj(**THREAD, from_ns=count, to_ns=count, state=STATE, place=PLACE))
LEDGER = array(obj(**THREAD, user_ns=count, kernel_ns=count, runnable_ns=count, preempted_ns=count,
                   blocked_ns=obj(lock=count, io=count, fault=count, gpu=count, sleep=count, event=count, other=count),
                   residual_ns=integer))
FRAME = obj(index=count, start_ns=count, time_ns=count, active_ns=count, slow=boolean, verdict=maybe(VERDICT),
            chain=Optional(maybe(CHAIN)), ledger=Optional(maybe(LEDGER)))
HOT = array(obj(function=maybe(text), module=maybe(text), self_ns=count, total_ns=count, self_share=share, total_share=share))

# `frames` has its count alone when frame boundaries were watched for and none came.
FRAMES = obj(surface=maybe(text), marker=maybe(text), count=count, duration_ns=count, fps_mean=number,
             time_ns=obj(mean=count, p50=count, p90=count, p95=count, p99=count, max=count), low_1pct_fps=maybe(number),
             low_01pct_fps=maybe(number), budget_ns=maybe(count), slow=count, hitches_per_min=maybe(number), jank=count,
             big_jank=count)

EFFORT = obj(time_ns=count, **{"from": count}, to=count, allows=text, hits_per_sample=count,
             reason=one_of("bpf", "recorder", "low_fps", "recovered", "floor"), bpf_share=maybe(number),
             recorder_share=maybe(number), fps=maybe(number))

REPORT = obj(
    schema=one_of("frameperf.report/1"),
    session=obj(id=maybe(text), format=count, started_unix_ns=maybe(integer), duration_ns=maybe(count), end_reason=maybe(text),
                complete=boolean, level=maybe(count),
                host=obj(kernel=maybe(text), arch=maybe(text), cpus=maybe(count), model=maybe(text)),
                target=obj(pid=maybe(count), name=maybe(text), exe=maybe(text)), labels=mapping(text)),
    sources=array(obj(name=text, state=one_of("active", "absent", "failed"), reason=maybe(text))),
    quality=obj(samples=maybe(count), sample_period_ns=maybe(count),
                stacks=obj(complete_share=maybe(share), by_reason=mapping(count)), lost=mapping(count),
                overhead=obj(bpf_ns=maybe(count), recorder_cpu_ns=maybe(count), recorder_max_rss_bytes=maybe(count),
                             budget_percent=maybe(number), budget_cpus=maybe(count), steps=array(EFFORT))),
    slow_frames=maybe(array(FRAME)), frame=Optional(FRAME),
    causes=array(obj(cause=CAUSE, frames=count, excess_ns=count)),
    hot=maybe(HOT), hot_slow=maybe(HOT),
    usage=obj(cpu_ns=maybe(count), memory_peak_bytes=maybe(count)),
    threads=maybe(array(obj(**THREAD, cpu_ns=maybe(count), samples=maybe(count), switches=maybe(count),
                      run_queue_ns=maybe(obj(p50=count, p99=count, max=count)), stacks_complete_share=maybe(share)))),
    freq=maybe(array(obj(cpu=count, min_khz=maybe(count), max_khz=maybe(count), mean_khz=maybe(count), transitions=count,
                   time_below_max_share=maybe(share)))))


def meaning(r):
    """What keys and types do not say."""
    names = [s["name"] for s in r["sources"]]
    for name in ("sample", "sched", "freq", "frame", "mark", "process"):
        if names.count(name) != 1:
            raise Bad(f"sources: {name} {names.count(name)} times")
    level = r["session"]["level"]
    for key in ("slow_frames", "hot", "hot_slow", "threads", "freq"):
        if r[key] is None and (level is None or level > 1):
            raise Bad(f"{key}: null, but the session has level {level}")
    if "frames" not in r:
        raise Bad("frames: missing")
    if r["frames"] is not None and r["frames"]["count"]:
        FRAMES(r["frames"], "frames")
        if r["slow_frames"] is not None and r["frames"]["slow"] != len(r["slow_frames"]):
            raise Bad(f"slow_frames: {len(r['slow_frames'])}, but frames.slow is {r['frames']['slow']}")
    for frame in r["slow_frames"] or []:
        where = f"frame {frame['index']}"
        if not frame["slow"] or frame["verdict"] is None:
            raise Bad(f"{where}: slow, but has no verdict")
        for link in frame.get("chain") or []:
            if link["to_ns"] < link["from_ns"]:
                raise Bad(f"{where}: chain goes back in time")
        for row in frame.get("ledger") or []:
            parts = sum(row[k] for k in ("user_ns", "kernel_ns", "runnable_ns", "preempted_ns", "residual_ns"))
            parts += sum(row["blocked_ns"].values())
            if parts != frame["time_ns"]:
                raise Bad(f"{where}: ledger of {row['name']} sums to {parts}, not {frame['time_ns']}")


def refuse(constant):
    raise Bad(f"{constant} is no JSON")


def main():
    try:
        with open(sys.argv[1], encoding="utf-8") as file:
            report = json.load(file, parse_constant=refuse)
        REPORT(report, "report")
        meaning(report)
    except (Bad, ValueError) as reason:
        print(f"{sys.argv[1]}: {reason}", file=sys.stderr)
        return 1
    return 0


sys.exit(main())
