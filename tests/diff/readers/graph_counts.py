#!/usr/bin/env python3
"""Nodes and edges of real graph files, counted twice: by `marey graph FILE --json`, and here, by a protobuf and JSON
reading of its own that shares nothing with the program. Bodies and functions count once per call; edges are those
between two nodes of the input.

    graph_counts.py MAREY SHARED        (exit code 77: no real files)
"""
import glob
import gzip
import json
import os
import re
import subprocess
import sys


def varint(b, i):
    v = shift = 0
    while True:
        c = b[i]
        i += 1
        v |= (c & 127) << shift
        shift += 7
        if c < 128:
            return v, i


def fields(b):
    i = 0
    while i < len(b):
        tag, i = varint(b, i)
        number, wire = tag >> 3, tag & 7
        if wire == 0:
            v, i = varint(b, i)
        elif wire == 2:
            n, i = varint(b, i)
            v, i = b[i:i + n], i + n
        elif wire in (1, 5):
            n = 8 if wire == 1 else 4
            v, i = b[i:i + n], i + n
        else:
            raise ValueError(f"wire type {wire} at {i}")
        yield number, v


def all_of(b, number):
    return [v for n, v in fields(b) if n == number]


def first(b, number, otherwise=b""):
    found = all_of(b, number)
    return found[0] if found else otherwise


def packed(v):
    if isinstance(v, int):
        return [v]
    out, i = [], 0
    while i < len(v):
        x, i = varint(v, i)
        out.append(x)
    return out


class Count:
    def __init__(self):
        self.nodes = self.edges = self.control = 0


def onnx_graph(c, graph, outer, functions, is_function):
    """Values that nodes make (True), and that initializers, inputs and formal names make (False)."""
    made = {}
    for n, v in fields(graph):
        if is_function and n == 4:
            made.setdefault(v, False)
        elif not is_function and n in (5, 11):
            made.setdefault(first(v, 8 if n == 5 else 1), False)
    nodes = all_of(graph, 7 if is_function else 1)
    for node in nodes:
        for out in all_of(node, 2):
            made.setdefault(out, True)
    spaces = [made] + ([] if is_function else outer)
    for node in nodes:
        c.nodes += 1
        for name in all_of(node, 1):
            if name:
                c.edges += next((s[name] for s in spaces if name in s), False)
        key = (first(node, 7), first(node, 4), first(node, 8))
        if key in functions:
            onnx_graph(c, functions[key], [], functions, True)
            continue
        for attribute in all_of(node, 5):
            for body in all_of(attribute, 6) + all_of(attribute, 11):
                onnx_graph(c, body, spaces, functions, False)


def onnx(path):
    b = open(path, "rb").read()
    functions = {(first(f, 10), first(f, 1), first(f, 11)): f for f in all_of(b, 25)}
    c = Count()
    onnx_graph(c, first(b, 7), [], functions, False)
    return c


def tf_calls(node, functions):
    op = first(node, 2)
    if op in functions:
        return [op]
    called = []
    for attr in all_of(node, 5):
        value = first(attr, 2)
        names = [first(f, 1) for f in all_of(value, 10)]
        names += [first(f, 1) for lst in all_of(value, 1) for f in all_of(lst, 9)]
        called += [n for n in names if n in functions]
    return called


def tf_function(c, function, functions, called):
    args = {first(a, 1) for a in all_of(first(function, 1), 2)}
    tf_graph(c, all_of(function, 3), args, functions, called)


def tf_graph(c, nodes, formal, functions, called):
    known = {first(n, 1) for n in nodes}
    for node in nodes:
        c.nodes += 1
        for text in all_of(node, 3):
            control = text.startswith(b"^")
            name = text.lstrip(b"^").split(b":")[0]
            if name in formal or name not in known:
                continue
            c.edges += 1
            c.control += control
        for name in tf_calls(node, functions):
            called.add(name)
            tf_function(c, functions[name], functions, called)


def tf_graph_def(graph):
    functions = {first(first(f, 1), 1): f for lib in all_of(graph, 2) for f in all_of(lib, 1)}
    c, called = Count(), set()
    tf_graph(c, all_of(graph, 1), set(), functions, called)
    for name, function in functions.items():  # what nobody has called so far is shown by itself
        if name not in called:
            tf_function(c, function, functions, called)
    return c


