#include "store/schema.h"

#include <stdio.h>
#include <string.h>

#include "lod/pyramid.h"
#include "store/store.h"
#include "trace/metrics.h"

const schema_entry SCHEMA[SCHEMA_COUNT] = {
#define X(id, path, type, width, shape, unit, meaning) {path, TYPE_##type, width, shape, unit, meaning},
    SCHEMA_LIST(X)
#undef X
};

const schema_group SCHEMA_PARTS[] = {
    {"/events", "all events, one column per dataset, in blocks of 32768 rows"},
    {"/events/longdur", "durations that do not fit the column"},
    {"/blocks", "one row per block: the next 32768 events of a group by start time, sorted by (track, start)"},
    {"/blocks/tracks", "the tracks of each block and how many events they have there"},
    {"/groups", "one row per group: up to 64 consecutive ranks, or what is derived for them"},
    {"/carry", "events that still run where a later block begins"},
    {"/lod", "the pyramid: aggregates over time and rows"},
    {"/lod/tracks", "one row per track"},
    {"/lod/ranks", "one row per rank: the union of its device tracks"},
    {"/lod/eights", "one row per 8 consecutive ranks of a group"},
    {"/lod/tiles", "which tiles are stored"},
    {"/lod/sparse", "which tiles are not stored although they hold events"},
    {"/args", "arguments of events"},
    {"/args/templates", "texts with their numbers replaced by a byte 1 or 2"},
    {"/links", "what caused what"},
    {"/links/back", "the same, sorted by the caused event"},
    {"/collectives", "arguments of collective operations"},
    {"/counters", "samples of counters"},
    {"/metrics", "numbers that the input states of ranks, links, steps and operators"},
    {"/model", "ranks, threads, lanes, tracks, names, steps, process groups, inputs, losses"},
    {"/model/strings", "string ids of other datasets point here"},
    {"/model/classes", "what events are painted by; the first planes of a tile in this order"},
    {"/model/ranks", "training processes with their devices, in file order"},
    {"/model/threads", "what the input calls a thread or stream"},
    {"/model/lanes", "a thread as far as it does one kind of work"},
    {"/model/tracks", "one nesting depth of a lane; events of a track do not overlap"},
    {"/model/names", "names of events"},
    {"/model/categories", "categories of names"},
    {"/model/sources", "the input's own categories"},
    {"/model/steps", "training steps of each rank"},
    {"/model/groups", "process groups (communicators)"},
    {"/model/members", "their ranks"},
    {"/model/counters", "what was sampled"},
    {"/model/inputs", "files that were read"},
    {"/model/losses", "what was dropped or repaired"},
    {"/graph", "the model's computational graph; only where there is one"},
    {"/graph/strings", "graph string ids point here"},
    {"/graph/nodes", "operators, parameters, inputs"},
    {"/graph/outputs", "what nodes produce"},
    {"/graph/attributes", "attributes of nodes"},
    {"/graph/edges", "who consumes what"},
    {"/graph/scopes", "the tree of modules; parents before children, row 0 is the root"},
    {"/graph/stages", "pipeline stages"},
};

const size_t SCHEMA_N_PARTS = sizeof SCHEMA_PARTS / sizeof SCHEMA_PARTS[0];

size_t schema_type_size(schema_type t)
{
    static const size_t sizes[TYPE_COUNT] = {1, 4, 4, 8, 8, 8};
    return sizes[t];
}

static const char *type_name(schema_type t)
{
    static const char *const names[TYPE_COUNT] = {"u8", "u32", "i32", "u64", "i64", "f64"};
    return names[t];
}

/* ------------------------------------------------------------------ docs/format.md */

