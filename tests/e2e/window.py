#!/usr/bin/env python3
"""The window, played by hand: a display of its own (Xvfb), real keys and a real pointer (xdotool), real pixels.

- The window opens, becomes complete, and sleeps: no CPU time while nothing happens.
- Keys, wheel and drags change the picture; Z, Escape or the opposite key bring back the same picture, pixel for pixel
  (but for the status line, which shows frame times).
- With animated zoom, the passage has frames in between and ends where it does without.
- The panels: Tab and Enter on a finding fly to it; / searches, Enter goes to an event; letters typed there are no commands; I and
  B take the panels away and bring them back.
- The window draws at other sizes; Q leaves with exit code 0.
- Without a display: exit code 1 and one sentence that names `marey render`.

usage: window.py MAREY [FOLDER for pictures]. Exit 77: Xvfb or xdotool is missing.
"""
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import time

MAREY = os.path.abspath(sys.argv[1])
WIDTH, HEIGHT, STATUS = 1280, 800, 26
REST = (700, 500)  # where the pointer waits whenever a picture is taken
failures = []


def check(condition, what):
    print(('ok: ' if condition else 'FAILED: ') + what, flush=True)
    if not condition:
        failures.append(what)


class Display:
    """Xvfb on a display number that it finds itself; its frame buffer is a file that we read."""

    def __init__(self, folder):
        self.folder = folder
        reading, writing = os.pipe()
        self.process = subprocess.Popen(
            ['Xvfb', '-displayfd', str(writing), '-screen', '0', '%dx%dx24' % (WIDTH, HEIGHT), '-fbdir', folder,
             '-nolisten', 'tcp', '-noreset'], pass_fds=[writing], stderr=subprocess.DEVNULL)
        os.close(writing)
        with os.fdopen(reading) as f:
            self.name = ':' + f.readline().strip()
        self.env = {**os.environ, 'DISPLAY': self.name}
        self.env.pop('WAYLAND_DISPLAY', None)

    def pixels(self, rows=HEIGHT - STATUS):
        with open(os.path.join(self.folder, 'Xvfb_screen0'), 'rb') as f:
            data = f.read()
        head = struct.unpack('>25I', data[:100])
        size, stride, colours = head[0], head[12], head[19]
        start = size + colours * 12
        return data[start:start + stride * rows]

    def do(self, *words):
        subprocess.run(['xdotool', *map(str, words)], env=self.env, check=True)

    def stop(self):
        self.process.terminate()
        self.process.wait(10)


class Window:
    def __init__(self, display, run_h5, log, *options):
        self.display = display
        self.log = log
        self.process = subprocess.Popen([MAREY, run_h5, '--size', '%dx%d' % (WIDTH, HEIGHT), '--frames-log', log, *options],
                                        env=display.env)

    def frames(self):
        try:
            with open(self.log) as f:
                return [json.loads(line) for line in f if line.endswith('\n')]
        except FileNotFoundError:
            return []

    def settle(self, limit=30):
        """Until the last frame is complete and no other came for 0.4 s."""
        end = time.time() + limit
        seen, since = -1, time.time()
        while time.time() < end:
            frames = self.frames()
            if len(frames) != seen:
                seen, since = len(frames), time.time()
            elif seen > 0 and frames[-1]['complete'] and time.time() - since > 0.4:
                return frames
            if self.process.poll() is not None:
                raise SystemExit('marey ended early with %d' % self.process.returncode)
            time.sleep(0.05)
        raise SystemExit('the window did not come to rest')

    def picture(self):
        self.display.do('mousemove', *REST)
        self.settle()
        return self.display.pixels()

    def keys(self, *keys):
        self.display.do('key', *keys)
        return self.picture()

    def cpu_ticks(self):
        with open('/proc/%d/stat' % self.process.pid) as f:
            fields = f.read().rsplit(')', 1)[1].split()
        return int(fields[11]) + int(fields[12])


