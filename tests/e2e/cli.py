#!/usr/bin/env python3
"""The command line's contract, checked on the built program.

- `--version`, `--help` of the menu and of every command in it: exit 0, text on standard output, nothing on standard error.
- Wrong usage: exit 2, nothing on standard output, one line on standard error that names the nearest word or what was expected.
- Input that can't be used: exit 1, nothing on standard output, the file's name and one sentence on standard error, nothing written.
- `--json`: standard output is one JSON object with schema 1 and nothing else, with the keys of the contract.
- `grid`: bins cut the range without a gap, sums fit, the human table has a line per bin.
- A run pushed to the end of 2^62 ns gives, in rows and ticks, the picture that it gives at the beginning.
- Raw input is converted into the cache folder once, found there the second time, and anew when the input changed.

usage: cli.py MAREY VIEWER(0|1)
"""
import json
import os
import subprocess
import sys
import tempfile
import zlib

MAREY = os.path.abspath(sys.argv[1])
VIEWER = sys.argv[2] not in ('0', 'OFF')
failures = []


def run(*args, env=None):
    return subprocess.run([MAREY, *map(str, args)], capture_output=True, text=True, timeout=300,
                          env={**os.environ, **(env or {})}, stdin=subprocess.DEVNULL)


def check(condition, what, done=None):
    if not condition:
        failures.append(what)
        print('FAILED: ' + what)
        if done is not None:
            print('  exit %d\n  out: %r\n  err: %r' % (done.returncode, done.stdout[:400], done.stderr[:400]))


def refused(code, part, *args, env=None):
    done = run(*args, env=env)
    what = 'marey %s is refused with exit %d and "%s"' % (' '.join(map(str, args)), code, part)
    lines = done.stderr.splitlines()
    check(done.returncode == code and done.stdout == '' and len(lines) == 1 and part in lines[0], what, done)


def answer(*args):
    done = run(*args)
    check(done.returncode == 0, 'marey %s succeeds' % ' '.join(map(str, args)), done)
    return done


def json_answer(*args):
    done = answer(*args)
    try:
        got = json.loads(done.stdout)
    except ValueError as error:
        check(False, 'marey %s prints JSON (%s)' % (' '.join(map(str, args)), error), done)
        return {}
    check(got.get('schema') == 1 and done.stdout.strip('\n').count('\n') == 0, 'one object with schema 1', done)
    return got


def commands():
    menu = run('--help').stdout
    return [line.split()[0] for line in menu.splitlines() if line.startswith('  ')]


def check_help():
    names = commands()
    want = ['convert', 'info', 'grid', 'stats', 'report', 'graph', 'synth', 'help'] + (['open', 'render', 'bench'] if VIEWER else [])
    check(sorted(names) == sorted(want), 'the menu lists exactly %s, not %s' % (want, names))
    for args in [['--version'], ['--help'], ['-h'], ['help']] + [[n, '--help'] for n in names] + [['help', n] for n in names]:
        done = run(*args)
        check(done.returncode == 0 and done.stdout and not done.stderr, 'marey %s prints help' % ' '.join(args), done)
    for name in names:
        text = run(name, '--help').stdout
        check(text.startswith('usage: marey %s' % name) and '--help' in text, 'usage of ' + name)
        check(max(map(len, text.splitlines())) <= 120, 'the help of %s fits 120 columns' % name)


def check_usage():
    check(run().returncode == 2, 'without arguments: exit 2')
    refused(2, 'did you mean `marey convert`?', 'convret')
    refused(2, '`marey help`', 'xyzzy')
    refused(2, 'did you mean --bins?', 'grid', 'x.h5', '--bisn', '3')
    refused(2, 'usage is: marey grid FILE', 'grid')
    refused(2, '--bins wants', 'grid', 'x.h5', '--bins', '0')
    refused(2, '--time wants', 'grid', 'x.h5', '--time', '2s..1s')
    refused(2, '--time wants', 'grid', 'x.h5', '--time', 'yesterday')
    refused(2, 'no command', 'help', 'nothing')
    if VIEWER:
        refused(2, '-o OUT.png is missing', 'render', 'x.h5')
        refused(2, 'must end in .png', 'render', 'x.h5', '-o', 'x.jpg')
        refused(2, 'dark|light', 'render', 'x.h5', '-o', 'x.png', '--theme', 'blue')
        refused(2, '--size wants WxH', 'render', 'x.h5', '-o', 'x.png', '--size', '0x0')
        refused(2, '--frames wants', 'bench', 'x.h5', '--frames', '0')