static const char INTRODUCTION[] =
    "# The file format\n"
    "\n"
    "Printed by `marey info --schema` from the one table in `src/store/schema.c`; a test keeps this page equal to it.\n"
    "\n"
    "A marey file is plain HDF5 (any version from 1.10 on reads it). The root has the attributes `format` = "
    "\"marey\",\n"
    "`version` = \"1.1\" and `generator`; `/model` has `name`, `start_epoch_ns`, `duration_ns`, `clock_pivot_ns`, "
    "`view_start_ns`,\n"
    "`view_end_ns` (where the bulk of the events lies), `n_events`, `n_links`, `n_collectives`, `n_samples`,\n"
    "`n_metrics`. Every "
    "dataset has the attributes `unit` and `meaning`. A reader accepts any file of its\n"
    "major version; a minor version only adds.\n"
    "\n"
    "- Times are ns since the run's start, half open. Row ids (`row of X`) index the datasets of X; 0xFFFFFFFF is "
    "none.\n"
    "- An event's *row* is `block * 32768 + i`. Rows behind a block's `n` are padding.\n"
    "- A block's slice [t0, t1) says where its events start. The slices of a group follow each other without gaps. "
    "Events\n"
    "  that meet a window: those of the blocks whose slices meet it, and the rows of `/carry` whose `from..to` hold "
    "the\n"
    "  first of these blocks.\n"
    "- `string id` values index `/model/strings`: string i is `bytes[start[i] : start[i + 1] - 1]`.\n"
    "- Datasets named hint only speed up reading; each is guarded by a checksum, and a file without them is complete.\n"
    "- Chunks are byte-shuffled and deflated with the filters that every HDF5 has. Tables of at most 1 KiB are "
    "compact.\n"
    "\n";

static const char TILES[] = "## Tiles\n"
                            "\n"
                            "A tile has 16384 cells of 19 planes of one byte. Level l of a group has bins of `bin0 * "
                            "4^l`, anchored at the run's\n"
                            "start; tile column c begins at `c * bin * 256` (2048 for eights).\n"
                            "\n"
                            "| planes | meaning |\n"
                            "|---|---|\n";

static const char PLANES[] =
    "| 14 | busy: share of the union of all classes; of eights, the mean over the ranks |\n"
    "| 15 | events that start in the cell: below 16 as it is, else 16 + 8 log2(n / 16) |\n"
    "| 16 | highest severity that meets the cell |\n"
    "| 17 | longest duration that meets the cell: 0 none or zero, else 1 + 4 log2(ns), rounded up |\n"
    "| 18 | eights: busy share of the least busy rank |\n"
    "\n"
    "Shares are 255 * busy / bin, rounded, and 0 only for exactly none. The top level is one column and always "
    "stored.\n"
    "Any other tile that holds events is stored or listed in `/lod/sparse` (read the events instead).\n"
    "\n";

static const char PYTHON[] =
    "## Reading with Python\n"
    "\n"
    "```python\n"
    "import h5py\n"
    "\n"
    "f = h5py.File(\"run.h5\")\n"
    "raw, start = f[\"/model/strings/bytes\"][:].tobytes(), f[\"/model/strings/start\"][:].tolist()\n"
    "text = lambda i: raw[start[i]:start[i + 1] - 1].decode()\n"
    "names = [text(i) for i in f[\"/model/names/text\"][:]]\n"
    "\n"
    "for block, n in enumerate(f[\"/blocks/n\"][:]):          # every event of the file\n"
    "    rows = slice(block * 32768, block * 32768 + int(n))\n"
    "    begin, dur, name = (f[\"/events/\" + c][rows] for c in (\"start\", \"dur\", \"name\"))\n"
    "    first = f[\"/blocks/track_first\"][block]\n"
    "    tracks = slice(first, first + f[\"/blocks/n_tracks\"][block])\n"
    "    track = f[\"/blocks/tracks/track\"][tracks].repeat(f[\"/blocks/tracks/n\"][tracks])\n"
    "```\n"
    "\n"
    "Arguments of a block, exactly as the input had them:\n"
    "\n"
    "```python\n"
    "def block_args(f, block):\n"
    "    \"\"\"One bytes object per event of the block; empty where it has no arguments.\"\"\"\n"
    "    n, size = int(f[\"/blocks/n\"][block]), int(f[\"/blocks/args_bytes\"][block])\n"
    "    if size == 0:\n"
    "        return [b\"\"] * n\n"
    "    at = int(f[\"/blocks/args_first\"][block]) * 65536\n"
    "    data, pos = f[\"/args/data\"][at:at + size].tobytes(), [0]\n"
    "    dictionary, start = f[\"/args/templates/bytes\"][:].tobytes(), f[\"/args/templates/start\"][:].tolist()\n"
    "\n"
    "    def number(buf, pos):\n"
    "        v = shift = 0\n"
    "        while True:\n"
    "            b = buf[pos[0]]\n"
    "            pos[0] += 1\n"
    "            v |= (b & 127) << shift\n"
    "            shift += 7\n"
    "            if b < 128:\n"
    "                return v\n"
    "\n"
    "    used = [number(data, pos) for _ in range(number(data, pos))]\n"
    "    used = [dictionary[start[i]:start[i + 1]] for i in used]\n"
    "    lengths = [number(data, pos) for _ in range(4)]\n"
    "    parts = []\n"
    "    for length in lengths:\n"
    "        parts.append(data[pos[0]:pos[0] + length])\n"
    "        pos[0] += length\n"
    "    refs, masks, values, literals = parts\n"
    "    p, m, v, l = [0], 0, [0], 0\n"
    "    kept = [[0] * (t.count(1) + 2 * t.count(2)) for t in used]\n"
    "    out = []\n"
    "    for _ in range(n):\n"
    "        ref = number(refs, p)\n"
    "        if ref == 0:\n"
    "            out.append(b\"\")\n"
    "        elif ref == 1:\n"
    "            length = number(values, v)\n"
    "            out.append(literals[l:l + length])\n"
    "            l += length\n"
    "        else:\n"
    "            now = kept[ref - 2]\n"
    "            for i in range(len(now)):\n"
    "                if masks[m + i // 8] >> (i % 8) & 1:\n"
    "                    z = number(values, v)\n"
    "                    now[i] += (z >> 1) ^ -(z & 1)\n"
    "            m += (len(now) + 7) // 8\n"
    "            it, piece = iter(now), bytearray()\n"
    "            for c in used[ref - 2]:\n"
    "                if c == 1:\n"
    "                    piece += b\"%d\" % next(it)\n"
    "                elif c == 2:\n"
    "                    width = next(it)\n"
    "                    piece += b\"%0*d\" % (width, next(it))\n"
    "                else:\n"
    "                    piece.append(c)\n"
    "            out.append(bytes(piece))\n"
    "    return out\n"
    "```\n";