def drag(display, x0, y0, x1, y1, *modifiers):
    display.do('mousemove', x0, y0)
    for m in modifiers:
        display.do('keydown', m)
    display.do('mousedown', 1, 'mousemove', (x0 + x1) // 2, (y0 + y1) // 2, 'mousemove', x1, y1, 'mouseup', 1)
    for m in modifiers:
        display.do('keyup', m)


def save(display, folder, name):
    if folder and shutil.which('import'):
        subprocess.run(['import', '-window', 'root', os.path.join(folder, name + '.png')], env=display.env, check=False)


def play_keys(w, display, home, pictures):
    for key, back, what in (('w', 'z', 'W zooms in'), ('l', 'l', 'L changes the theme'), ('v', 'v', 'V changes the layout'),
                            ('question', 'Escape', '? shows the keys'), ('braceright', 'backslash', '} makes rows taller')):
        there = w.keys(key)
        save(display, pictures, 'key-' + key)
        check(there != home, what)
        check(w.keys(back) == home, '%s: and %s brings the picture back' % (what, back))
    w.keys('w', 'w', 'w')
    zoomed = w.picture()
    check(w.keys('d') != zoomed, 'D pans')
    check(w.keys('a') == zoomed, 'A pans back, pixel for pixel')
    check(w.keys('Home') == home, 'Home shows the whole run')


def play_pointer(w, display, home):
    display.do('mousemove', *REST, 'click', 4, 'click', 4, 'click', 4)
    zoomed = w.picture()
    span = w.frames()[-1]['t1_ns'] - w.frames()[-1]['t0_ns']
    check(zoomed != home, 'the wheel zooms')
    drag(display, 800, 400, 600, 400)
    moved = w.picture()
    last = w.frames()[-1]
    check(moved != zoomed and abs(last['t1_ns'] - last['t0_ns'] - span) <= 1,
          'a drag pans and keeps the scale: %s, %s' % (last['t1_ns'] - last['t0_ns'], span))
    drag(display, 600, 400, 800, 400)
    check(w.picture() == zoomed, 'the drag back brings the picture back')
    display.do('keydown', 'shift', 'click', 4, 'keyup', 'shift')
    check(w.picture() != zoomed, 'Shift and wheel pan')
    check(w.keys('z') == home, 'Z shows the whole run')
    drag(display, 500, 300, 700, 300, 'shift')
    check(w.keys('f') != home, 'Shift and drag select a range, F fits it')
    check(w.keys('Escape', 'z') == home, 'Escape forgets it')
    drag(display, 700, 75, 500, 75)
    w.keys('w', 'w')
    before = w.frames()[-1]['t0_ns']
    display.do('mousemove', 300, 75, 'mousedown', 1, 'mouseup', 1)
    w.picture()
    check(w.frames()[-1]['t0_ns'] != before, 'a click on the overview goes there')
    check(w.keys('z') == home, 'and Z comes back')


def play_panels(w, display, home, pictures):
    w.keys('w', 'w', 'w')
    span = w.frames()[-1]['t1_ns'] - w.frames()[-1]['t0_ns']
    focused = w.keys('Tab')
    save(display, pictures, 'panel-focus')
    w.keys('Return')
    save(display, pictures, 'panel-finding')
    check(w.frames()[-1]['t1_ns'] - w.frames()[-1]['t0_ns'] > span, 'Tab and Enter on a finding fly to its time')
    check(w.picture() != focused, 'and the picture shows it')
    w.keys('Return', 'Escape')
    check(w.keys('z') == home, 'Enter, Escape and Z bring the first picture back')
    display.do('key', 'slash')
    w.settle()
    display.do('type', 'gemm')
    typed = w.picture()
    save(display, pictures, 'panel-search')
    check(w.process.poll() is None and typed != home, '/ and letters search, and do nothing else')
    before = w.frames()[-1]['t1_ns'] - w.frames()[-1]['t0_ns']
    w.keys('Return')
    check(w.frames()[-1]['t1_ns'] - w.frames()[-1]['t0_ns'] < before, 'Enter flies to an event of the name')
    w.keys('ctrl+a', 'BackSpace', 'Escape', 'Escape')
    check(w.keys('z') == home, 'and all of it can be left')
    check(w.keys('i') != home and w.keys('b') != home, 'I and B take the panels away')
    check(w.keys('b', 'i') == home, 'and bring them back')


def play_size(w, display, home):
    window = subprocess.run(['xdotool', 'search', '--class', 'marey'], env=display.env, capture_output=True, text=True)
    ids = window.stdout.split()
    check(len(ids) >= 1, 'the window has its class')
    display.do('windowsize', '--sync', ids[-1], 900, 600)
    small = w.picture()
    check(small != home, 'it draws at another size')
    display.do('windowsize', '--sync', ids[-1], WIDTH, HEIGHT)
    check(w.picture() == home, 'and the same as before at the old one')


def play(display, run_h5, folder, pictures):
    w = Window(display, run_h5, os.path.join(folder, 'log1'), '--reduced-motion')
    w.settle()
    home = w.picture()
    save(display, pictures, 'home')
    ticks = w.cpu_ticks()
    n = len(w.frames())
    time.sleep(2)
    check(w.cpu_ticks() - ticks <= 1 and len(w.frames()) == n, 'it sleeps when idle')
    play_keys(w, display, home, pictures)
    play_pointer(w, display, home)
    play_panels(w, display, home, pictures)
    play_size(w, display, home)
    display.do('key', 'q')
    check(w.process.wait(10) == 0, 'Q leaves')
    return home


def play_animated(display, run_h5, folder, home):
    w = Window(display, run_h5, os.path.join(folder, 'log2'))
    w.settle()
    check(w.picture() == home, 'the same first picture with motion')
    n = len(w.frames())
    w.keys('w')
    spans = [f['t1_ns'] - f['t0_ns'] for f in w.frames()[n:]]
    between = [s for s in spans if spans[-1] < s < spans[0]] if spans else []
    check(len(between) >= 1 or len(set(spans)) > 2, 'a zoom has frames in between: %s' % spans)
    check(w.keys('z') == home, 'and comes back to the same picture')
    display.do('key', 'ctrl+q')
    check(w.process.wait(10) == 0, 'Ctrl+Q leaves')


def main():
    if not shutil.which('Xvfb') or not shutil.which('xdotool'):
        print('skipped: Xvfb and xdotool are needed')
        return 77
    pictures = sys.argv[2] if len(sys.argv) > 2 else None
    with tempfile.TemporaryDirectory() as folder:
        run_h5 = os.path.join(folder, 'run.h5')
        subprocess.run([MAREY, 'synth', run_h5, '--preset', 'pangu-13b', '--steps', '2', '--seed', '3', '--quiet'], check=True)
        bare = {k: v for k, v in os.environ.items() if k not in ('DISPLAY', 'WAYLAND_DISPLAY')}
        done = subprocess.run([MAREY, run_h5], env=bare, capture_output=True, text=True, timeout=60)
        check(done.returncode == 1 and done.stderr.count('\n') == 1 and 'marey render' in done.stderr,
              'without a display: %r' % done.stderr)
        display = Display(folder)
        try:
            home = play(display, run_h5, folder, pictures)
            play_animated(display, run_h5, folder, home)
        finally:
            display.stop()
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