def check_bad_input(folder):
    names = {'empty.h5': b'', 'text.h5': b'hello\n', 'hdf.h5': b'\x89HDF\r\n\x1a\n' + b'\0' * 600, 'cut.json': b'{"traceEv'}
    cache = {'XDG_CACHE_HOME': os.path.join(folder, 'bad-cache')}
    for name, content in names.items():
        path = os.path.join(folder, name)
        with open(path, 'wb') as f:
            f.write(content)
        commands = [['grid', path]] + ([['render', path, '-o', os.path.join(folder, 'bad.png')]] if VIEWER else [])
        for args in commands:
            done = run(*args, '--quiet', env=cache)
            check(done.returncode == 1 and done.stdout == '' and name in done.stderr, 'marey %s says why not' % args, done)
    refused(1, 'nowhere.json', 'grid', os.path.join(folder, 'nowhere.json'), env=cache)
    check(not os.path.exists(os.path.join(folder, 'bad.png')), 'no picture of bad input')
    left = [f for _, _, files in os.walk(os.path.join(cache['XDG_CACHE_HOME'], 'marey')) for f in files]
    check(left == [], 'nothing left in the cache folder: %s' % left)


def check_grid(run_h5, info):
    end = info['time']['duration_ns']
    grid = json_answer('grid', run_h5, '--time', '0..%dns' % end, '--bins', 7, '--rows', 'all,rank:0,lane:0', '--json')
    check(grid.get('time') == [0, end] and grid.get('bins') == 7 and len(grid.get('rows', [])) == 3, 'grid has 3 rows of 7 bins')
    for row in grid.get('rows', []):
        for key in ('busy_ns', 'count', 'category', 'longest_ns', 'longest_event', 'share_ns'):
            check(len(row[key]) == 7, '%s of %s has 7 bins' % (key, row['row']))
        for k in range(7):
            width = (k + 1) * end // 7 - k * end // 7
            check(0 <= row['busy_ns'][k] <= width, 'busy fits the bin')
            check(all(0 <= s <= row['busy_ns'][k] for s in row['share_ns'][k]), 'a share is no more than busy')
            check((row['count'][k] == 0) == (row['category'][k] == -1), 'a category where there are events')
    lane = info['lanes'][0]
    one = json_answer('grid', run_h5, '--bins', 1, '--rows', 'lane:%d' % lane['lane'], '--json', '--time', '0..%dns' % (end + 1))
    check(one['rows'][0]['busy_ns'] == [lane['busy_ns']] and one['rows'][0]['count'] == [lane['events']],
          'one bin over everything is what info says of the lane: %s, %s' % (one['rows'][0]['busy_ns'], lane))
    table = answer('grid', run_h5, '--bins', 5, '--rows', 'rank:0').stdout.splitlines()
    check(len(table) == 7, 'the table has two head lines and one per bin')
    refused(2, 'no rank 99', 'grid', run_h5, '--rows', 'rank:99')
    refused(2, 'No row is named', 'grid', run_h5, '--rows', 'nobody*')


def png_size(path):
    with open(path, 'rb') as f:
        head = f.read(24)
    return (int.from_bytes(head[16:20], 'big'), int.from_bytes(head[20:24], 'big')) if head[:4] == b'\x89PNG' else None


