#!/usr/bin/env python3
"""What the readers of graph files should find, counted another way: with regular expressions line by line, Python's JSON,
and the rules of the formats written again. Prints "nodes N edges E scopes S" of one file.

    expect_graph.py hlo|mlir|dot|model-explorer|execution-trace FILE
"""
import gzip
import json
import re
import sys


def load(path):
    data = open(path, "rb").read()
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def closing(text, start):
    """Where the bracket at start closes."""
    depth = 0
    for i in range(start, len(text)):
        depth += text[i] in "([{"
        depth -= text[i] in ")]}"
        if depth == 0:
            return i
    return len(text)


def top_parts(path):
    parts, depth, at = [], 0, ""
    for c in path:
        depth += c in "([{"
        depth -= c in ")]}"
        if c == "/" and depth == 0:
            parts.append(at)
            at = ""
        else:
            at += c
    return parts + [at]


def hlo(text):
    """Instructions, their operands inside their computation, and the scopes that the paths of the entry name."""
    nodes = edges = 0
    scopes = set()
    body, entry = None, False
    for line in text.split("\n"):
        if body is None:
            if line.rstrip().endswith("{"):
                body, entry = [], line.startswith("ENTRY")
            continue
        if line.startswith("}"):
            names = {name for name, _ in body}
            nodes += len(body)
            edges += sum(1 for _, uses in body for use in uses if use in names)
            body = None
            continue
        m = re.match(r"\s+(?:ROOT )?%?([^ ]+) = ", line)
        if not m:
            continue
        at = m.end()
        at = closing(line, at) + 1 if line[at] == "(" else line.index(" ", at)
        open_at = line.index("(", at)
        opcode = line[at:open_at].strip()
        uses = []
        if opcode not in ("constant", "parameter"):
            inside = re.sub(r"/\*.*?\*/", "", line[open_at + 1:closing(line, open_at)])
            depth, piece = 0, ""
            for c in inside + ",":
                depth += c in "([{"
                depth -= c in ")]}"
                if c == "," and depth == 0:
                    if piece.strip():
                        uses.append(piece.split()[-1].lstrip("%"))
                    piece = ""
                else:
                    piece += c
        body.append((m.group(1), uses))
        path = re.search(r'op_name="([^"]*)"', line)
        if entry and path:
            parts = [p for p in top_parts(path.group(1))[:-1] if p not in ("jit(main)", "")]
            scopes.update(tuple(parts[:k + 1]) for k in range(len(parts)))
    return nodes, edges, len(scopes)


def mlir(text):
    """Operations but modules and functions, and the values that they take."""
    nodes = edges = 0
    in_arguments = False
    for line in text.split("\n"):
        line = re.sub(r'"[^"]*"', lambda m: m.group(0) if "." in m.group(0) and " " not in m.group(0) else '""', line)
        if line.startswith("#") or line.startswith("-") or not line.strip():
            continue
        if in_arguments:
            in_arguments = not line.rstrip().endswith("{")
            continue
        m = re.match(r'\s*(?:(%[^=]*)= )?("?[a-z_][\w.]*"?)', line)
        if not m:
            continue
        name = m.group(2).strip('"')
        if name in ("module", "builtin.module") or name.endswith("device_module") or name == "reducer":
            continue
        if name == "func.func":
            in_arguments = not line.rstrip().endswith("{")
            continue
        nodes += 1
        rest = re.sub(r"loc\(.*", "", line[m.end():])
        rest = re.sub(r"%\w+: [^,)]*", "", rest)
        edges += len(re.findall(r"%\w+", rest))
    return nodes, edges, 0


def dot(text):
    """Names before a bracket, arrows, prefixes of names with slashes, and clusters."""
    nodes, edges, scopes = {}, 0, set()
    graph = -1
    for line in re.sub(r"<\s*<TABLE.*?</TABLE>\s*>", "html", text, flags=re.S).split("\n"):
        line = line.strip()
        if line.startswith(("strict digraph", "digraph")):
            graph += 1
        elif line.startswith("subgraph cluster"):
            scopes.add((graph, line))
        elif "->" in line:
            edges += 1
        elif re.match(r'("[^"]+"|\w+) \[', line) and not line.startswith(("node [", "edge [", "graph [")):
            name = line[1:line.index('"', 1)] if line[0] == '"' else line.split(" [")[0]
            nodes[(graph, name)] = 1
            parts = name.split("/")[:-1]
            scopes.update((graph,) + tuple(parts[:k + 1]) for k in range(len(parts)))
    return len(nodes), edges, len(scopes) + (graph + 1 if graph > 0 else 0)


def model_explorer(text):
    doc = json.loads(text)
    graphs = doc.get("graphs") or doc.get("subgraphs")
    nodes = sum(len(g["nodes"]) for g in graphs)
    edges = sum(len(n.get("incomingEdges", [])) for g in graphs for n in g["nodes"])
    scopes = set()
    for i, g in enumerate(graphs):
        for n in g["nodes"]:
            parts = [p for p in n.get("namespace", "").split("/") if p]
            scopes.update((i,) + tuple(parts[:k + 1]) for k in range(len(parts)))
    return nodes, edges, len(scopes) + (len(graphs) if len(graphs) > 1 else 0)


def is_tensor(v):
    return isinstance(v, list) and len(v) == 6 and isinstance(v[5], str)


def tensors(values):
    found = []
    for arg, v in enumerate(values):
        if is_tensor(v):
            found.append((arg, v))
        elif isinstance(v, list) and v and is_tensor(v[0]):
            found += [(arg, t) for t in v]
    return found


def execution_trace(text):
    """Every tensor that a deepest node takes and that somebody wrote before; a scope per node with children."""
    nodes = sorted(json.loads(text)["nodes"], key=lambda n: n["id"])
    parent = {n["id"]: n["parent"] for n in nodes}
    above = set()
    for n in nodes:
        if tensors(n["inputs"]) or tensors(n["outputs"]):
            at = n["id"]
            while parent[at] != at:
                at = parent[at]
                above.add(at)
    edges = 0
    by_tensor, written = set(), {}
    for n in nodes:
        ins, outs = tensors(n["inputs"]), tensors(n["outputs"])
        if n["id"] in above:
            continue
        span = [(t[1], t[2] * t[4], (t[2] + t[3]) * t[4]) for _, t in ins]
        for (_, t), (storage, begin, end) in zip(ins, span):
            touches = any(b < end and begin < e for b, e in written.get(storage, [])) if storage > 0 else False
            edges += t[0] in by_tensor or touches
        schema = n["op_schema"]
        args = schema.split("->")[0]
        names = re.split(r",(?![^\[]*\])", args)
        collective = n["name"].startswith(("nccl:", "c10d::")) or n["name"] == "record_param_comms"
        view = re.search(r"->.*\(a[ )]", schema) is not None
        wrote = [t for arg, t in ins if collective or (arg < len(names) and "!" in names[arg])]
        for t in wrote + [t for _, t in outs]:
            by_tensor.add(t[0])
            if t in wrote or not view:
                written.setdefault(t[1], []).append((t[2] * t[4], (t[2] + t[3]) * t[4]))
    parents = {n["parent"] for n in nodes}
    return len(nodes), edges, len(parents & set(parent))


def main():
    text = load(sys.argv[2]).decode(errors="replace")
    kinds = {"hlo": hlo, "mlir": mlir, "dot": dot, "model-explorer": model_explorer, "execution-trace": execution_trace}
    print("nodes %d edges %d scopes %d" % kinds[sys.argv[1]](text))


main()