/* Length of the path up to its last slash. */
static size_t folder_of(const char *path)
{
    return (size_t)(strrchr(path, '/') - path);
}

static const char *meaning_of(const char *folder, size_t n)
{
    for (size_t i = 0; i < SCHEMA_N_PARTS; i++) {
        if (strlen(SCHEMA_PARTS[i].path) == n && memcmp(SCHEMA_PARTS[i].path, folder, n) == 0) {
            return SCHEMA_PARTS[i].meaning;
        }
    }
    return "";
}

/* Kinds of metrics as numbers, for readers that know nothing of marey. */
static void print_metric_kinds(FILE *out)
{
    (void)fputs("\n## Kinds of metrics\n\n| `/metrics/kind` | name | unit | meaning |\n|---|---|---|---|\n", out);
    for (unsigned k = 0; k < METRIC_KIND_COUNT; k++) {
        trace_metric_kind kind = (trace_metric_kind)k;
        (void)fprintf(out, "| %u | %s | %s | %s |\n", k, trace_metric_name(kind), trace_metric_unit(kind),
                      trace_metric_text(kind));
    }
}

void store_schema_print(FILE *out)
{
    (void)fputs(INTRODUCTION, out);
    const char *folder = "";
    for (size_t i = 0; i < SCHEMA_COUNT; i++) {
        const schema_entry *e = &SCHEMA[i];
        size_t n = folder_of(e->path);
        if (folder_of(i > 0 ? SCHEMA[i - 1].path : "/") != n || memcmp(folder, e->path, n) != 0) {
            folder = e->path;
            (void)fprintf(out,
                          "%s## `%.*s`\n\n%s.\n\n| dataset | type | shape | unit | meaning |\n|---|---|---|---|---|\n",
                          i > 0 ? "\n" : "", (int)n, folder, meaning_of(folder, n));
        }
        (void)fprintf(out, "| `%s` | %s | `%s` | %s | %s |\n", e->path + n + 1, type_name(e->type), e->shape, e->unit,
                      e->meaning);
    }
    print_metric_kinds(out);
    (void)fprintf(out, "\n%s", TILES);
    for (unsigned c = 0; c < CLASS_COUNT; c++) {
        (void)fprintf(out, "| %u | busy share of class %s |\n", c, trace_class_name((trace_class)c));
    }
    (void)fputs(PLANES, out);
    (void)fputs(PYTHON, out);
}
