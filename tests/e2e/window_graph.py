#!/usr/bin/env python3
"""The graph in the window, played by hand: a display of its own (Xvfb), real keys and a real pointer, real pixels.

- A file that holds a graph only opens in the graph layout, becomes complete, and sleeps.
- Wheel and drag change the picture, Z brings the first one back, pixel for pixel.
- A double click opens a module and closes it again; U undoes; a click chooses, Escape forgets.
- ] and [ step through a stack's members; K dissolves it and stacks it again.
- / searches, Enter opens what hides the hit and goes there; letters typed there are no commands.
- The switches, the direction, the routing and the colours change the picture and change it back.
- With motion the passage between two layouts has frames in between and ends where it does without.
- ? shows the keys of the graph; Q leaves with exit code 0.

usage: window_graph.py MAREY [FOLDER for pictures]. Exit 77: Xvfb or xdotool is missing.
"""
import json
import os
import shutil
import sys
import tempfile
import time

import window
from window import Display, Window, check, drag, save

LAYERS = 6


def write_graph(path):
    nodes = []

    def add(name, op, namespace, *sources):
        nodes.append({'id': name, 'label': op, 'namespace': namespace,
                      'incomingEdges': [{'sourceNodeId': s, 'sourceNodeOutputId': '0', 'targetNodeInputId': str(i)}
                                        for i, s in enumerate(sources)],
                      'attrs': [{'key': 'layer', 'value': namespace}]})
        return name

    x = add('ids', 'input', '')
    x = add('embed', 'gather', 'embedding', x)
    for k in range(LAYERS):
        at = 'layer_%d' % k
        norm = add(at + '/norm', 'layer_norm', at, x)
        q, key, v = (add('%s/%s' % (at, n), 'matmul', at + '/attention', norm) for n in ('q', 'k', 'v'))
        scores = add(at + '/scores', 'batch_matmul', at + '/attention', q, key)
        soft = add(at + '/softmax', 'softmax', at + '/attention', scores)
        mix = add(at + '/mix', 'batch_matmul', at + '/attention', soft, v)
        out = add(at + '/out', 'matmul', at + '/attention', mix)
        x = add(at + '/add', 'add', at, out, x)
    x = add('logits', 'matmul', 'head', x)
    add('probabilities', 'softmax', 'head', x)
    with open(path, 'w') as f:
        json.dump({'label': 'small', 'graphs': [{'id': 'main', 'nodes': nodes}]}, f)


def play_camera(w, display, home):
    display.do('mousemove', 640, 420, 'click', 4, 'click', 4, 'click', 4)
    zoomed = w.picture()
    check(zoomed != home, 'the wheel zooms')
    drag(display, 640, 420, 500, 380)
    check(w.picture() != zoomed, 'a drag pans')
    drag(display, 500, 380, 640, 420)
    check(w.picture() == zoomed, 'and back, pixel for pixel')
    check(w.keys('z') == home, 'Z shows all of it')
    check(w.keys('w') != home and w.keys('z') == home, 'W zooms in, Z comes back')


def play_choosing(w, display, home, pictures):
    display.do('key', 'slash')
    w.settle()
    display.do('type', 'softmax')
    w.settle()
    save(display, pictures, 'graph-search')
    w.keys('Return', 'Escape')
    found = w.picture()
    save(display, pictures, 'graph-found')
    check(found != home and w.process.poll() is None, '/ finds, Enter goes there, letters are no commands')
    display.do('mousemove', *window.REST)
    next_one = w.keys('bracketright')
    check(next_one != found, '] shows the next member')
    check(w.keys('bracketleft') == found, '[ the one before')
    check(w.keys('Right') != found, 'Right goes along an edge')
    w.keys('Left')
    dissolved = w.keys('k')
    save(display, pictures, 'graph-dissolved')
    check(dissolved != found, 'K dissolves the stack')
    w.keys('k')
    check(w.keys('p') is not None and w.keys('m') is not None and w.process.poll() is None, 'keys without a run do no harm')
    w.keys('g', 'Escape', 'r')
    closed = w.keys('z')
    save(display, pictures, 'graph-closed')
    opened = w.keys('e', 'z')
    save(display, pictures, 'graph-opened')
    check(opened != closed, 'E opens all modules')
    check(w.keys('u', 'z') == closed, 'U takes it back')
    check(w.keys('y', 'z') == opened, 'and Y does it again')


def play_switches(w, display):
    base = w.keys('z')
    for key, what in (('x', 'the direction'), ('j', 'the routing'), ('6', 'stacking'), ('l', 'the theme')):
        other = w.keys(key)
        check(other != base, '%s changes %s' % (key.upper(), what))
        w.keys(key)
        check(w.keys('z') == base, 'and back')
    check(w.keys('o') is not None, 'O walks through the colours')
    w.keys('o', 'o', 'o')
    helped = w.keys('question')
    check(helped != base and w.keys('Escape') == base, '? shows the keys, Escape takes them away')


def play(display, graph_h5, folder, pictures):
    w = Window(display, graph_h5, os.path.join(folder, 'log1'), '--reduced-motion')
    w.settle()
    home = w.picture()
    save(display, pictures, 'graph-home')
    ticks, n = w.cpu_ticks(), len(w.frames())
    time.sleep(2)
    check(w.cpu_ticks() - ticks <= 1 and len(w.frames()) == n, 'it sleeps when idle')
    play_camera(w, display, home)
    play_choosing(w, display, home, pictures)
    play_switches(w, display)
    display.do('key', 'q')
    check(w.process.wait(10) == 0, 'Q leaves')


def play_animated(display, graph_h5, folder):
    pictures = []
    for name, options in (('log2', ['--reduced-motion']), ('log3', [])):
        w = Window(display, graph_h5, os.path.join(folder, name), *options)
        w.settle()
        n = len(w.frames())
        w.keys('r', 'z')
        frames = len(w.frames()) - n
        pictures.append((w.picture(), frames))
        display.do('key', 'ctrl+q')
        check(w.process.wait(10) == 0, 'Ctrl+Q leaves')
    check(pictures[0][0] == pictures[1][0], 'with and without motion it ends in the same picture')
    check(pictures[1][1] > pictures[0][1], 'motion has frames in between: %d, without %d' % (pictures[1][1], pictures[0][1]))


def main():
    if not shutil.which('Xvfb') or not shutil.which('xdotool'):
        print('skipped: Xvfb and xdotool are needed')
        return 77
    pictures = sys.argv[2] if len(sys.argv) > 2 else None
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'small.json')
        write_graph(path)
        os.environ['XDG_CACHE_HOME'] = folder  # the graph is opened as it is: converted there
        display = Display(folder)
        try:
            play(display, path, folder, pictures)
            play_animated(display, path, folder)
        finally:
            display.stop()
    return 1 if window.failures else 0


if __name__ == '__main__':
    sys.exit(main())
