#!/usr/bin/env python3
"""Judges verdicts against the truth that tests/workloads/game logged.

  judge.py TRUTH REPORT [--all-frames REPORT] [--least-faults N] [--no-faults] [--verbose]

TRUTH is the game's log, REPORT the output of `frameperf report --json`. --all-frames takes a second report, with so
small a budget that every frame is in it, for the ledgers. Prints a table and exits with 1 when
a threshold is missed:
  - of the faults that arose, at least 95 % with the right cause, and at least 95 % with the right place, thread and
    culprit as well;
  - no verdict on an ordinary frame;
  - every ledger sums to its frame within 0.5 %, and CPU times agree with the kernel's account within 1 %;
  - with --no-faults: no causes at all.
A fault arose if the game measured it so; one in whose frame other load on the machine took more than a quarter of the
excess is set aside as disturbed. If more than a fifth did not arise or were disturbed, the run is void and fails.
"""
import argparse
import bisect
import collections
import json
import sys

SHARE = 0.95
LEDGER_SHARE = 0.005
CPU_SHARE = 0.01
VOID_SHARE = 0.2
DISTURBED_SHARE = 0.25
LATE = 1.2


class Truth:
    def __init__(self, path):
        self.faults, self.frames, self.threads, self.start = [], {}, [], None
        with open(path, encoding="utf-8") as file:
            for line in file:
                record = json.loads(line)
                kind = record["type"]
                if kind == "fault":
                    self.faults.append(record)
                elif kind == "frame":
                    self.frames[record["frame"]] = record
                elif kind == "thread":
                    self.threads.append(record)
                else:
                    self.start = record
        self.ends = sorted((frame["end_ns"], number) for number, frame in self.frames.items())
        times = sorted(self.time(number) for number in self.frames)
        self.median = times[len(times) // 2]
        self.fault_of = {fault["frame"]: fault for fault in self.faults}

    def time(self, number):
        return self.frames[number]["end_ns"] - self.frames[number]["start_ns"]

    def delay(self, number):
        """Time that the frame's threads waited for a core, by the kernel's account."""
        return self.frames[number]["logic_delay_ns"] + self.frames[number]["render_delay_ns"]

    def frame_ending(self, end_ns):
        """The frame that ends at a time, None if there is none near."""
        at = bisect.bisect(self.ends, (end_ns, 0))
        near = [self.ends[i] for i in (at - 1, at) if 0 <= i < len(self.ends)]
        if not near:
            return None
        time, number = min(near, key=lambda end: abs(end[0] - end_ns))
        return number if abs(time - end_ns) < self.median // 4 else None


def set_aside(truth, fault):
    """Why a fault cannot be judged; None if it can."""
    if not fault["arose"]:
        return fault["why"]
    if fault["frame"] not in truth.frames:
        return "its frame is not in the log"
    excess, length = truth.time(fault["frame"]) - truth.median, fault["end_ns"] - fault["begin_ns"]
    if excess > 1.5 * length:
        return "disturbed by other load"
    if fault["kind"] == "cpu" and length > (1 + DISTURBED_SHARE) * fault["cpu_ns"]:
        return "disturbed by other load"
    if fault["kind"] not in ("preempt", "run_queue"):
        if truth.delay(fault["frame"]) > DISTURBED_SHARE * excess:
            return "disturbed by other load"
    elif fault["cpu_ns"] * 4 > length:
        return "disturbed by other load"
    return None


def culprit_fits(by, truth):
    if truth is None:
        return True
    if not by or (by["pid"], by["tid"], by["name"]) != (truth["pid"], truth["tid"], truth["name"]):
        return False
    return truth["function"] is None or by.get("function") == truth["function"]


def judge_fault(fault, slow):
    """What is wrong with the verdict on a fault: a set of words, empty when all is right."""
    if slow is None or not slow.get("verdict"):
        return {"no verdict"}
    verdict, wrong = slow["verdict"], set()
    thread, place = verdict.get("thread") or {}, verdict.get("place") or {}
    if verdict["cause"] != fault["cause"]:
        wrong.add("cause")
    if (thread.get("tid"), thread.get("name")) != (fault["thread"]["tid"], fault["thread"]["name"]):
        wrong.add("thread")
    if place.get("function") != fault["place"]:
        wrong.add("place")
    if not culprit_fits(verdict.get("by"), fault.get("by")):
        wrong.add("culprit")
    return wrong


def show(slow):
    if slow is None:
        return "not a slow frame"
    verdict = slow.get("verdict")
    if not verdict:
        return "slow, but without a verdict"
    thread, place, by = (verdict.get(key) or {} for key in ("thread", "place", "by"))
    text = "%s %s %s()" % (verdict["cause"], thread.get("name"), place.get("function"))
    if by:
        text += " by %s (%s) %s()" % (by.get("name"), by.get("tid"), by.get("function"))
    return text + " %.1f ms of %.1f" % (verdict["excess_ns"] / 1e6, slow["time_ns"] / 1e6)


class Judgement:
    def __init__(self):
        self.failures = []

    def demand(self, holds, text):
        if not holds:
            self.failures.append(text)


def judge_faults(truth, slow_of, arguments, judgement):
    rows = collections.defaultdict(collections.Counter)
    aside = 0
    for fault in truth.faults:
        row = rows[fault["kind"]]
        why = set_aside(truth, fault)
        if why:
            aside += 1
            row["aside"] += 1
            if arguments.verbose:
                print("aside  frame %d, %s in %s: %s" % (fault["frame"], fault["kind"], fault["place"], why))
            continue
        wrong = judge_fault(fault, slow_of.get(fault["frame"]))
        row["judged"] += 1
        row["cause"] += not wrong & {"no verdict", "cause"}
        row["rest"] += not wrong & {"no verdict", "thread", "place", "culprit"}
        row["all"] += not wrong
        if wrong:
            print("wrong  frame %d, %s in %s by %s: %s\n       says %s" % (
                fault["frame"], fault["kind"], fault["place"], (fault.get("by") or {}).get("function"),
                ", ".join(sorted(wrong)), show(slow_of.get(fault["frame"]))))
    print("%-10s %7s %7s %7s %7s %7s" % ("kind", "judged", "cause", "rest", "all", "aside"))
    total = collections.Counter()
    for kind, row in sorted(rows.items()):
        total.update(row)
        print("%-10s %7d %7d %7d %7d %7d" % ((kind,) + tuple(row[key] for key in ("judged", "cause", "rest", "all",
                                                                                  "aside"))))
    judged = max(total["judged"], 1)
    print("%-10s %7d %6.1f%% %6.1f%% %6.1f%% %7d" % ("all", total["judged"], 100 * total["cause"] / judged,
                                                    100 * total["rest"] / judged, 100 * total["all"] / judged, aside))
    judgement.demand(total["judged"] >= arguments.least_faults,
                     "only %d faults could be judged, %d are needed" % (total["judged"], arguments.least_faults))
    judgement.demand(aside <= VOID_SHARE * len(truth.faults),
                     "%d of %d faults did not arise or were disturbed: the run is void" % (aside, len(truth.faults)))
    judgement.demand(total["cause"] >= SHARE * total["judged"], "right cause: less than %d %%" % (100 * SHARE))
    judgement.demand(total["rest"] >= SHARE * total["judged"],
                     "right place, thread and culprit: less than %d %%" % (100 * SHARE))


def judge_ordinary(truth, slow_of, judgement):
    """Verdicts on frames without a fault. One that truly was late (other load) may have one."""
    late = 0
    for number, slow in sorted(slow_of.items()):
        if number in truth.fault_of or not slow.get("verdict"):
            continue
        if truth.time(number) > LATE * truth.median:
            late += 1
            print("late   frame %d took %.1f ms without a fault (waited %.1f ms for a core)\n       says %s" % (
                number, truth.time(number) / 1e6, truth.delay(number) / 1e6, show(slow)))
            continue
        judgement.demand(False, "verdict on ordinary frame %d (%.1f ms): %s" % (number, truth.time(number) / 1e6,
                                                                              show(slow)))
    return late


def judge_ledgers(report, judgement):
    checked, worst = 0, 0.0
    for slow in report["slow_frames"]:
        for row in slow.get("ledger") or []:
            total = sum(row.get(key) or 0 for key in ("user_ns", "kernel_ns", "runnable_ns", "preempted_ns"))
            total += sum(value or 0 for value in row["blocked_ns"].values())
            error = abs(total - slow["time_ns"]) / slow["time_ns"]
            checked += 1
            worst = max(worst, error)
            judgement.demand(error <= LEDGER_SHARE, "ledger of frame %d, %s: sums to %d of %d ns" % (
                slow["index"], row["name"], total, slow["time_ns"]))
    print("ledgers: %d of %d frames checked, at most %.3f %% off" % (checked, len(report["slow_frames"]), 100 * worst))
    judgement.demand(checked >= 2 * len(report["slow_frames"]), "only %d ledgers" % checked)


def judge_cpu(truth, report, judgement):
    found = {thread["tid"]: thread for thread in report["threads"]}
    for thread in truth.threads:
        cpu_ns = (found.get(thread["tid"]) or {}).get("cpu_ns")
        judgement.demand(cpu_ns is not None, "thread %s is not in the report" % thread["name"])
        if cpu_ns is None:
            continue
        error = abs(cpu_ns - thread["cpu_ns"]) / thread["cpu_ns"]
        print("CPU time of %s: %.1f ms, kernel says %.1f ms: %.2f %% off" % (
            thread["name"], cpu_ns / 1e6, thread["cpu_ns"] / 1e6, 100 * error))
        judgement.demand(error <= CPU_SHARE, "CPU time of %s is %.2f %% off" % (thread["name"], 100 * error))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("truth")
    parser.add_argument("report")
    parser.add_argument("--all-frames")
    parser.add_argument("--least-faults", type=int, default=0)
    parser.add_argument("--no-faults", action="store_true")
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()
    truth, judgement = Truth(arguments.truth), Judgement()
    with open(arguments.report, encoding="utf-8") as file:
        report = json.load(file)

    slow_of = {}
    for slow in report["slow_frames"]:
        number = truth.frame_ending(slow["start_ns"] + slow["time_ns"])
        if number is not None:
            slow_of[number] = slow
    count, frames = report["frames"]["count"], len(truth.frames)
    print("frames: %d in the report, %d in the log; %d slow; budget %.2f ms" % (
        count, frames, len(report["slow_frames"]), (report["frames"]["budget_ns"] or 0) / 1e6))
    judgement.demand(abs(count - frames) <= 2, "%d frames instead of %d" % (count, frames))
    if not arguments.no_faults:
        judge_faults(truth, slow_of, arguments, judgement)
    late = judge_ordinary(truth, slow_of, judgement)
    if arguments.all_frames:
        with open(arguments.all_frames, encoding="utf-8") as file:
            every = json.load(file)
        judgement.demand(len(every["slow_frames"]) >= frames - 2, "%d frames have ledgers, not %d" % (
            len(every["slow_frames"]), frames))
        judge_ledgers(every, judgement)
    else:
        judge_ledgers(report, judgement)
    judge_cpu(truth, report, judgement)
    if arguments.no_faults:
        judgement.demand(not truth.faults, "the log holds faults")
        judgement.demand(late or not report["causes"], "causes without faults: %s" % report["causes"])
        judgement.demand(late <= 0.01 * frames, "%d frames were late: the run is void" % late)
    for failure in judgement.failures:
        print("FAILED: " + failure)
    return 1 if judgement.failures else 0


sys.exit(main())
