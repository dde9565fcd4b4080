#!/usr/bin/env python3
"""Make PNG files small: 256 colours, chosen from the picture's own, and the best deflate.

    tools/png_small.py FILE.png...      rewrites each in place, when that makes it smaller

Needs nothing but Python. Reads what `marey render` writes (8 bits, RGB or RGBA, not interlaced); the same input gives the same bytes.
Pictures of marey are flat areas and text: no dithering, each colour goes to the nearest kept one.
"""
import struct
import sys
import zlib
from collections import Counter

SIGNATURE = b"\x89PNG\r\n\x1a\n"


def chunks(data):
    at = len(SIGNATURE)
    while at + 8 <= len(data):
        size, = struct.unpack_from(">I", data, at)
        yield data[at + 4:at + 8], data[at + 8:at + 8 + size]
        at += size + 12


def unfilter(kind, line, above, step):
    if kind == 1:
        for i in range(step, len(line)):
            line[i] = (line[i] + line[i - step]) & 255
    elif kind == 2:
        line[:] = bytes([(a + b) & 255 for a, b in zip(line, above)])
    elif kind:
        raise ValueError(f"filter {kind}: not written by marey")
    return line


def read_pixels(path):
    """-> width, height, rows; a row is a list of colours 0xRRGGBB."""
    data = open(path, "rb").read()
    if not data.startswith(SIGNATURE):
        raise ValueError("no PNG file")
    packed = b""
    for kind, body in chunks(data):
        if kind == b"IHDR":
            width, height, depth, colour, _, _, interlace = struct.unpack(">IIBBBBB", body)
        elif kind == b"IDAT":
            packed += body
    if depth != 8 or colour not in (2, 6) or interlace:
        return None
    step = 3 if colour == 2 else 4
    raw = zlib.decompress(packed)
    size = width * step
    above, rows = bytearray(size), []
    for y in range(height):
        at = y * (size + 1)
        above = unfilter(raw[at], bytearray(raw[at + 1:at + 1 + size]), above, step)
        rows.append([r << 16 | g << 8 | b for r, g, b in zip(above[0::step], above[1::step], above[2::step])])
    return width, height, rows


def channels(colour):
    return colour >> 16, colour >> 8 & 255, colour & 255


def widest(box):
    """-> (extent weighted by pixels, channel) of the channel in which a box of (colour, count) is widest."""
    spans = [max(channels(c)[k] for c, _ in box) - min(channels(c)[k] for c, _ in box) for k in range(3)]
    channel = max(range(3), key=lambda k: spans[k])
    return spans[channel] * sum(n for _, n in box) ** 0.4, channel


def median_cut(counts, wanted):
    """Boxes of colours, split at the median of pixels until there are enough; a box stands for its commonest colour."""
    boxes = [sorted(counts.items())]
    rated = [widest(boxes[0])]
    while len(boxes) < wanted:
        best = max(range(len(boxes)), key=lambda i: (len(boxes[i]) > 1, rated[i][0]))
        if len(boxes[best]) < 2:
            break
        channel = rated[best][1]
        box = sorted(boxes[best], key=lambda e: (channels(e[0])[channel], e[0]))
        half, seen, cut = sum(n for _, n in box) / 2, 0, 1
        for cut in range(1, len(box)):
            seen += box[cut - 1][1]
            if seen >= half:
                break
        boxes[best:best + 1] = [box[:cut], box[cut:]]
        rated[best:best + 1] = [widest(box[:cut]), widest(box[cut:])]
    return sorted(max(box, key=lambda e: (e[1], e[0]))[0] for box in boxes)


def nearest(colour, palette):
    r, g, b = channels(colour)
    return min(range(len(palette)), key=lambda i: 2 * (r - channels(palette[i])[0]) ** 2
               + 4 * (g - channels(palette[i])[1]) ** 2 + (b - channels(palette[i])[2]) ** 2)


def chunk(kind, body):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def shrink(path):
    pixels = read_pixels(path)
    if not pixels:
        return
    width, height, rows = pixels
    counts = Counter()
    for row in rows:
        counts.update(row)
    palette = median_cut(counts, 256)
    index = {colour: nearest(colour, palette) for colour in counts}
    packer = zlib.compressobj(9, zlib.DEFLATED, 15, 9)
    packed = b"".join(packer.compress(b"\0" + bytes([index[c] for c in row])) for row in rows) + packer.flush()
    small = (SIGNATURE + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)) + chunk(b"sRGB", b"\0")
             + chunk(b"PLTE", b"".join(bytes(channels(c)) for c in palette)) + chunk(b"IDAT", packed) + chunk(b"IEND", b""))
    if len(small) < len(open(path, "rb").read()):
        with open(path, "wb") as out:
            out.write(small)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    for name in sys.argv[1:]:
        shrink(name)
