#!/usr/bin/env python3
"""Contract: every header compiles alone, as C11.

    headers.py SOURCE_DIR CC
"""
import pathlib
import subprocess
import sys


def main():
    source, cc = pathlib.Path(sys.argv[1]), sys.argv[2]
    found, n = [], 0
    for path in sorted((source / 'src').glob('*/*.h')):
        name = path.relative_to(source / 'src')
        if name.parts[0] == 'gpu':
            continue  # needs the generated glad header
        n += 1
        command = [cc, '-x', 'c', '-std=c11', '-fsyntax-only', '-D_GNU_SOURCE', '-I', str(source / 'src'), '-I', '/usr/include/hdf5/serial',
                   '-I', '/usr/include/freetype2', '-I', '/usr/include/harfbuzz', '-']
        result = subprocess.run(command, input='#include "%s"\n' % name, text=True, capture_output=True)
        if result.returncode:
            found.append('%s does not compile alone:\n%s' % (name, result.stderr[:600]))
    print('%d headers, %d that do not compile alone' % (n, len(found)))
    print('\n'.join(found))
    return 1 if found or n == 0 else 0


sys.exit(main())