def check_render(run_h5, folder):
    pictures = {}
    for options in ([], ['--theme', 'light'], ['--layout', 'marey'], ['--time', '1ms..2ms'], ['--rows', 'rank 1'],
                    ['--size', '640x400', '--scale', '2']):
        path = os.path.join(folder, 'p%d.png' % len(pictures))
        done = answer('render', run_h5, '-o', path, *options)
        check(done.stdout == '', 'render prints nothing on standard output', done)
        check(png_size(path) == ((640, 400) if '--size' in options else (1920, 1080)), 'the size of %s' % options)
        with open(path, 'rb') as f:
            pictures[' '.join(options)] = f.read()
    check(len(set(pictures.values())) == len(pictures), 'each option changes the picture')
    again = os.path.join(folder, 'again.png')
    answer('render', run_h5, '-o', again)
    with open(again, 'rb') as f:
        check(f.read() == pictures[''], 'the same picture again, byte for byte')
    refused(2, 'lies outside', 'render', run_h5, '-o', again, '--time', '5h..6h')
    refused(2, 'nobody', 'render', run_h5, '-o', again, '--rows', 'nobody')
    refused(1, 'nodir', 'render', run_h5, '-o', os.path.join(folder, 'nodir', 'x.png'))
    refused(1, 'no OpenGL without a window', 'render', run_h5, '-o', again, env={'__EGL_VENDOR_LIBRARY_DIRS': '/nonexistent'})
    bench = json_answer('bench', run_h5, '--json', '--frames', 10, '--size', '640x400')
    for key in ('renderer', 'size', 'script', 'frames', 'floor_ms', 'first_picture_ms', 'first_complete_ms', 'median_ms',
                'p99_ms', 'max_ms', 'primitives_max', 'draw_calls_max', 'bytes_read', 'bytes_read_max', 'tiles',
                'rss_peak_bytes'):
        check(key in bench, 'bench has ' + key)
    json_answer('bench', run_h5, '--json', '--frames', 3, '--size', '640x400', '--script', 'views')


