#!/usr/bin/env python3
"""`marey synth`, end to end on the built program.

- A folder of Kineto JSON, converted, and the file written directly say the same of every thread and lane: events, busy
  time, sums, first and last time, depth; and of collectives, links and names.
- What `marey info` counts per thread equals an independent count from the JSON (within the fitted drift of clocks).
- The computational graph beside the profiler files is the one inside the file: nodes, edges, modules; without
  one, there is none.
- The graph cut into a file for each stage gives the same one: named with --graph, as a folder, or lying beside the run.
- Same parameters, same bytes; another seed, other bytes.
- The truth file names what was injected. Wrong usage: exit 2 and one line; nothing is written.

usage: synth.py MAREY
"""
import collections
import decimal
import filecmp
import json
import os
import subprocess
import sys
import tempfile

MAREY = os.path.abspath(sys.argv[1])
failures = []


def run(*args):
    return subprocess.run([MAREY, *args], capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL)


def check(condition, what):
    if not condition:
        failures.append(what)
        print('FAILED: ' + what)


def must(*args):
    done = run(*args)
    check(done.returncode == 0, 'marey %s: exit %d %s' % (' '.join(args), done.returncode, done.stderr[:200]))
    return done.stdout


def info(path):
    return json.loads(must('info', path, '--json') or '{}')


def threads(found):
    keys = ('events', 'busy_ns', 'sum_ns', 'first_ns', 'last_ns')
    return {(t['rank'], t['pid'], t['tid']): tuple(t[k] for k in keys) for t in found['threads']}


def lanes(found):
    keys = ('rank', 'kind', 'name', 'events', 'depth', 'busy_ns', 'sum_ns', 'first_ns', 'last_ns')
    return sorted(tuple(lane[k] for k in keys) for lane in found['lanes'])


def to_ns(value):
    return int((decimal.Decimal(str(value)) * 1000).to_integral_value())


def counted(folder, ranks):
    """Events, union and sum per thread, from the text alone."""
    sums = {}
    for rank in range(ranks):
        spans = collections.defaultdict(list)
        with open('%s/rank%d.pt.trace.json' % (folder, rank)) as f:
            events = json.load(f, parse_float=decimal.Decimal)['traceEvents']
        for e in events:
            if e['ph'] in 'Xi':
                start = to_ns(e['ts'])
                spans[rank, str(e['pid']), str(e['tid'])].append((start, start + to_ns(e.get('dur', 0))))
        for key, list_ in spans.items():
            busy, end = 0, min(list_)[0]
            for a, b in sorted(list_):
                busy += max(0, b - max(a, end))
                end = max(end, b)
            sums[key] = (len(list_), busy, sum(b - a for a, b in list_))
    return sums


def both_ways(work, name, ranks, *args):
    folder, direct, converted = ('%s/%s%s' % (work, name, end) for end in ('', '.h5', '-json.h5'))
    must('synth', folder, '--quiet', '--ranks', str(ranks), *args)
    must('synth', direct, '--quiet', '--ranks', str(ranks), *args)
    must('convert', folder, '-o', converted, '--quiet')
    a, b = info(converted), info(direct)
    for key in ('events', 'names', 'links', 'collectives', 'steps', 'process_groups'):
        check(a.get(key) == b.get(key), '%s: %s are %s and %s' % (name, key, a.get(key), b.get(key)))
    check(threads(a) == threads(b) and len(threads(a)) > 4 * ranks, '%s: threads are the same both ways' % name)
    check(lanes(a) == lanes(b), '%s: lanes are the same both ways' % name)
    check(a.get('graph') == b.get('graph') and a.get('graph', {}).get('nodes', 0) > 100, '%s: graphs are %s and %s' %
          (name, a.get('graph'), b.get('graph')))
    check(not a['losses'] and not b['losses'], '%s: nothing was lost: %s %s' % (name, a['losses'], b['losses']))
    found, wanted = threads(a), counted(folder, ranks)
    # Where clocks were aligned, a fitted drift stretches durations by its few millionths; elsewhere all is exact.
    part = 1e-4 if '--clock-drift-ppm' in args else 0
    check(found.keys() == wanted.keys(), '%s: the threads are those of the text' % name)
    far = [k for k, w in wanted.items() if found[k][0] != w[0] or
           any(abs(found[k][i] - w[i]) > part * w[i] + (w[0] if part else 0) for i in (1, 2))]
    check(not far, '%s: counts and times equal the text, but for %s' % (name, far[:3]))
    return folder


def determinism(work, folder, ranks, *args):
    again, other = work + '/again', work + '/other'
    must('synth', again, '--quiet', '--ranks', str(ranks), *args)
    must('synth', other, '--quiet', '--ranks', str(ranks), '--seed', '2', *args)
    files = sorted(os.listdir(folder))
    check(files == sorted(os.listdir(again)) and len(files) == ranks + 2, 'the same files come again')
    _, differ, errors = filecmp.cmpfiles(folder, again, files, shallow=False)
    check(not differ and not errors, 'the same bytes come again: %s' % differ)
    same, _, _ = filecmp.cmpfiles(folder, other, [f for f in files if f != 'graph.json'], shallow=False)
    check(not same, 'another seed gives other bytes: %s' % same)