def tf_meta(path):
    return tf_graph_def(first(open(path, "rb").read(), 2))


def tf_saved(path):
    return tf_graph_def(first(first(open(path, "rb").read(), 2), 2))


def count_named(nodes):
    c = Count()
    known = {n for n, _ in nodes}
    for _, inputs in nodes:
        c.nodes += 1
        for text in inputs:
            if text.lstrip("^").split(":")[0] in known:
                c.edges += 1
                c.control += text.startswith("^")
    return c


def tf_json(path):
    topology = json.load(open(path))["modelTopology"]
    return count_named([(n["name"], n.get("input", [])) for n in topology["node"]])


def tf_text(path):
    """Nodes at the left margin, closed by a brace there, as the printer of protobuf writes them."""
    text = (gzip.open if path.endswith(".gz") else open)(path, "rt").read()
    nodes = []
    for block in re.findall(r"^node \{\n(.*?)^\}", text, re.S | re.M):
        nodes.append((re.search(r'^  name: "(.*)"', block, re.M).group(1),
                      re.findall(r'^  input: "(.*)"', block, re.M)))
    return count_named(nodes)


def mindspore(path):
    b = open(path, "rb").read()
    known = {first(n, 2) for n in all_of(b, 1)}
    c = Count()
    for node in all_of(b, 1):
        c.nodes += 1
        for entry in all_of(node, 1):
            c.edges += first(entry, 1) in known
            c.control += first(entry, 1) in known and first(entry, 2, 0) == 1
    return c


def mindspore_merged(path):
    c = Count()
    for stage in json.load(gzip.open(path))["graphs"].values():
        known = {n["node_id"] for n in stage["op_nodes"]}
        for node in stage["op_nodes"]:
            c.nodes += 1
            c.edges += sum(i in known for i in node["input"])
    return c


def chakra(path):
    b = gzip.open(path).read()
    nodes, i = [], 0
    while i < len(b):
        n, i = varint(b, i)
        nodes.append(b[i:i + n])
        i += n
    nodes = nodes[1:]
    known = {first(n, 1, 0) for n in nodes}
    c = Count()
    for node in nodes:
        c.nodes += 1
        for number in (4, 5):
            n = sum(d in known for v in all_of(node, number) for d in packed(v))
            c.edges += n
            c.control += n if number == 4 else 0
    return c


def cases(data):
    for path in sorted(glob.glob(f"{data}/graphs/onnx/*.onnx")):
        if not path.endswith("corrupted.onnx"):
            yield path, onnx
    tensorflow = f"{data}/graphs/tensorflow"
    yield f"{tensorflow}/minitaur_reactive.meta", tf_meta
    yield f"{tensorflow}/kws_saved_model.pb", tf_saved
    yield f"{tensorflow}/simple_add_saved_model.pb", tf_saved
    yield f"{tensorflow}/impala_graph.pbtxt.gz", tf_text
    yield f"{tensorflow}/tb_demo_graph.pbtxt", tf_text
    for name in ("centernet", "faceboxes", "handlandmark-sparse"):
        yield f"{tensorflow}/{name}.json", tf_json
    yield f"{data}/graphs/mindspore/lenet.pb", mindspore
    for path in sorted(glob.glob(f"{data}/mindspore/parallel-graph/*.json.gz")):
        yield path, mindspore_merged
    yield f"{data}/execution-trace/chakra.0.et.gz", chakra


def main():
    marey, shared = sys.argv[1:3]
    data = os.path.join(os.environ.get("MAREY_SHARED", shared), "data")
    if not os.path.isdir(f"{data}/graphs"):
        print(f"skipped: no real graphs at {data}")
        return 77
    bad = n = 0
    for path, count in cases(data):
        c = count(path)
        answer = subprocess.run([marey, "graph", path, "--json"], capture_output=True, text=True)
        said = json.loads(answer.stdout) if answer.returncode == 0 else {}
        got = tuple(said.get(k) for k in ("nodes", "edges", "control_edges"))
        n += 1
        if got != (c.nodes, c.edges, c.control):
            bad += 1
            print(f"{os.path.basename(path)}: counted {(c.nodes, c.edges, c.control)}, marey says {got} {answer.stderr}")
    print(f"{n} files, {bad} that differ")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
