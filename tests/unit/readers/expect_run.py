#!/usr/bin/env python3
"""What the readers of Ascend and MindSpore runs should find, worked out another way: with Python's JSON, CSV, SQLite and
exact decimals. Prints one line per interval, "start_ns dur_ns name", unsorted."""
import csv
import gzip
import io
import json
import sqlite3
import sys
import tempfile
from decimal import ROUND_HALF_EVEN, Decimal


def load(path):
    data = open(path, "rb").read()
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def ns(us):
    return int((Decimal(str(us).strip()) * 1000).quantize(Decimal(1), rounding=ROUND_HALF_EVEN))


def events(path):
    doc = json.loads(load(path), parse_float=Decimal)
    return doc if isinstance(doc, list) else doc["traceEvents"]


def show(start, dur, name):
    print(start, dur, name)


def kernels(path):
    work = ("AI_CORE", "MIX_AIV", "MIX_AIC", "AI_VECTOR_CORE", "DSA_SQE", "AI_CPU")
    for e in events(path):
        if e["ph"] == "X" and e.get("args", {}).get("Task Type") in work:
            show(ns(e["ts"]), ns(e["dur"]), e["name"])


def every(*paths):
    for path in paths:
        for e in events(path):
            if e["ph"] == "X":
                show(ns(e["ts"]), ns(e["dur"]), "*")


def db_kernels(path):
    with tempfile.NamedTemporaryFile() as f:
        f.write(load(path))
        f.flush()
        c = sqlite3.connect(f.name)
        for row in c.execute(
                "SELECT t.startNs, t.endNs - t.startNs, s.value FROM TASK t JOIN COMPUTE_TASK_INFO i USING(globalTaskId) "
                "JOIN STRING_IDS s ON s.id = i.name"):
            show(*row)


def db_operators(path):
    with tempfile.NamedTemporaryFile() as f:
        f.write(load(path))
        f.flush()
        c = sqlite3.connect(f.name)
        for start, end, name in c.execute(
                "SELECT startNs, endNs, s.value FROM PYTORCH_API p JOIN STRING_IDS s ON s.id = p.name WHERE type = 50001"):
            show(int(start), int(end) - int(start), name)


def operators(path):
    for e in events(path):
        if e["ph"] == "X" and e.get("cat") == "cpu_op":
            show(ns(e["ts"]), ns(e["dur"]), e["name"])


def export(path):
    doc = json.loads(load(path), parse_float=Decimal)
    for device, ops in doc["maps"].items():
        for op, o in ops.items():
            show(ns(o["st"]), ns(o["ed"]) - ns(o["st"]), device + " " + op)


def stages(path):
    """stage_data as the file states it: the averages are left out, which are floats of floats."""
    doc = json.loads(load(path), parse_float=Decimal)
    for stage, s in doc["stage_data"].items():
        for op, o in s["data"].items():
            print(stage, op, ns(o["st_min"]), ns(o["st_max"]), ns(o["ed_min"]), ns(o["ed_max"]), o["n"])


def step_ops(path):
    rows = csv.reader(io.StringIO(load(path).decode()))
    head = next(rows)
    for row in rows:
        if row[0] == "-":
            continue
        for i, column in enumerate(head):
            if column.endswith("-op" + column.split("-op")[-1]) and column.endswith("_start_point") and column != "start_point":
                name = column[:-len("_start_point")]
                start, end = int(row[i]), int(row[head.index(name + "_end_point")])
                if start:
                    show(start * 10, (end - start) * 10, name.split("_")[-1])


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
