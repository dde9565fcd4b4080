#!/usr/bin/env python3
"""Contract of `marey report`, `marey stats`, and of clocks and places in `marey convert`, on the command line:

- clocks that are off by seconds, drift and leave late are recovered to 10 us (median) against the truth; --no-align leaves
  them alone; real runs of one host are not moved;
- --topology states places, and a wrong file is refused with its line;
- what the report says that a run would take without its fault is within 10 % of what the same run takes without it;
- statistics are exact: unions, sums and the breakdown equal brute force on a hand-made run;
- ranks that are missing, empty, from another run or whose clock runs backwards are told, and the rest is diagnosed.
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile

MAREY, SOURCE = sys.argv[1], sys.argv[2]
SHARED = os.environ.get("MAREY_SHARED", os.path.join(SOURCE, "..", "shared"))


def run(*args, code=0):
    done = subprocess.run([MAREY, *args], capture_output=True, text=True)
    assert done.returncode == code, (args, done.returncode, done.stderr)
    return done


def answer(*args):
    return json.loads(run(*args, "--json", "-q").stdout)


def write(path, events, rank=None, ranks=None, host=None):
    top = {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "A"}], "traceEvents": events}
    if rank is not None:
        top["distributedInfo"] = {"backend": "nccl", "rank": rank, "world_size": ranks}
    if host:
        top["host_name"] = host
    with open(path, "w", encoding="utf-8") as f:
        json.dump(top, f)


def kernel(name, ts, dur, stream=7, **args):
    return {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": stream, "ts": ts, "dur": dur,
            "args": {"stream": stream, "device": 0, **args}}


def allreduce(ts, dur, seq):
    return kernel("ncclDevKernel_AllReduce_Sum_f16_RING_LL", ts, dur, 20,
                  **{"Collective name": "allreduce", "In msg nelems": 1024, "Out msg nelems": 1024, "dtype": "Half",
                     "Group size": 4, "Process Group Name": "0", "Process Group Ranks": "[0, 1, 2, 3]", "Seq": seq})


def step(index, ts, dur):
    return {"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{index}", "pid": 1, "tid": 1, "ts": ts, "dur": dur}


def step_times(report):
    times = {}
    for b in report["breakdown"]:
        times.setdefault(b["step"], []).append(b["step_ns"])
    return {k: statistics.median_low(v) for k, v in times.items()}


def check_what_if(folder):
    """What the report says of a run without its fault, against the same run simulated without it."""
    out = os.path.join(folder, "fault.h5")
    small = ["--preset", "pangu-13b", "--steps", "3", "--seed", "13", "--events-per-rank", "6000", "--quiet"]
    run("synth", out, *small)
    healthy = step_times(answer("report", out))
    for fault in ("slow-rank:21,1.25", "slow-rank:21,1.25@1", "slow-link:8-12,0.05", "stall:9,300ms", "imbalance:3,1.3"):
        run("synth", out, *small, "--inject", fault)
        report = answer("report", out)
        finding, times = report["findings"][0], step_times(report)
        saved = statistics.mean(times[k] - healthy[k] for k in finding["steps"])
        told = finding["evidence"]["saved_ns"]
        assert abs(told - saved) < 0.1 * saved, (fault, told, saved)


def check_clocks(folder):
    out = os.path.join(folder, "clocks.h5")
    clocks = ["--clock-offset", "12s", "--clock-drift-ppm", "50", "--clock-jitter", "1ms"]
    run("synth", out, "--ranks", "64", "--no-cpu", "--quiet", *clocks)
    with open(out + ".truth.json", encoding="utf-8") as f:
        truth = json.load(f)
    info = answer("info", out)
    pivot = info["time"]["clock_pivot_ns"]
    errors = []
    for tenth in range(11):
        at = truth["duration_ns"] * tenth // 10
        aligned = []
        for r in info["ranks"]:
            true, clock = truth["clock"][r["rank"]], r["clock"]
            assert clock["method"] == "collectives" and clock["matched"] > 0
            raw = truth["start_epoch_ns"] + at + true["offset_ns"] + int(at * true["drift_ppm"] // 1e6)
            aligned.append(raw + clock["offset_ns"] + round(clock["drift_ppm"] * 1e-6 * (raw - pivot)))
        middle = statistics.median(aligned)
        errors += [abs(a - middle) for a in aligned]
    assert statistics.median(errors) <= 10000, statistics.median(errors)
    assert sorted(errors)[int(len(errors) * 0.95)] <= 25000
    report = answer("report", out)
    assert report["alignment"]["method"] == "collectives" and report["alignment"]["violations"] == 0
    assert all(f["severity"] <= 0.3 for f in report["findings"])


def check_real(folder):
    for name, spread in (("megatron-tp8", 60000), ("dlrm", 10000)):
        path = os.path.join(SHARED, "data", "kineto", name)
        if not os.path.isdir(path):
            print(f"skipped: no real inputs at {path} (set MAREY_SHARED)")
            continue
        out = os.path.join(folder, name + ".h5")
        run("convert", path, "-o", out, "-q")
        for r in answer("info", out)["ranks"]:
            assert r["clock"]["method"] == "in-step" and r["clock"]["offset_ns"] == 0 and r["clock"]["matched"] > 0
            assert r["clock"]["residual_ns"] <= spread
        assert answer("report", out)["alignment"]["method"] == "in-step"


def four_ranks(folder, shift_us=0.0, name="four"):
    """Four ranks, five steps of 20 ms; the all-reduce ends at 10 ms, rank 3 comes 9 ms late; host b (2, 3) is shifted."""
    where = os.path.join(folder, name)
    os.makedirs(where)
    for r in range(4):
        events = []
        for k in range(40):
            t = 1000000.0 + k * 20000 + (shift_us if r >= 2 else 0)
            start = 9000 if r == 3 else 0
            events += [step(k, t - 100, 20000), allreduce(t + start, 10000 - start, k), kernel("gemm", t + 10000, 5000)]
            if r == 3:
                events.append(kernel("gemm", t, 8990))
        write(os.path.join(where, f"rank{r}.json"), events, r, 4, "a" if r < 2 else "b")
    return where


def check_alignment_of_hosts(folder):
    plain, shifted = os.path.join(folder, "p.h5"), os.path.join(folder, "s.h5")
    run("convert", four_ranks(folder), "-o", plain, "-q")
    where = four_ranks(folder, 11560000.0, "shifted")
    run("convert", where, "-o", shifted, "-q")
    a, b = answer("report", plain), answer("report", shifted)
    assert a["alignment"]["method"] == "in-step" and b["alignment"]["method"] == "collectives"
    offsets = {r["rank"]: r["clock"]["offset_ns"] for r in answer("info", shifted)["ranks"]}
    assert abs(abs(offsets[2] - offsets[0]) - 11560000000) < 2000
    for x, y in zip(a["breakdown"], b["breakdown"]):
        for key in ("compute_ns", "exposed_communication_ns", "overlapped_ns", "idle_ns", "wait_ns"):
            assert abs(x[key] - y[key]) < 2000, key
    first = a["findings"][0]
    assert first["kind"] == "slow-rank" and first["ranks"] == [3] and first["evidence"]["last_arrivals"] == 40
    assert [f["ranks"] for f in b["findings"] if f["severity"] > 0.3] == [[3]]
    apart = os.path.join(folder, "n.h5")
    run("convert", where, "-o", apart, "-q", "--no-align")
    assert {r["clock"]["method"] for r in answer("info", apart)["ranks"]} == {"none"}
    return where


def check_topology(folder, where):
    places = os.path.join(folder, "places.txt")
    out = os.path.join(folder, "t.h5")
    with open(places, "w", encoding="utf-8") as f:
        f.write("# places\nrank 0 stage=0 dp=0 host=x\nrank 3 stage=1 dp=0\n\nrank 99 stage=7\n")
    run("convert", where, "-o", out, "-q", "--topology", places)
    ranks = answer("info", out)["ranks"]
    assert ranks[0]["stage"] == 0 and ranks[0]["host"] == "x" and ranks[3]["stage"] == 1 and ranks[1]["stage"] is None
    assert "stage" not in ranks[3]["inferred"]
    for text in ("rank 0 stage=0\nrank 1 colour=3\n", "rank zero\n", "host=a\n"):
        with open(places, "w", encoding="utf-8") as f:
            f.write(text)
        done = run("convert", where, "-o", out, "-q", "--topology", places, code=1)
        assert "line" in done.stderr
    run("convert", where, "-o", out, "-q", "--topology", places + ".missing", code=1)


def check_stats(folder):
    path, out = os.path.join(folder, "one.json"), os.path.join(folder, "one.h5")
    write(path, [kernel("gemm", 1000, 80), allreduce(1050, 80, 0), kernel("gemm", 1000, 80, 8), kernel("relu", 1140, 20)])
    run("convert", path, "-o", out, "-q")
    s = answer("stats", out)
    assert s["total"] == {"count": 4, "union_ns": 150000, "sum_ns": 260000}
    gemm = next(n for n in s["names"] if n["name"] == "gemm")
    assert (gemm["count"], gemm["union_ns"], gemm["sum_ns"], gemm["p50_ns"], gemm["max_ns"]) == (2, 80000, 160000, 80000, 80000)
    b = s["breakdown"][0]
    assert (b["compute_ns"], b["exposed_communication_ns"], b["overlapped_ns"], b["idle_ns"]) == (100000, 50000, 30000, 10000)
    s = answer("stats", out, "--time", "40us..60us")
    assert s["total"] == {"count": 3, "union_ns": 20000, "sum_ns": 50000}
    run("stats", out, "--time", "5s..1s", code=2)
    assert "gemm" in run("stats", out).stdout
    assert "none stated" in run("report", out).stdout


def check_damage(folder):
    where = os.path.join(folder, "odd")
    os.makedirs(where)
    for r in range(3):
        events = []
        for k in range(4):
            t = 1000000.0 + k * 20000
            events += [step(k if r < 2 else k + 50, t - 100, 20000), kernel("gemm", t, 5000), allreduce(t + 5000, 3000, k)]
        write(os.path.join(where, f"rank{r}.json"), events, r, 4)
    write(os.path.join(where, "rank5.json"), [], 5, 4)
    backwards = [step(k, 9000000.0 - k * 20000, 20000) for k in range(4)]
    backwards += [kernel("gemm", 9000100.0 - k * 20000, 3000) for k in range(4)]
    write(os.path.join(where, "rank6.json"), backwards, 6, 4)
    out = os.path.join(folder, "odd.h5")
    run("convert", where, "-o", out, "-q")
    report = answer("report", out)
    told = [f for f in report["findings"] if f["kind"] == "incomplete-run"]
    assert told and told[0]["evidence"]["absent_ranks"] == 1 and told[0]["evidence"]["ranks_without_some_steps"] > 0
    assert {b["rank"] for b in report["breakdown"]} >= {0, 1, 2}
    cpu = os.path.join(folder, "cpu.json")
    with open(cpu, "w", encoding="utf-8") as f:
        json.dump([{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 2}], f)
    run("convert", cpu, "-o", out, "-q")
    assert answer("report", out)["breakdown"] == []
    assert "nothing to diagnose" in run("report", out).stdout
    run("report", os.path.join(folder, "missing.h5"), code=1)


def main():
    with tempfile.TemporaryDirectory() as folder:
        check_clocks(folder)
        check_what_if(folder)
        check_real(folder)
        where = check_alignment_of_hosts(folder)
        check_topology(folder, where)
        check_stats(folder)
        check_damage(folder)
    print("ok")


main()
