#!/usr/bin/env python3
"""Contract: the Marey data of a 2 stage x 2 device ResNet run is kept span by span: for every operator that the file's own
stage_data sums up, the least, mean and largest start and end over the stage's devices, computed from the converted HDF5 file
by someone else's code (h5py), equal the file's own to a nanosecond.

    marey_resnet.py MAREY SHARED_DIR       exit 77 where the real data or h5py is absent
"""
import collections
import gzip
import json
import os
import subprocess
import sys
import tempfile

MAREY, SHARED = sys.argv[1], os.environ.get('MAREY_SHARED', sys.argv[2])
SOURCE = os.path.join(SHARED, 'data/mindspore/marey-resnet-2x2')
BLOCK = 32768


def strings(h5):
    raw, start = bytes(h5['model/strings/bytes'][:]), h5['model/strings/start'][:]
    return lambda i: raw[int(start[i]):int(start[i + 1]) - 1].decode()


def spans(h5):
    """(rank, operator) -> (start, end) in the input's ns, of the events that are not derived."""
    text, model, blocks = strings(h5), h5['model'], h5['blocks']
    names = [text(i) for i in model['names/text'][:]]
    start, dur, name = (h5['events/' + column][:] for column in ('start', 'dur', 'name'))
    longer = dict(zip(h5['events/longdur/row'][:].tolist(), h5['events/longdur/dur'][:].tolist()))
    lane_rank, track_lane = model['lanes/rank'][:], model['tracks/lane'][:]
    kinds, epoch, out = h5['groups/kind'][:], int(model.attrs['start_epoch_ns']), {}
    for b, group in enumerate(blocks['group'][:]):
        if kinds[group] != 0:
            continue
        row = b * BLOCK
        first, n = int(blocks['track_first'][b]), int(blocks['n_tracks'][b])
        for track, count in zip(blocks['tracks/track'][first:first + n], blocks['tracks/n'][first:first + n]):
            rank = int(lane_rank[track_lane[track]])
            for i in range(row, row + int(count)):
                begin = int(start[i]) + epoch
                key = (rank, names[name[i]])
                if key in out:
                    raise SystemExit('%s stands twice on rank %d' % (key[1], rank))
                out[key] = (begin, begin + longer.get(i, int(dur[i])))
            row += int(count)
    return out


def compare(stages, found):
    bad, n = [], 0
    for stage, content in stages.items():
        ranks = [int(device[len('device'):]) for device in content['devices']]
        for op, want in content['data'].items():
            have = [found[r, op] for r in ranks if (r, op) in found]
            n += len(have)
            for side, at in (('st', 0), ('ed', 1)):
                times = [span[at] for span in have]
                got = {'min': min(times), 'avg': sum(times) / len(times), 'max': max(times)} if times else {}
                for what, value in got.items():
                    if abs(value - want['%s_%s' % (side, what)] * 1000) > 1:
                        bad.append((stage, op, side, what, value, want['%s_%s' % (side, what)]))
            if len(have) != want['n']:
                bad.append((stage, op, 'n', len(have), want['n']))
    return bad, n


def main():
    try:
        import h5py
    except ImportError:
        print('skipped: no h5py')
        return 77
    if not os.path.isdir(SOURCE):
        print('skipped: no real inputs at %s' % SOURCE)
        return 77
    path = next(os.path.join(SOURCE, f) for f in sorted(os.listdir(SOURCE)) if 'marey_timeline' in f)
    doc = json.load(gzip.open(path))
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, 'run.h5')
        subprocess.check_call([MAREY, 'convert', SOURCE, '-o', out, '--quiet'])
        found = spans(h5py.File(out, 'r'))
    per_rank = collections.Counter(rank for rank, _ in found)
    bad, n = compare(doc['stage_data'], found)
    print('%s spans a device; %d of them in stage_data, %d differences' % (sorted(per_rank.values()), n, len(bad)))
    for row in bad[:10]:
        print(row)
    return 1 if bad or n == 0 else 0


sys.exit(main())