def png_rows(path):
    """The lines of an RGB or RGBA picture as bytes, without filters."""
    with open(path, 'rb') as f:
        data = f.read()
    at, packed = 8, b''
    while at < len(data):
        length = int.from_bytes(data[at:at + 4], 'big')
        if data[at + 4:at + 8] == b'IDAT':
            packed += data[at + 8:at + 8 + length]
        at += 12 + length
    width, height = png_size(path)
    depth = 4 if data[25] == 6 else 3
    raw, stride, rows = zlib.decompress(packed), width * depth, []
    before = bytearray(stride)
    for y in range(height):
        kind = raw[y * (stride + 1)]
        line = bytearray(raw[y * (stride + 1) + 1:(y + 1) * (stride + 1)])
        for i in range(stride):
            a = line[i - depth] if i >= depth else 0
            b, c = before[i], before[i - depth] if i >= depth else 0
            if kind == 4:
                p = a + b - c
                best = min((abs(p - v), k, v) for k, v in enumerate((a, b, c)))
                line[i] = (line[i] + best[2]) & 255
            elif kind:
                line[i] = (line[i] + (a, b, (a + b) // 2)[kind - 1]) & 255
        rows.append(bytes(line))
        before = line
    return rows, depth


def check_late(folder):
    """A run that lies 146 years after its first event looks, nanosecond by nanosecond, as one that lies 5 ms after it."""
    rows = {}
    for name, base_us in (('early', 5000), ('late', 4611686018427000)):
        events = ['{"ph":"X","cat":"kernel","name":"first","pid":0,"tid":7,"ts":0,"dur":1,"args":{"stream":7}}']
        for i in range(40):
            events.append('{"ph":"X","cat":"kernel","name":"gemm_%d","pid":0,"tid":7,"ts":%d.%03d,"dur":0.0%02d,'
                          '"args":{"stream":7}}' % (i % 3, base_us + i // 10, i % 10 * 100 + i % 7, 30 + i))
        path = os.path.join(folder, name + '.json')
        with open(path, 'w') as f:
            f.write('{"traceEvents":[%s]}' % ','.join(events))
        answer('convert', path, '-o', path + '.h5')
        for a, b in ((0, 3000), (0, 400), (103, 123), (1511, 1531)):
            picture = os.path.join(folder, name + '.png')
            answer('render', path + '.h5', '-o', picture, '--size', '1000x400', '--time',
                   '%dns..%dns' % (base_us * 1000 + a, base_us * 1000 + b))
            lines, depth = png_rows(picture)
            rows[name, a, b] = [line[depth * 252:] for line in lines[124:372]]
            check(len(set(rows[name, a, b])) > 2, 'something is drawn')
    table = answer('grid', os.path.join(folder, 'late.json.h5'), '--bins', 4, '--time',
                   '4611686018427000000ns..4611686018427000400ns').stdout
    check('4611686018.427\u2009000\u2009300 s' in table, 'the table says each bin\'s nanosecond')
    for (name, a, b), lines in rows.items():
        check(name == 'early' or lines == rows['early', a, b], 'ns %d to %d look the same, early and late' % (a, b))


def check_cache(folder):
    raw = os.path.join(folder, 'raw.json')
    cache = {'XDG_CACHE_HOME': os.path.join(folder, 'cache')}

    def write(n):
        events = [{'ph': 'X', 'name': 'work', 'pid': 1, 'tid': 1, 'ts': 10 * i, 'dur': 5} for i in range(n)]
        with open(raw, 'w') as f:
            json.dump({'traceEvents': events}, f)

    def ask():
        done = run('grid', raw, '--json', '--bins', 1, '--rows', 'all', env=cache)
        check(done.returncode == 0, 'grid of raw input', done)
        files = os.listdir(os.path.join(cache['XDG_CACHE_HOME'], 'marey'))
        return json.loads(done.stdout)['rows'][0]['count'][0], len(files)

    write(3)
    check(ask() == (3, 1), 'raw input is converted')
    check(ask() == (3, 1), 'and found again')
    write(4)
    check(ask() == (4, 2), 'and converted anew when it changed')


def stage_graph(stage, peer, is_send):
    """One pipeline stage as MindSpore writes it: an operator, and a send or a receive."""
    transfer = {'node_id': '2', 'name': 'Default/%s-op%d' % ('Send' if is_send else 'Receive', stage), 'scope': 'Default',
                'type': 'Send' if is_send else 'Receive',
                'attr': {'dest_rank' if is_send else 'src_rank': str(peer), 'sr_tag': '0', 'group': '2-0'},
                'input': ['1'] if is_send else ['nobody'], 'output_shape': [4], 'output_data_type': ''}
    matmul = {'node_id': '1', 'name': 'Default/MatMul-op%d' % stage, 'scope': 'Default', 'type': 'MatMul', 'attr': {},
              'input': [] if is_send else ['2'], 'output_shape': [4], 'output_data_type': ''}
    return {'metadata': {}, 'graphs': {str(stage): {'rank_ids': [stage], 'op_nodes': [matmul, transfer],
                                                    'parameter_nodes': []}}}


def check_graph_folder(folder):
    """A folder of pipeline stages is one graph, the same as its files named one by one."""
    stages = os.path.join(folder, 'stages')
    os.mkdir(stages)
    paths = [os.path.join(stages, 'stage%d.json' % i) for i in range(2)]
    for i, path in enumerate(paths):
        with open(path, 'w') as f:
            json.dump(stage_graph(i, 1 - i, i == 0), f)
    named = json_answer('graph', *paths, '--json')
    found = json_answer('graph', stages, '--json')
    keys = ('nodes', 'edges', 'implied_edges', 'stages')
    check([named[k] for k in keys] == [found[k] for k in keys] and found['stages'] == 2 and found['nodes'] == 4,
          'a folder of stages is the graph of its files')
    said = run('graph', stages).stderr
    check('"nobody"' in said and 'at byte 1099511627775' not in said, 'no byte is named where none is known')


def main():
    check_help()
    check_usage()
    with tempfile.TemporaryDirectory() as folder:
        check_bad_input(folder)
        check_cache(folder)
        check_graph_folder(folder)
        run_h5 = os.path.join(folder, 'run.h5')
        answer('synth', run_h5, '--preset', 'resnet50', '--ranks', 4, '--steps', 2, '--seed', 3)
        info = json_answer('info', run_h5, '--json')
        check_grid(run_h5, info)
        if VIEWER:
            check_render(run_h5, folder)
            check_late(folder)
    print('%d checks failed' % len(failures))
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
