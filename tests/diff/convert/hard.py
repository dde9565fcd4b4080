#!/usr/bin/env python3
"""Contract of a conversion under hard conditions: memory stays within a bound that has nothing to do with the input's size,
and what went by way of the scratch file is the same; a conversion that is killed leaves nothing at the target; one that is
interrupted, or has no room, leaves nothing at all and says why; a target that is not marey's own is not replaced.

    hard.py MAREY SOURCE_DIR [MEBIBYTES]
"""
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time

MAREY, SOURCE = sys.argv[1], sys.argv[2]
MEBIBYTES = sys.argv[3] if len(sys.argv) > 3 else '150'
PEAK_LIMIT_KIB = 600 * 1024


def info(path):
    answer = json.loads(subprocess.check_output([MAREY, 'info', path, '--json']))
    for key in ('file', 'bytes', 'inputs', 'losses', 'name'):
        answer.pop(key)
    return answer


def expect(what, ok):
    if not ok:
        print('FAILED: ' + what)
        sys.exit(1)


def leftovers(folder, but):
    return [name for name in os.listdir(folder) if name not in but]


def start(folder, *options, **more):
    return subprocess.Popen([MAREY, 'convert', 'big.json', '-o', 'out.h5', '--quiet', *options], cwd=folder,
                            stderr=subprocess.PIPE, text=True, **more)


def check_memory(folder):
    small = start(folder, '--memory', '1', '--jobs', '2')
    _, status, usage = os.wait4(small.pid, 0)
    small.stderr.close()
    expect('conversion by way of the scratch file', status == 0)
    print('peak memory with 1 MiB for events: %d KiB' % usage.ru_maxrss)
    expect('peak memory is bounded', usage.ru_maxrss < PEAK_LIMIT_KIB)
    by_scratch = info(os.path.join(folder, 'out.h5'))
    expect('conversion in memory', start(folder, '--memory', '4096', '--jobs', '1').wait() == 0)
    expect('the same either way', info(os.path.join(folder, 'out.h5')) == by_scratch)
    os.unlink(os.path.join(folder, 'out.h5'))


def can_be_nameless(folder):
    try:
        os.close(os.open(folder, os.O_TMPFILE | os.O_RDWR))
        return True
    except OSError:
        return False


def check_interrupts(folder):
    nameless = can_be_nameless(folder)
    for delay in (0.02, 0.1, 0.3, 0.6, random.uniform(0, 1), random.uniform(0, 1)):
        job = start(folder)
        time.sleep(delay)
        job.kill()
        was_done = job.wait() == 0  # before the signal came: then its file is whole
        job.stderr.close()
        for name in leftovers(folder, ('big.json',)):
            whole = was_done and name == 'out.h5'
            part = name.startswith('.') and name.endswith('.part') and not nameless
            expect('a killed conversion left %s' % name, whole or part)
            os.unlink(os.path.join(folder, name))
        job = start(folder)
        time.sleep(delay)
        job.send_signal(signal.SIGINT)
        said = job.communicate()[1]
        if job.returncode == -signal.SIGINT:
            continue  # before the program listened
        expect('an interrupted conversion exits with 1: %d %s' % (job.returncode, said), job.returncode in (0, 1))
        left = leftovers(folder, ('big.json', 'out.h5') if job.returncode == 0 else ('big.json',))
        expect('an interrupted conversion left %s' % left, not left)
        if job.returncode == 0:
            os.unlink(os.path.join(folder, 'out.h5'))


def check_no_room(folder):
    for limit in (1 << 16, 1 << 20, 1 << 22):
        def small_files():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        job = start(folder, '--memory', '1', preexec_fn=small_files)
        said = job.communicate()[1]
        expect('no room: exit %d, %r' % (job.returncode, said), job.returncode == 1 and said.startswith('marey: '))
        expect('no room: something was left', not leftovers(folder, ('big.json',)))


def check_target(folder):
    target = os.path.join(folder, 'out.h5')
    with open(target, 'w') as f:
        f.write('a letter')
    job = start(folder)
    said = job.communicate()[1]
    expect('not our file: exit %d, %r' % (job.returncode, said), job.returncode == 1 and 'out.h5' in said)
    expect('not our file: it was changed', open(target).read() == 'a letter')
    expect('--force', start(folder, '--force').wait() == 0)
    expect('our own file is replaced', start(folder).wait() == 0)
    expect('--strict accepts clean input', start(folder, '--strict').wait() == 0)


def main():
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, 'big.json'), 'w') as f:
            subprocess.run([sys.executable, os.path.join(SOURCE, 'tools', 'big_trace.py'), MEBIBYTES], stdout=f, check=True)
        check_memory(folder)
        check_interrupts(folder)
        check_no_room(folder)
        check_target(folder)
    print('done')


main()
