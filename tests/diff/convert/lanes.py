#!/usr/bin/env python3
"""Contract: for every real Kineto file, `marey info --json` gives per (pid, tid) the same number of events, the same union
and the same sum of durations, to the nanosecond, as an independent computation from the JSON text (check/lanes.py in the
shared folder). Skipped (77) where the shared folder is absent.

    lanes.py MAREY SOURCE_DIR
"""
import os
import subprocess
import sys
import tempfile


def main():
    marey, source = sys.argv[1], sys.argv[2]
    shared = os.environ.get('MAREY_SHARED') or os.path.join(source, '..', 'shared')
    check = os.path.join(shared, 'check', 'lanes.py')
    if not os.path.exists(check):
        print('skipped: no real inputs at %s (set MAREY_SHARED)' % shared)
        return 77
    bad, n = 0, 0
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, 'run.h5')
        for where, _, names in sorted(os.walk(os.path.join(shared, 'data', 'kineto'))):
            for name in sorted(names):
                path = os.path.join(where, name)
                done = subprocess.run([marey, 'convert', '--quiet', path, '-o', out], capture_output=True, text=True)
                if 'not-a-trace' in where:
                    polite = done.returncode == 1 and len(done.stderr.strip().splitlines()) == 1 and not os.path.exists(out)
                    bad += not polite
                    print('%s: %s' % (name, done.stderr.strip()))
                    continue
                n += 1
                if done.returncode != 0:
                    bad += 1
                    print('%s: exit %d: %s' % (name, done.returncode, done.stderr))
                    continue
                compared = subprocess.run([sys.executable, check, path, out, marey], capture_output=True, text=True)
                if compared.returncode != 0:
                    bad += 1
                    print('%s: %s%s' % (name, compared.stdout, compared.stderr))
                os.unlink(out)
    print('%d files, %d bad' % (n, bad))
    return 1 if bad or n < 20 else 0


sys.exit(main())
