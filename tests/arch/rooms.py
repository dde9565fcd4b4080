#!/usr/bin/env python3
"""Contract: rooms include only what their row of the table allows, and the table has no cycle.

    rooms.py SOURCE_DIR BUILD_DIR

The table is build/rooms.txt, which marey_add_room() writes: one line a room, "name: dep dep". Besides itself and `base`, a
room may include its DEPS. Outside libraries have one door each: hdf5 in store, glad in gpu, EGL in render, GLFW in app,
FreeType, HarfBuzz and fontconfig in text, PNG in render.
"""
import pathlib
import re
import sys

DOORS = {'hdf5': {'store'}, 'H5': {'store'}, 'glad': {'gpu'}, 'EGL': {'render'}, 'GLFW': {'app'}, 'ft2build': {'text'}, 'hb': {'text'},
         'fontconfig': {'text'}, 'png': {'render'}, 'isa-l': {'parse'}, 'zlib': {'parse'}, 'zstd': {'parse'}, 'zip': {'parse'},
         'libdeflate': {'store', 'parse'}}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def read_table(path):
    table = {}
    for line in path.read_text().splitlines():
        room, deps = line.split(':')
        table[room] = set(deps.split())
    return table


def find_cycle(table):
    done = set()
    for start in table:
        stack = [(start, [start])]
        while stack:
            room, way = stack.pop()
            for dep in table.get(room, ()):
                if dep == start:
                    return way + [dep]
                if dep not in done and dep not in way:
                    stack.append((dep, way + [dep]))
        done.add(start)
    return None


def breaches(source, table):
    found, n = [], 0
    for path in sorted((source / 'src').glob('*/*.[ch]')):
        room = path.parent.name
        allowed = table.get(room, set()) | {room, 'base'}
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            n += 1
            kind, target = match.groups()
            where = '%s:%d' % (path.relative_to(source), number)
            if kind == '"':
                other = target.split('/')[0]
                if '/' not in target and not (path.parent / target).exists():
                    continue  # a generated header of the room's own
                if '/' in target and other not in allowed:
                    found.append('%s: room %s may not include "%s"' % (where, room, target))
                continue
            head = re.split(r'[/.]', target)[0]
            if head in DOORS and room not in DOORS[head]:
                found.append('%s: <%s> belongs to room %s' % (where, target, ' or '.join(sorted(DOORS[head]))))
    return found, n


def main():
    source, build = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    table = read_table(build / 'rooms.txt')
    missing = {p.name for p in (source / 'src').iterdir() if p.is_dir()} - set(table)
    found, n = breaches(source, table)
    found += ['src/%s is not declared as a room' % room for room in sorted(missing)]
    cycle = find_cycle(table)
    if cycle:
        found.append('rooms form a cycle: ' + ' -> '.join(cycle))
    print('%d rooms, %d include lines, %d breaches' % (len(table), n, len(found)))
    print('\n'.join(found))
    return 1 if found or n == 0 else 0


sys.exit(main())
