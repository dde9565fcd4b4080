#!/usr/bin/env python3
"""Contract: files stay below 800 lines, functions below 80, the median function is short, tests open with prose.

    sizes.py SOURCE_DIR

Counts by the house's format (clang-format: a function's opening brace stands alone in column 0), so it needs no parser.
"""
import pathlib
import statistics
import sys

MAX_FILE, MAX_FUNCTION, MAX_MEDIAN = 800, 80, 16


def functions(lines):
    start = None
    for number, line in enumerate(lines, 1):
        if line == '{' and start is None:
            start = number
        elif line == '}' and start is not None:
            yield start, number - start - 1
            start = None


def main():
    source = pathlib.Path(sys.argv[1])
    found, lengths = [], []
    files = sorted(p for top in ('src', 'tests', 'tools') for p in (source / top).rglob('*.[ch]'))
    for path in files:
        lines = path.read_text().splitlines()
        name = path.relative_to(source)
        if len(lines) >= MAX_FILE:
            found.append('%s: %d lines' % (name, len(lines)))
        for start, length in functions(lines):
            if str(name).startswith('src'):
                lengths.append(length)
            if length > MAX_FUNCTION:
                found.append('%s:%d: a function of %d lines' % (name, start, length))
        if path.name.startswith('test_') and not (lines and lines[0].startswith('/*')):
            found.append('%s: does not open with its contract in prose' % name)
    median = statistics.median(lengths) if lengths else 0
    if median > MAX_MEDIAN:
        found.append('the median function has %d lines' % median)
    print('%d files, %d functions in src, median %d lines, longest %d' % (len(files), len(lengths), median, max(lengths, default=0)))
    print('\n'.join(found))
    return 1 if found or not lengths else 0


sys.exit(main())