def stages(work, folder):
    """folder: of a run with several stages and its graph"""
    with open(folder + '/graph.json') as f:
        whole = json.load(f)
    os.mkdir(work + '/stages')
    for stage, part in whole['graphs'].items():
        with open('%s/stages/stage-%s.json' % (work, stage), 'w') as f:
            json.dump({'metadata': whole['metadata'], 'graphs': {stage: part}}, f)
    files = sorted(work + '/stages/' + name for name in os.listdir(work + '/stages'))
    keys = ('nodes', 'edges', 'implied_nodes', 'implied_edges', 'scopes', 'stages')
    wanted = json.loads(must('graph', folder + '/graph.json', '--json'))
    for paths in (files, files[::-1], [work + '/stages']):
        found = json.loads(must('graph', *paths, '--json', '--quiet'))
        check(wanted['stages'] == len(files), 'there is a file for each stage')
        check(all(found[k] == wanted[k] for k in keys), 'the stages make the same graph: %s, not %s' %
              ([found[k] for k in keys], [wanted[k] for k in keys]))
    for option in ([work + '/stages'], files):
        must('convert', folder, '-o', work + '/stages.h5', '--quiet', *[word for path in option for word in ('--graph', path)])
        a = info(work + '/stages.h5')
        check(a['graph']['edges'] == wanted['edges'], 'a run takes the graph of all stages')
        check(sum('stage-' in i['path'] for i in a['inputs']) == len(files), 'every stage is an input')


def without_graph(work):
    for name in ('bare', 'bare.h5'):
        must('synth', work + '/' + name, '--quiet', '--ranks', '8', '--steps', '1', '--detail', '5', '--no-graph')
    check('graph.json' not in os.listdir(work + '/bare'), 'no graph is written where none is wanted')
    check(not info(work + '/bare.h5').get('graph'), 'nor into the file')


def truth(folder):
    with open(folder + '/truth.json') as f:
        found = json.load(f)
    check([i['kind'] for i in found['injected']] == ['slow-rank', 'stall'], 'the truth names both faults')
    check(found['injected'][0]['ranks'] == [3] and found['injected'][0]['steps'] == [1], 'the truth says which rank and step')
    check(len(found['clock']) == 16 and len({c['offset_ns'] for c in found['clock']}) == 2, 'the truth has every clock')


def wrong_usage(work):
    for args in (['--inject', 'quake:1'], ['--inject', 'slow-rank:99,2'], ['--inject', 'slow-rank:1'], ['--preset', 'bert'],
                 ['--ranks', '30', '--pp', '8'], ['--steps', '0'], ['--detail', '3'], ['--noise', '7'],
                 ['--inject', 'step-outlier:4,2'], ['--clock-offset', '12parsecs'], ['--format', 'csv'],
                 ['--ranks', '99999999999999999999'], ['--tp', '65']):
        done = run('synth', work + '/wrong', *args)
        lines = done.stderr.splitlines()
        check(done.returncode == 2 and len(lines) == 1 and done.stdout == '',
              'synth %s: exit %d, %s' % (' '.join(args), done.returncode, lines))
        check(not os.path.exists(work + '/wrong'), 'synth %s writes nothing' % ' '.join(args))
    done = run('synth')
    check(done.returncode == 2, 'synth without a target is wrong usage')
    os.mkdir(work + '/mine')
    with open(work + '/mine/notes.txt', 'w') as f:
        f.write('mine')
    done = run('synth', work + '/mine')
    check(done.returncode == 2 and os.listdir(work + '/mine') == ['notes.txt'], 'a folder with something else is left alone')


def main():
    with tempfile.TemporaryDirectory() as work:
        both_ways(work, 'resnet', 4, '--preset', 'resnet50', '--steps', '2')
        args = ('--steps', '2', '--micro-batches', '5', '--detail', '5', '--clock-offset', '12s', '--clock-drift-ppm', '50',
                '--clock-jitter', '1ms', '--inject', 'slow-rank:3,1.5@1', '--inject', 'stall:2')
        folder = both_ways(work, 'pangu', 16, *args)
        truth(folder)
        stages(work, folder)
        determinism(work, folder, 16, *args)
        both_ways(work, 'recompute', 8, '--steps', '1', '--detail', '5', '--recompute', '--p2p-wait', '--grad-sync', 'allreduce')
        both_ways(work, 'no-cpu', 8, '--steps', '1', '--detail', '8', '--no-cpu')
        without_graph(work)
        wrong_usage(work)
    print('%d failures' % len(failures))
    return 1 if failures else 0


sys.exit(main())
