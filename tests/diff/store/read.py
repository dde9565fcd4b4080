"""Read a marey file with nothing but h5py and the code of docs/format.md, and print every event.

usage: read.py FILE FORMAT.md    prints one line per event: row start dur name track class flags instance args-in-hex
       read.py FILE --version V  sets the version attribute
       read.py FILE --remove P   removes an object
       read.py FILE --describe   checks that every object says its unit and meaning
       read.py FILE --metrics    prints the metrics: kind rank a b step time value name tag
"""
import re
import sys

try:
    import h5py
except ImportError:
    sys.exit(77)


def documented_code(path):
    with open(path, encoding="utf-8") as page:
        blocks = re.findall(r"```python\n(.*?)```", page.read(), re.S)
    return blocks[0], blocks[1]


def print_events(path, page):
    first, second = documented_code(page)
    scope = {}
    exec(compile(first.replace('"run.h5"', repr(path)), page, "exec"), scope)  # opens the file, walks all events
    exec(compile(second, page, "exec"), scope)
    f, names, decode = scope["f"], scope["names"], scope["block_args"]
    longdur = dict(zip(f["/events/longdur/row"][:].tolist(), f["/events/longdur/dur"][:].tolist()))
    for block, n in enumerate(f["/blocks/n"][:]):
        n = int(n)
        rows = slice(block * 32768, block * 32768 + n)
        columns = [f["/events/" + c][rows].tolist() for c in ("start", "dur", "name", "class", "flags", "instance")]
        at = f["/blocks/track_first"][block]
        tracks = slice(at, at + f["/blocks/n_tracks"][block])
        track = f["/blocks/tracks/track"][tracks].repeat(f["/blocks/tracks/n"][tracks]).tolist()
        for i, args in enumerate(decode(f, block)):
            start, dur, name, klass, flags, instance = (c[i] for c in columns)
            row = block * 32768 + i
            dur = longdur[row] if dur == 0xFFFFFFFF else dur
            print(row, start, dur, names[name].encode().hex(), track[i], klass, flags, instance, args.hex() or "-")


def describe(path):
    def look(name, item):
        assert item.attrs["meaning"], name
        assert "unit" in item.attrs, name

    with h5py.File(path, "r") as f:
        assert f.attrs["format"] in ("marey", b"marey")
        f.visititems(look)


def print_metrics(path):
    with h5py.File(path, "r") as f:
        raw, start = f["/model/strings/bytes"][:].tobytes(), f["/model/strings/start"][:].tolist()
        columns = [f["/metrics/" + c][:].tolist() for c in ("kind", "rank", "a", "b", "step", "time", "value", "name", "tag")]
        assert len(columns[0]) == f["/model"].attrs["n_metrics"]
        for row in zip(*columns):
            name, tag = (raw[start[i]:start[i + 1] - 1].decode() or "-" for i in row[7:])
            print(*row[:6], repr(row[6]), name, tag)


def main():
    path = sys.argv[1]
    if sys.argv[2] == "--describe":
        describe(path)
    elif sys.argv[2] == "--metrics":
        print_metrics(path)
    elif sys.argv[2] == "--version":
        with h5py.File(path, "r+") as f:
            f.attrs["version"] = sys.argv[3]
    elif sys.argv[2] == "--remove":
        with h5py.File(path, "r+") as f:
            del f[sys.argv[3]]
    else:
        print_events(path, sys.argv[2])


main()
