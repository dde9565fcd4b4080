#!/usr/bin/env python3
"""Contract: what `cmake --install` puts into a prefix is enough for a program outside of marey: by the CMake package and by
pkg-config it compiles, links and runs; it reads what `marey info` and `marey grid` of the installed program say; it draws the
picture that `marey render` draws; and the library gives it no name but marey_*.

    install.py BUILD_DIR SOURCE_DIR CMAKE VIEWER
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

BUILD, SOURCE, CMAKE, VIEWER = sys.argv[1:5]


def run(*command, **more):
    done = subprocess.run([str(c) for c in command], text=True, capture_output=True, **more)
    if done.returncode != 0:
        print('%s\n%s%s' % (' '.join(map(str, command)), done.stdout[-3000:], done.stderr[-3000:]))
        sys.exit(77 if done.returncode == 77 else 1)
    return done.stdout


def expect(what, ok):
    if not ok:
        print('FAILED: ' + what)
        sys.exit(1)


def check_answers(said, marey, h5):
    info = json.loads(run(marey, 'info', h5, '--json'))
    expect('totals', said['events'] == info['events'] > 0 and said['duration_ns'] == info['time']['duration_ns'])
    expect('ranks', [r['rank'] for r in said['ranks']] == [r['rank'] for r in info['ranks']])
    for i, rank in enumerate(said['ranks']):
        grid = json.loads(run(marey, 'grid', h5, '--rows', 'rank:%d' % rank['rank'], '--time', '0..%d' % said['duration_ns'],
                              '--bins', '7', '--json'))
        expect('sums of rank %d' % rank['rank'], grid['rows'][0]['busy_ns'] == rank['busy_ns'])
        lanes = [l for l in info['lanes'] if l['rank'] == rank['rank'] and l['kind'] not in ('step', 'phase')]
        expect('events of rank %d' % rank['rank'], sum(l['events'] for l in lanes) == rank['events'])
        expect('time of rank %d' % rank['rank'], sum(l['sum_ns'] for l in lanes) == rank['sum_ns'])


def check_names(archive):
    names = run('nm', '-g', '--defined-only', archive).split('\n')
    names = [line.split()[-1] for line in names if len(line.split()) == 3]
    expect('names of %s: %s' % (archive, names), names and all(n.startswith('marey_') for n in names))


def main():
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        prefix = folder / 'prefix'
        run(CMAKE, '--install', BUILD, '--prefix', prefix)
        marey = prefix / 'bin' / 'marey'
        libdir = next(prefix.glob('lib*/**/libmarey-data.a')).parent
        check_names(libdir / 'libmarey-data.a')
        run(CMAKE, '-S', SOURCE + '/tests/e2e/install', '-B', folder / 'outside', '-DCMAKE_PREFIX_PATH=%s' % prefix)
        run(CMAKE, '--build', folder / 'outside')
        run(marey, 'synth', folder / 'run', '--preset', 'pangu-13b', '--ranks', '4', '--steps', '1', '--events-per-rank', '300')
        h5 = folder / 'run.h5'
        said = json.loads(run(folder / 'outside' / 'outside', folder / 'run', h5))
        check_answers(said, marey, h5)
        run(folder / 'outside' / 'headers')
        package = dict(os.environ, PKG_CONFIG_PATH=str(libdir / 'pkgconfig'))
        flags = run('pkg-config', '--cflags', '--libs', 'marey-data', env=package).split()
        run('cc', '-std=c11', SOURCE + '/tests/e2e/install/outside.c', '-o', folder / 'by-pkg-config', *flags)
        expect('the same by pkg-config', json.loads(run(folder / 'by-pkg-config', folder / 'run', folder / 'again.h5')) == said)
        expect('documents', list(prefix.glob('share/doc/**/README.md')) and list(prefix.glob('share/doc/**/format.md')))
        if VIEWER == 'ON':
            check_names(libdir / 'libmarey-view.a')
            drawn, rendered = folder / 'drawn.png', folder / 'rendered.png'
            run(folder / 'outside' / 'draws', h5, drawn)
            run(marey, 'render', h5, '-o', rendered, '--size', '640x360', '--layout', 'marey', '--theme', 'light', '--panels', 'auto',
                '--time', '0..%d' % said['duration_ns'])
            expect('the same picture', drawn.read_bytes() == rendered.read_bytes())
        print('%d ranks, %d events by an outside program' % (len(said['ranks']), said['events']))


main()
