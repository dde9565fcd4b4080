#!/usr/bin/env python3
"""How well `marey report` finds what is wrong: simulated runs with known faults, scored against their truth.

    bench_diagnose.py MAREY [--small] [--only TEXT]

A fault counts when its own effect on the steps that it touches is 10 % or more, measured as the difference between the
duration of the run with it alone and of the same run without it. It must be the first finding, with the right rank, link,
stage or step (of two faults: both among the first two). Where a ring of more than two ranks is slowed, its members' links
are all named, and the injected one must be among them. On healthy runs nothing may have a severity over 0.3. --small is
the reduced set of ctest. Exit 1 when anything is missed.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

PANGU = "--steps 4"
RESNET = "--preset resnet50 --steps 6"


def healthy():
    """(layout, seed, noise): runs in which nothing is wrong, with more and with less noise."""
    return [
        (f"{PANGU} --ranks 8 --pp 2 --tp 2 --dp 2", 1, 0.02), (f"{PANGU} --ranks 8 --pp 4 --tp 2 --dp 1", 2, 0.03),
        (f"{PANGU} --ranks 16 --pp 4 --tp 2 --dp 2", 3, 0.05), (f"{PANGU} --ranks 32 --pp 4 --tp 2 --dp 4", 4, 0.02),
        (f"{PANGU} --ranks 64", 5, 0.02), (f"{PANGU} --ranks 64 --pp 8 --tp 4 --dp 2", 6, 0.04),
        (f"{PANGU} --ranks 64 --p2p-wait", 7, 0.02), (f"{PANGU} --ranks 64 --recompute", 8, 0.03),
        (f"{RESNET} --ranks 8", 9, 0.02), (f"{RESNET} --ranks 16", 10, 0.05), (f"{RESNET} --ranks 64", 11, 0.03),
        (f"{PANGU} --ranks 64 --clock-offset 2s --clock-drift-ppm 20 --clock-jitter 200us", 12, 0.02),
        (f"{PANGU} --ranks 128 --no-cpu", 13, 0.03), (f"{PANGU} --ranks 256 --no-cpu", 14, 0.02),
        ("--steps 2 --ranks 1024 --no-cpu", 15, 0.02)]


P8 = f"{PANGU} --ranks 8 --pp 2 --tp 2 --dp 2"
P16 = f"{PANGU} --ranks 16 --pp 2 --tp 2 --dp 4"
P32 = f"{PANGU} --ranks 32 --pp 4 --tp 2 --dp 4"
P64 = f"{PANGU} --ranks 64"
P64T = f"{PANGU} --ranks 64 --pp 4 --tp 4 --dp 4"
P64W = f"{PANGU} --ranks 64 --p2p-wait"
P64C = f"{PANGU} --ranks 64 --clock-offset 5s --clock-drift-ppm 30 --clock-jitter 300us"
R8 = f"{RESNET} --ranks 8"
R64 = f"{RESNET} --ranks 64"
P256 = f"{PANGU} --ranks 256 --no-cpu"
P1K = "--steps 2 --ranks 1024 --no-cpu"


def faulty():
    """(layout, faults)"""
    one = [
        (P8, "slow-rank:5,1.6"), (P16, "slow-rank:3,1.4"), (P32, "slow-rank:31,1.3"), (P64, "slow-rank:20,1.5"),
        (P64T, "slow-rank:0,1.25"), (P64W, "slow-rank:9,1.5"), (P64C, "slow-rank:40,1.6"), (R8, "slow-rank:2,1.3"),
        (R64, "slow-rank:33,1.5"), (P256, "slow-rank:200,1.4"), (P1K, "slow-rank:777,1.5"), (P64, "slow-rank:12,1.8@1..2"),
        (P32, "slow-link:4-12,0.05"), (P64, "slow-link:8-16,0.05"), (P64W, "slow-link:8-16,0.05"),
        (P64, "slow-link:40-48,0.03"), (P16, "slow-link:0-8,0.05"), (P64T, "slow-link:0-16,0.05"),
        (P64, "slow-link:2-3,0.1"), (P64C, "slow-link:16-24,0.03"), (P32, "slow-link:6-7,0.1"),
        (P256, "slow-link:32-64,0.03"), (P64T, "slow-link:4-5,0.1"), (P1K, "slow-link:0-128,0.03"),
        (P8, "stall:3"), (P16, "stall:9,300ms"), (P64, "stall:17"), (P64W, "stall:50,400ms"), (R8, "stall:6,100ms"),
        (R64, "stall:60,60ms"), (P256, "stall:131,500ms"), (P1K, "stall:1000,600ms"),
        (P32, "imbalance:2,1.3"), (P64, "imbalance:0,1.25"), (P64, "imbalance:7,1.4"), (P64T, "imbalance:1,1.5"),
        (P64W, "imbalance:3,1.3"), (P16, "imbalance:1,1.4"), (P256, "imbalance:5,1.3"), (P1K, "imbalance:4,1.4"),
        (P8, "launch-bound:1"), (P64, "launch-bound:30"), (P64T, "launch-bound:63"), (R8, "launch-bound:4"),
        (R64, "launch-bound:10,1.3"), (P256, "launch-bound:100"), (P32, "launch-bound:5,1.4"),
        (P32, "step-outlier:2,1.5"), (P64, "step-outlier:1,1.4"), (R8, "step-outlier:3,1.3"), (P256, "step-outlier:2,1.5"),
        (R64, "step-outlier:4,1.5"),
    ]
    two = [
        (P64, "slow-rank:5,1.6", "slow-rank:50,1.5"), (P64, "slow-rank:5,1.5", "stall:40,300ms"),
        (P64, "imbalance:3,1.4", "stall:9,400ms"), (P64, "slow-link:8-16,0.03", "slow-rank:33,1.6"),
        (P32, "imbalance:1,1.4", "slow-rank:30,1.7"), (P64T, "launch-bound:20", "stall:50,400ms"),
        (R64, "slow-rank:7,1.4", "step-outlier:4,1.6"), (P64, "launch-bound:17", "slow-rank:60,1.5"),
    ]
    return [(layout, (f,)) for layout, f in one] + [(layout, fs) for layout, *fs in two]


BUBBLES = [f"{PANGU} --ranks 32 --pp 8 --tp 2 --dp 2 --micro-batches 3", f"{PANGU} --ranks 64 --micro-batches 4",
           f"{PANGU} --ranks 64 --pp 4 --tp 4 --dp 4 --micro-batches 2"]
SMALL = {"healthy": {0, 2, 8}, "faulty": {0, 7, 12, 18, 24, 32, 40, 47}, "bubble": {0}}


class Bench:
    def __init__(self, marey, folder):
        self.marey, self.folder, self.durations = marey, folder, {}
        self.n = self.misses = 0
        self.estimates = []  # error of the step time without the culprit, relative to the step

    def synth(self, layout, faults, extra=()):
        out = os.path.join(self.folder, "run.h5")
        args = layout.split() + [w for f in faults for w in ("--inject", f)] + list(extra)
        subprocess.run([self.marey, "synth", out, "--quiet", "--force", *args], check=True, stderr=subprocess.DEVNULL)
        with open(out + ".truth.json", encoding="utf-8") as f:
            return out, json.load(f)

    def report(self, path):
        begun = time.monotonic()
        text = subprocess.run([self.marey, "report", path, "--json", "-q"], check=True, capture_output=True).stdout
        return json.loads(text), time.monotonic() - begun

    def duration(self, layout, faults):
        key = (layout, faults)
        if key not in self.durations:
            quick = layout if "--no-cpu" in layout else layout + " --no-cpu"
            _, truth = self.synth(quick, faults, ("--arguments", "none"))
            self.durations[key] = truth["duration_ns"]
        return self.durations[key]

    def effect(self, layout, fault, truth_fault, steps):
        plain = self.duration(layout, ())
        touched = max(1, len(truth_fault["steps"]))
        return (self.duration(layout, (fault,)) - plain) / (plain / steps * touched)

    def line(self, ok, what, found, seconds):
        self.n += 1
        self.misses += not ok
        print(f"{'ok  ' if ok else 'MISS'}  {what:<104} {seconds:5.2f} s  {found}", flush=True)


def names(finding, fault):
    """Does the finding name the fault, with the right place?"""
    if finding["kind"] != fault["kind"]:
        return False
    if fault["kind"] == "slow-link":
        return sorted(fault["ranks"]) in [sorted(link) for link in finding["links"]]
    if fault["kind"] == "stage-imbalance":
        return finding["stage"] == fault["stage"]
    if fault["kind"] == "step-outlier":
        return finding["steps"] == fault["steps"]
    return finding["ranks"] == fault["ranks"]


def short(findings):
    return "; ".join(f"{f['kind']} {f['severity']:.2f} ranks {f['ranks'][:3]} steps {f['steps'][:4]}" for f in findings[:2])


def note_estimate(bench, layout, faults, truth, finding):
    """What the report says that the steps would take without a fault in all of them, against the run without it."""
    if len(faults) == 1 and "saved_ns" in finding["evidence"] and len(finding["steps"]) == truth["steps"]:
        saved = (truth["duration_ns"] - bench.duration(layout, ())) / truth["steps"]
        step = truth["duration_ns"] / truth["steps"]
        bench.estimates.append(abs(finding["evidence"]["saved_ns"] - saved) / step)


def run_faulty(bench, layout, faults):
    effects = []
    out, truth = bench.synth(layout, faults)
    answer, seconds = bench.report(out)
    for fault, injected in zip(faults, truth["injected"]):
        effects.append(bench.effect(layout, fault, injected, truth["steps"]))
    findings = answer["findings"]
    due = [f for f, e in zip(truth["injected"], effects) if e >= 0.1]
    ok = all(any(names(x, f) for x in findings[:len(due)]) for f in due)
    ok = ok and all(x["severity"] > 0.3 for x in findings[:len(due)])
    note_estimate(bench, layout, faults, truth, findings[0])
    told = ", ".join(f"{f} ({100 * e:.0f} %)" for f, e in zip(faults, effects))
    bench.line(ok, f"{layout}  {told}", short(findings), seconds)


def run_healthy(bench, layout, seed, noise):
    out, _ = bench.synth(layout, (), ("--seed", str(seed), "--noise", str(noise)))
    answer, seconds = bench.report(out)
    ok = not any(f["severity"] > 0.3 for f in answer["findings"])
    bench.line(ok, f"{layout}  healthy, noise {noise}", short(answer["findings"]), seconds)


def run_bubble(bench, layout):
    out, truth = bench.synth(layout, ())
    answer, seconds = bench.report(out)
    first = answer["findings"][0]
    evidence = first["evidence"]
    ideal = (truth["pp"] - 1) / truth["micro_batches"]
    ok = first["kind"] == "pipeline-bubble" and first["severity"] > 0.3 and abs(evidence["ideal"] - ideal) < 1e-3
    ok = ok and 0.7 < evidence["measured"] / ideal < 1.3
    bench.line(ok, f"{layout}  bubble, ideal {100 * ideal:.0f} %, measured {100 * evidence.get('measured', 0):.0f} %",
               short(answer["findings"]), seconds)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("marey")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options.marey, folder)
        for i, (layout, seed, noise) in enumerate(healthy()):
            if (not options.small or i in SMALL["healthy"]) and options.only in "healthy " + layout:
                run_healthy(bench, layout, seed, noise)
        for i, layout in enumerate(BUBBLES):
            if (not options.small or i in SMALL["bubble"]) and options.only in "bubble " + layout:
                run_bubble(bench, layout)
        for i, (layout, faults) in enumerate(faulty()):
            if (not options.small or i in SMALL["faulty"]) and options.only in " ".join((layout, *faults)):
                run_faulty(bench, layout, tuple(faults))
        if bench.estimates:
            errors = sorted(bench.estimates)
            print(f"step time without the culprit: off by {100 * errors[len(errors) // 2]:.1f} % of the step (median of "
                  f"{len(errors)}), {100 * errors[-1]:.1f} % at most")
        print(f"{bench.n - bench.misses} of {bench.n} right")
    return 1 if bench.misses else 0


if __name__ == "__main__":
    sys.exit(main())
