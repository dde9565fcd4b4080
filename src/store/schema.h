/*
 * The schema: one table describes every dataset of the file. The writer creates datasets from it, the reader opens them
 * by it, and docs/format.md is printed from it.
 */
#ifndef MAREY_STORE_SCHEMA_H
#define MAREY_STORE_SCHEMA_H

#include <stddef.h>
#include <stdint.h>

enum { STORE_VERSION_MAJOR = 1, STORE_VERSION_MINOR = 1 };
#define STORE_GENERATOR "marey 0.1.0"

typedef enum schema_type { TYPE_U8, TYPE_U32, TYPE_I32, TYPE_U64, TYPE_I64, TYPE_F64, TYPE_COUNT } schema_type;

/* id, path, type, values per row, shape in words, unit, meaning */
#define SCHEMA_EVENTS(X)                                                                                               \
    X(EVENT_START, "/events/start", I64, 1, "[blocks * 32768]", "ns", "start, since the run's start")                  \
    X(EVENT_DUR, "/events/dur", U32, 1, "[blocks * 32768]", "ns",                                                      \
      "duration; 0xFFFFFFFF: longer than that, see /events/longdur")                                                   \
    X(EVENT_NAME, "/events/name", U32, 1, "[blocks * 32768]", "", "name, row of /model/names")                         \
    X(EVENT_CLASS, "/events/class", U8, 1, "[blocks * 32768]", "", "class, row of /model/classes")                     \
    X(EVENT_FLAGS, "/events/flags", U8, 1, "[blocks * 32768]", "",                                                     \
      "bits 0-3 severity, 4 instant, 5 unfinished, 6 repaired")                                                        \
    X(EVENT_INSTANCE, "/events/instance", U32, 1, "[blocks * 32768]", "",                                              \
      "occurrence of this name on this rank within its step, from 0")                                                  \
    X(LONG_ROW, "/events/longdur/row", U64, 1, "[n]", "", "row of an event whose duration exceeds 32 bits, ascending") \
    X(LONG_DUR, "/events/longdur/dur", I64, 1, "[n]", "ns", "its duration")

#define SCHEMA_BLOCKS(X)                                                                                               \
    X(BLOCK_GROUP, "/blocks/group", U32, 1, "[blocks]", "", "row of /groups")                                          \
    X(BLOCK_N, "/blocks/n", U32, 1, "[blocks]", "", "events in the block; its rows behind them are padding")           \
    X(BLOCK_T0, "/blocks/t0", I64, 1, "[blocks]", "ns", "begin of the slice: every event starts in [t0, t1)")          \
    X(BLOCK_T1, "/blocks/t1", I64, 1, "[blocks]", "ns", "end of the slice")                                            \
    X(BLOCK_TRACK_FIRST, "/blocks/track_first", U64, 1, "[blocks]", "", "first row of the block in /blocks/tracks")    \
    X(BLOCK_N_TRACKS, "/blocks/n_tracks", U32, 1, "[blocks]", "", "tracks with events in the block")                   \
    X(BLOCK_ARGS_FIRST, "/blocks/args_first", U64, 1, "[blocks]", "", "first chunk of its arguments in /args/data")    \
    X(BLOCK_ARGS_BYTES, "/blocks/args_bytes", U64, 1, "[blocks]", "bytes", "length of its arguments; 0: none")         \
    X(BLOCK_ADDR, "/blocks/chunk_addr", U64, 6, "[blocks, 6]", "bytes",                                                \
      "hint: file offset of the chunks of start, dur, name, class, flags, instance")                                   \
    X(BLOCK_SIZE, "/blocks/chunk_size", U32, 6, "[blocks, 6]", "bytes", "hint: stored size of these chunks")           \
    X(BLOCK_CRC, "/blocks/chunk_crc", U32, 6, "[blocks, 6]", "", "CRC-32 of the stored bytes; guards the hint")        \
    X(TRACKS_TRACK, "/blocks/tracks/track", U32, 1, "[n]", "",                                                         \
      "row of /model/tracks, ascending within the block; events of a block are sorted by (track, start)")              \
    X(TRACKS_N, "/blocks/tracks/n", U32, 1, "[n]", "", "events of this track in the block")

#define SCHEMA_GROUPS(X)                                                                                               \
    X(GROUP_KIND, "/groups/kind", U8, 1, "[groups]", "", "0 events, 1 steps (derived), 2 phases (derived)")            \
    X(GROUP_FIRST_RANK, "/groups/first_rank", U32, 1, "[groups]", "", "row of /model/ranks")                           \
    X(GROUP_N_RANKS, "/groups/n_ranks", U32, 1, "[groups]", "", "ranks, at most 64")                                   \
    X(GROUP_FIRST_BLOCK, "/groups/first_block", U64, 1, "[groups]", "", "first row in /groups/blocks")                 \
    X(GROUP_N_BLOCKS, "/groups/n_blocks", U32, 1, "[groups]", "", "blocks of the group")                               \
    X(GROUP_FIRST_CARRY, "/groups/first_carry", U64, 1, "[groups]", "", "first row in /carry")                         \
    X(GROUP_N_CARRY, "/groups/n_carry", U32, 1, "[groups]", "", "rows in /carry")                                      \
    X(GROUP_BIN0, "/groups/bin0", I64, 3, "[groups, 3]", "ns", "bin width of level 0 for tracks, ranks, eights")       \
    X(GROUP_N_LEVELS, "/groups/n_levels", U32, 3, "[groups, 3]", "", "time levels; each has bins 4 times as wide")     \
    X(GROUP_N_ROWS, "/groups/n_rows", U32, 3, "[groups, 3]", "", "rows of the pyramid")                                \
    X(GROUP_BLOCKS, "/groups/blocks", U32, 1, "[blocks]", "", "blocks of each group in the order of time")             \
    X(CARRY_ROW, "/carry/row", U64, 1, "[n]", "", "row of an event that still runs where a later block begins")        \
    X(CARRY_FROM, "/carry/from", U32, 1, "[n]", "", "first block of its group (in time order) at whose t0 it runs")    \
    X(CARRY_TO, "/carry/to", U32, 1, "[n]", "", "last such block")                                                     \
    X(CARRY_TRACK, "/carry/track", U32, 1, "[n]", "", "row of /model/tracks")                                          \
    X(CARRY_NAME, "/carry/name", U32, 1, "[n]", "", "row of /model/names")                                             \
    X(CARRY_START, "/carry/start", I64, 1, "[n]", "ns", "as in /events")                                               \
    X(CARRY_DUR, "/carry/dur", I64, 1, "[n]", "ns", "duration in full")                                                \
    X(CARRY_INSTANCE, "/carry/instance", U32, 1, "[n]", "", "as in /events")                                           \
    X(CARRY_CLASS, "/carry/class", U8, 1, "[n]", "", "as in /events")                                                  \
    X(CARRY_FLAGS, "/carry/flags", U8, 1, "[n]", "", "as in /events")

#define SCHEMA_LOD(X)                                                                                                  \
    X(CELLS_TRACK, "/lod/tracks/cells", U8, 1, "[n, 19, 64, 256]", "", "tiles: planes x tracks of the group x bins")   \
    X(CELLS_RANK, "/lod/ranks/cells", U8, 1, "[n, 19, 64, 256]", "", "tiles: planes x ranks of the group x bins")      \
    X(CELLS_EIGHT, "/lod/eights/cells", U8, 1, "[n, 19, 8, 2048]", "", "tiles: planes x eights of ranks x bins")       \
    X(TILE_R, "/lod/tiles/r", U8, 1, "[tiles]", "", "0: /lod/tracks, 1: /lod/ranks, 2: /lod/eights")                   \
    X(TILE_LEVEL, "/lod/tiles/level", U8, 1, "[tiles]", "", "time level: bins of bin0 * 4^level")                      \
    X(TILE_GROUP, "/lod/tiles/group", U32, 1, "[tiles]", "", "row of /groups")                                         \
    X(TILE_ROW_BLOCK, "/lod/tiles/row_block", U32, 1, "[tiles]", "", "first row of the tile / rows of a tile")         \
    X(TILE_COL, "/lod/tiles/col", U64, 1, "[tiles]", "", "start of the tile / (bin * bins of a tile)")                 \
    X(TILE_INDEX, "/lod/tiles/index", U64, 1, "[tiles]", "", "first index into the cells of its row level")            \
    X(TILE_N, "/lod/tiles/n", U64, 1, "[tiles]", "", "events that start in the tile")                                  \
    X(TILE_ADDR, "/lod/tiles/chunk_addr", U64, 1, "[tiles]", "bytes", "hint: file offset of the tile's chunk")         \
    X(TILE_SIZE, "/lod/tiles/chunk_size", U32, 1, "[tiles]", "bytes", "hint: stored size of the chunk")                \
    X(TILE_CRC, "/lod/tiles/chunk_crc", U32, 1, "[tiles]", "", "CRC-32 of the stored bytes; guards the hint")          \
    X(SPARSE_R, "/lod/sparse/r", U8, 1, "[n]", "", "tiles that are not stored because reading the events is cheaper")  \
    X(SPARSE_LEVEL, "/lod/sparse/level", U8, 1, "[n]", "", "time level")                                               \
    X(SPARSE_GROUP, "/lod/sparse/group", U32, 1, "[n]", "", "row of /groups")                                          \
    X(SPARSE_ROW_BLOCK, "/lod/sparse/row_block", U32, 1, "[n]", "", "as in /lod/tiles")                                \
    X(SPARSE_COL, "/lod/sparse/col", U64, 1, "[n]", "", "first column")                                                \
    X(SPARSE_N_COLS, "/lod/sparse/n_cols", U64, 1, "[n]", "", "columns")                                               \
    X(SPARSE_N, "/lod/sparse/n", U64, 1, "[n]", "", "events that start in them")

#define SCHEMA_SIDE(X)                                                                                                 \
    X(ARGS_DATA, "/args/data", U8, 1, "[chunks * 65536]", "bytes", "arguments, one stream per block, from a chunk on") \
    X(ARGS_ADDR, "/args/chunk_addr", U64, 1, "[chunks]", "bytes", "hint: file offset of each chunk of /args/data")     \
    X(ARGS_SIZE, "/args/chunk_size", U32, 1, "[chunks]", "bytes", "hint: stored size of the chunk")                    \
    X(ARGS_CRC, "/args/chunk_crc", U32, 1, "[chunks]", "", "CRC-32 of the stored bytes; guards the hint")              \
    X(TEMPLATE_BYTES, "/args/templates/bytes", U8, 1, "[n]", "UTF-8", "templates, one after the other")                \
    X(TEMPLATE_START, "/args/templates/start", U64, 1, "[templates + 1]", "bytes", "where each template begins")       \
    X(LINK_FROM, "/links/from_row", U64, 1, "[links]", "", "row of the causing event, ascending")                      \
    X(LINK_TO, "/links/to_row", U64, 1, "[links]", "", "row of the event that it caused")                              \
    X(LINK_KIND, "/links/kind", U8, 1, "[links]", "", "0 launch to kernel, 1 forward to backward, 2 other flow")       \
    X(BACK_TO, "/links/back/to_row", U64, 1, "[links]", "", "the same links sorted by the caused event, ascending")    \
    X(BACK_FROM, "/links/back/from_row", U64, 1, "[links]", "", "row of the causing event")                            \
    X(BACK_KIND, "/links/back/kind", U8, 1, "[links]", "", "as in /links/kind")                                        \
    X(COLL_ROW, "/collectives/row", U64, 1, "[collectives]", "", "row of the event, ascending")                        \
    X(COLL_GROUP, "/collectives/group", U32, 1, "[collectives]", "", "row of /model/groups; 0xFFFFFFFF: unknown")      \
    X(COLL_WHAT, "/collectives/what", U32, 1, "[collectives]", "string id", "operation as the input names it")         \
    X(COLL_DTYPE, "/collectives/dtype", U32, 1, "[collectives]", "string id", "element type as the input names it")    \
    X(COLL_IN, "/collectives/in_elements", I64, 1, "[collectives]", "elements", "input elements; -1: unknown")         \
    X(COLL_OUT, "/collectives/out_elements", I64, 1, "[collectives]", "elements", "output elements; -1: unknown")      \
    X(COLL_BYTES, "/collectives/bytes", I64, 1, "[collectives]", "bytes", "message size; -1: unknown")                 \
    X(COLL_SIZE, "/collectives/group_size", I64, 1, "[collectives]", "ranks", "ranks that take part; -1: unknown")     \
    X(COLL_SEQ, "/collectives/seq", I64, 1, "[collectives]", "", "sequence number in its group; -1: unknown")          \
    X(SAMPLE_TS, "/counters/ts", I64, 1, "[samples]", "ns", "time; the samples of one counter after the other")        \
    X(SAMPLE_VALUE, "/counters/value", F64, 1, "[samples]", "the counter's", "value")                                  \
    X(METRIC_KIND, "/metrics/kind", U8, 1, "[metrics]", "", "what it measures, see below")                             \
    X(METRIC_FLAGS, "/metrics/flags", U8, 1, "[metrics]", "",                                                          \
      "bits 0 mean over steps, 1 estimate of a compiler, 2 a and b count devices of a server or group, 3 derived")     \
    X(METRIC_RANK, "/metrics/rank", I64, 1, "[metrics]", "", "global rank; -1: of no single rank")                     \
    X(METRIC_A, "/metrics/a", I64, 1, "[metrics]", "", "link: from this global rank; -1: no link")                     \
    X(METRIC_B, "/metrics/b", I64, 1, "[metrics]", "", "link: to this global rank; -1: no link")                       \
    X(METRIC_STEP, "/metrics/step", I64, 1, "[metrics]", "", "number of the step; -1: none")                           \
    X(METRIC_TIME, "/metrics/time", I64, 1, "[metrics]", "ns", "since the run's start; -1: none")                      \
    X(METRIC_VALUE, "/metrics/value", F64, 1, "[metrics]", "the kind's", "value")                                      \
    X(METRIC_NAME, "/metrics/name", U32, 1, "[metrics]", "string id", "operator or collective that it is about")       \
    X(METRIC_TAG, "/metrics/tag", U32, 1, "[metrics]", "string id", "kind of link, core, group")

#define SCHEMA_MODEL(X)                                                                                                \
    X(STRING_BYTES, "/model/strings/bytes", U8, 1, "[n]", "UTF-8", "all strings, each with a zero byte behind it")     \
    X(STRING_START, "/model/strings/start", U64, 1, "[strings + 1]", "bytes", "where each string begins")              \
    X(CLASS_NAME, "/model/classes/name", U32, 1, "[classes]", "string id", "what events are painted by")               \
    X(RANK_RANK, "/model/ranks/rank", I64, 1, "[ranks]", "", "global rank, as stated or inferred")                     \
    X(RANK_HOST, "/model/ranks/host", U32, 1, "[ranks]", "string id", "host name")                                     \
    X(RANK_DEVICE, "/model/ranks/device", U32, 1, "[ranks]", "string id", "device model")                              \
    X(RANK_LABEL, "/model/ranks/label", U32, 1, "[ranks]", "string id", "what the row shows")                          \
    X(RANK_STAGE, "/model/ranks/stage", I32, 1, "[ranks]", "", "pipeline stage; -1: unknown")                          \
    X(RANK_DP, "/model/ranks/dp", I32, 1, "[ranks]", "", "data-parallel index; -1: unknown")                           \
    X(RANK_TP, "/model/ranks/tp", I32, 1, "[ranks]", "", "tensor-parallel index; -1: unknown")                         \
    X(RANK_EP, "/model/ranks/ep", I32, 1, "[ranks]", "", "expert-parallel index; -1: unknown")                         \
    X(RANK_INFERRED, "/model/ranks/inferred", U32, 1, "[ranks]", "",                                                   \
      "not stated by the input: bits 0 rank, 1 stage, 2 dp, 3 tp, 4 ep, 5 host")                                       \
    X(RANK_FIRST_LANE, "/model/ranks/first_lane", U32, 1, "[ranks]", "", "row of /model/lanes")                        \
    X(RANK_N_LANES, "/model/ranks/n_lanes", U32, 1, "[ranks]", "", "lanes of the rank")                                \
    X(RANK_GROUP, "/model/ranks/group", U32, 1, "[ranks]", "", "row of /groups that holds its events")                 \
    X(RANK_OFFSET, "/model/ranks/clock_offset", I64, 1, "[ranks]", "ns", "added to the input's times")                 \
    X(RANK_DRIFT, "/model/ranks/clock_drift", F64, 1, "[ranks]", "ppm", "drift that was taken out")                    \
    X(RANK_RESIDUAL, "/model/ranks/clock_residual", I64, 1, "[ranks]", "ns", "what remains after alignment")           \
    X(RANK_MATCHED, "/model/ranks/clock_matched", U64, 1, "[ranks]", "", "collectives that the alignment used")        \
    X(RANK_METHOD, "/model/ranks/clock_method", U32, 1, "[ranks]", "string id", "how clocks were aligned")             \
    X(THREAD_RANK, "/model/threads/rank", U32, 1, "[threads]", "", "row of /model/ranks")                              \
    X(THREAD_PID, "/model/threads/pid", U32, 1, "[threads]", "string id", "process, as the input wrote it")            \
    X(THREAD_TID, "/model/threads/tid", U32, 1, "[threads]", "string id", "thread, as the input wrote it")             \
    X(THREAD_PROCESS, "/model/threads/process_name", U32, 1, "[threads]", "string id", "from the input's metadata")    \
    X(THREAD_NAME, "/model/threads/name", U32, 1, "[threads]", "string id", "from the input's metadata")               \
    X(THREAD_SORT, "/model/threads/sort_index", I64, 1, "[threads]", "", "from the input's metadata")                  \
    X(THREAD_EVENTS, "/model/threads/n_events", U64, 1, "[threads]", "", "intervals and instants")                     \
    X(THREAD_BUSY, "/model/threads/busy", I64, 1, "[threads]", "ns", "union of the intervals")                         \
    X(THREAD_SUM, "/model/threads/sum", I64, 1, "[threads]", "ns", "sum of the durations")                             \
    X(THREAD_FIRST, "/model/threads/first", I64, 1, "[threads]", "ns", "first start")                                  \
    X(THREAD_LAST, "/model/threads/last", I64, 1, "[threads]", "ns", "last end")                                       \
    X(LANE_RANK, "/model/lanes/rank", U32, 1, "[lanes]", "", "row of /model/ranks")                                    \
    X(LANE_THREAD, "/model/lanes/thread", U32, 1, "[lanes]", "", "row of /model/threads; 0xFFFFFFFF: derived")         \
    X(LANE_KIND, "/model/lanes/kind", U8, 1, "[lanes]", "",                                                            \
      "0 compute, 1 communication, 2 copy, 3 cpu, 4 annotation, 5 async, 6 counter, 7 other, 8 step, 9 phase")         \
    X(LANE_NAME, "/model/lanes/name", U32, 1, "[lanes]", "string id", "name")                                          \
    X(LANE_FIRST_TRACK, "/model/lanes/first_track", U32, 1, "[lanes]", "", "row of /model/tracks")                     \
    X(LANE_N_TRACKS, "/model/lanes/n_tracks", U32, 1, "[lanes]", "", "tracks of the lane = its depth")                 \
    X(LANE_EVENTS, "/model/lanes/n_events", U64, 1, "[lanes]", "", "events of the lane")                               \
    X(LANE_BUSY, "/model/lanes/busy", I64, 1, "[lanes]", "ns", "union of the intervals")                               \
    X(LANE_SUM, "/model/lanes/sum", I64, 1, "[lanes]", "ns", "sum of the durations")                                   \
    X(LANE_FIRST, "/model/lanes/first", I64, 1, "[lanes]", "ns", "first start")                                        \
    X(LANE_LAST, "/model/lanes/last", I64, 1, "[lanes]", "ns", "last end")                                             \
    X(TRACK_LANE, "/model/tracks/lane", U32, 1, "[tracks]", "", "row of /model/lanes")                                 \
    X(TRACK_DEPTH, "/model/tracks/depth", U32, 1, "[tracks]", "", "nesting depth inside the lane")                     \
    X(TRACK_ROW, "/model/tracks/row", U32, 1, "[tracks]", "", "row in /lod/tracks, counted inside the group")          \
    X(NAME_TEXT, "/model/names/text", U32, 1, "[names]", "string id", "name")                                          \
    X(NAME_CATEGORY, "/model/names/category", U32, 1, "[names]", "", "row of /model/categories")                       \
    X(NAME_SOURCE, "/model/names/source", U32, 1, "[names]", "", "row of /model/sources; 0xFFFFFFFF: none")            \
    X(CATEGORY_NAME, "/model/categories/name", U32, 1, "[categories]", "string id", "name")                            \
    X(CATEGORY_CLASS, "/model/categories/class", U8, 1, "[categories]", "", "row of /model/classes, without a phase")  \
    X(CATEGORY_KIND, "/model/categories/kind", U8, 1, "[categories]", "", "kind of the lane, as in /model/lanes/kind") \
    X(SOURCE_NAME, "/model/sources/name", U32, 1, "[sources]", "string id", "the input's own category")                \
    X(STEP_RANK, "/model/steps/rank", U32, 1, "[steps]", "", "row of /model/ranks")                                    \
    X(STEP_INDEX, "/model/steps/index", I64, 1, "[steps]", "", "number of the step")                                   \
    X(STEP_NAME, "/model/steps/name", U32, 1, "[steps]", "string id", "name")                                          \
    X(STEP_START, "/model/steps/start", I64, 1, "[steps]", "ns", "begin on the CPU")                                   \
    X(STEP_END, "/model/steps/end", I64, 1, "[steps]", "ns", "end on the CPU")                                         \
    X(STEP_DEVICE_START, "/model/steps/device_start", I64, 1, "[steps]", "ns", "begin of its first kernel")            \
    X(STEP_DEVICE_END, "/model/steps/device_end", I64, 1, "[steps]", "ns", "end of its last kernel")                   \
    X(COMM_NAME, "/model/groups/name", U32, 1, "[comms]", "string id", "process group (communicator)")                 \
    X(COMM_DESCRIPTION, "/model/groups/description", U32, 1, "[comms]", "string id", "its description")                \
    X(COMM_FIRST, "/model/groups/first_member", U64, 1, "[comms]", "", "first row in /model/members/rank")             \
    X(COMM_N, "/model/groups/n_members", U32, 1, "[comms]", "", "ranks of the group")                                  \
    X(MEMBER_RANK, "/model/members/rank", I64, 1, "[n]", "", "global rank, ascending within its group")                \
    X(COUNTER_NAME, "/model/counters/name", U32, 1, "[counters]", "string id", "name/series")                          \
    X(COUNTER_RANK, "/model/counters/rank", U32, 1, "[counters]", "", "row of /model/ranks")                           \
    X(COUNTER_THREAD, "/model/counters/thread", U32, 1, "[counters]", "", "row of /model/threads")                     \
    X(COUNTER_FIRST, "/model/counters/first_sample", U64, 1, "[counters]", "", "first row in /counters")               \
    X(COUNTER_N, "/model/counters/n_samples", U64, 1, "[counters]", "", "samples")                                     \
    X(COUNTER_MIN, "/model/counters/min", F64, 1, "[counters]", "the counter's", "smallest value")                     \
    X(COUNTER_MAX, "/model/counters/max", F64, 1, "[counters]", "the counter's", "largest value")                      \
    X(INPUT_PATH, "/model/inputs/path", U32, 1, "[inputs]", "string id", "file that was read")                         \
    X(INPUT_FORMAT, "/model/inputs/format", U32, 1, "[inputs]", "string id", "its format")                             \
    X(INPUT_BYTES, "/model/inputs/bytes", U64, 1, "[inputs]", "bytes", "its size, before inflating")                   \
    X(INPUT_EVENTS, "/model/inputs/n_events", U64, 1, "[inputs]", "", "events read from it")                           \
    X(INPUT_RANK, "/model/inputs/rank", U32, 1, "[inputs]", "", "row of /model/ranks; 0xFFFFFFFF: several")            \
    X(LOSS_CODE, "/model/losses/code", U32, 1, "[losses]", "string id", "what was lost or repaired, as a word")        \
    X(LOSS_COUNT, "/model/losses/count", U64, 1, "[losses]", "", "how often")                                          \
    X(LOSS_INPUT, "/model/losses/input", U32, 1, "[losses]", "", "row of /model/inputs; 0xFFFFFFFF: none")             \
    X(LOSS_OFFSET, "/model/losses/first_offset", U64, 1, "[losses]", "bytes", "where in the input it came first")      \
    X(LOSS_DETAIL, "/model/losses/detail", U32, 1, "[losses]", "string id", "which one")

/* Only of files that hold a computational graph. Last, so that SCHEMA_FIRST_GRAPH says which. */
#define SCHEMA_GRAPH(X)                                                                                                \
    X(GRAPH_FACTS, "/graph/facts", U32, 1, "[3]", "graph string id", "format, the graph's own name, what produced it") \
    X(GRAPH_STRING_BYTES, "/graph/strings/bytes", U8, 1, "[n]", "UTF-8",                                               \
      "the graph's strings, each with a zero byte behind it")                                                          \
    X(GRAPH_STRING_START, "/graph/strings/start", U64, 1, "[strings + 1]", "bytes", "where each string begins")        \
    X(GRAPH_NODE_NAME, "/graph/nodes/name", U32, 1, "[nodes]", "graph string id", "as the input writes it")            \
    X(GRAPH_NODE_OP, "/graph/nodes/op", U32, 1, "[nodes]", "graph string id", "operator type")                         \
    X(GRAPH_NODE_SCOPE, "/graph/nodes/scope", U32, 1, "[nodes]", "", "row of /graph/scopes")                           \
    X(GRAPH_NODE_BODY, "/graph/nodes/body", U32, 1, "[nodes]", "", "scope of its body or callee; 0xFFFFFFFF: none")    \
    X(GRAPH_NODE_SHARDING, "/graph/nodes/sharding", U32, 1, "[nodes]", "graph string id",                              \
      "slices per dimension of each input")                                                                            \
    X(GRAPH_NODE_KEY, "/graph/nodes/key", I64, 1, "[nodes]", "", "the input's number for it; -1: none")                \
    X(GRAPH_NODE_STAGE, "/graph/nodes/stage", I32, 1, "[nodes]", "", "row of /graph/stages; -1: none")                 \
    X(GRAPH_NODE_ROLE, "/graph/nodes/role", U8, 1, "[nodes]", "",                                                      \
      "0 operator, 1 parameter, 2 constant, 3 input, 4 output")                                                        \
    X(GRAPH_NODE_PHASE, "/graph/nodes/phase", U8, 1, "[nodes]", "",                                                    \
      "0 unknown, 1 forward, 2 backward, 3 recompute, 4 optimizer")                                                    \
    X(GRAPH_NODE_CLASS, "/graph/nodes/class", U8, 1, "[nodes]", "",                                                    \
      "what it is painted by, in the order of src/graph/model.h")                                                      \
    X(GRAPH_NODE_FLAGS, "/graph/nodes/flags", U8, 1, "[nodes]", "",                                                    \
      "bits 0 not a node of the input, 2 has a body, 3 redistribution, 4 gradient aggregation")                        \
    X(GRAPH_NODE_OUT, "/graph/nodes/first_output", U32, 1, "[nodes + 1]", "", "first row in /graph/outputs")           \
    X(GRAPH_NODE_ATTR, "/graph/nodes/first_attribute", U32, 1, "[nodes + 1]", "", "first row in /graph/attributes")    \
    X(GRAPH_OUT_TYPE, "/graph/outputs/type", U32, 1, "[n]", "graph string id", "element type and shape")               \
    X(GRAPH_OUT_BYTES, "/graph/outputs/bytes", U64, 1, "[n]", "bytes", "size of the tensor; 0: not known")             \
    X(GRAPH_ATTR_KEY, "/graph/attributes/key", U32, 1, "[n]", "graph string id", "name of the attribute")              \
    X(GRAPH_ATTR_VALUE, "/graph/attributes/value", U32, 1, "[n]", "graph string id", "its value as text")              \
    X(GRAPH_EDGE_FROM, "/graph/edges/from", U32, 1, "[edges]", "", "row of /graph/nodes")                              \
    X(GRAPH_EDGE_TO, "/graph/edges/to", U32, 1, "[edges]", "", "row of /graph/nodes; edges ascend by (to, to_slot)")   \
    X(GRAPH_EDGE_FROM_SLOT, "/graph/edges/from_slot", U32, 1, "[edges]", "", "output of the producer")                 \
    X(GRAPH_EDGE_TO_SLOT, "/graph/edges/to_slot", U32, 1, "[edges]", "", "input of the consumer")                      \
    X(GRAPH_EDGE_FLAGS, "/graph/edges/flags", U8, 1, "[edges]", "",                                                    \
      "bits 0 not an edge of the input, 1 control, 5 from a Send to its Receive")                                      \
    X(GRAPH_SCOPE_PARENT, "/graph/scopes/parent", U32, 1, "[scopes]", "", "row of /graph/scopes; of the root: itself") \
    X(GRAPH_SCOPE_NAME, "/graph/scopes/name", U32, 1, "[scopes]", "graph string id", "last part of the path")          \
    X(GRAPH_SCOPE_CLASS, "/graph/scopes/class", U32, 1, "[scopes]", "graph string id", "class of the module")          \
    X(GRAPH_SCOPE_FLAGS, "/graph/scopes/flags", U8, 1, "[scopes]", "", "bits 6 inferred, 7 body of a node")            \
    X(GRAPH_STAGE_STAGE, "/graph/stages/stage", I32, 1, "[stages]", "", "pipeline stage, as the input counts")         \
    X(GRAPH_STAGE_FIRST, "/graph/stages/first_rank", U32, 1, "[stages + 1]", "", "first row in /graph/stages/ranks")   \
    X(GRAPH_STAGE_RANKS, "/graph/stages/ranks", U32, 1, "[n]", "", "global ranks of the stage")

#define SCHEMA_LIST(X)                                                                                                 \
    SCHEMA_EVENTS(X) SCHEMA_BLOCKS(X) SCHEMA_GROUPS(X) SCHEMA_LOD(X) SCHEMA_SIDE(X) SCHEMA_MODEL(X) SCHEMA_GRAPH(X)

typedef enum schema_id {
#define X(id, path, type, width, shape, unit, meaning) S_##id,
    SCHEMA_LIST(X)
#undef X
        SCHEMA_COUNT
} schema_id;
enum { SCHEMA_FIRST_GRAPH = S_GRAPH_FACTS };

typedef struct schema_entry {
    const char *path;
    schema_type type;
    uint32_t width; /* values per row */
    const char *shape;
    const char *unit; /* "" where there is none */
    const char *meaning;
} schema_entry;

extern const schema_entry SCHEMA[SCHEMA_COUNT];

size_t schema_type_size(schema_type t);

typedef struct schema_group {
    const char *path;
    const char *meaning;
} schema_group;

extern const schema_group SCHEMA_PARTS[];
extern const size_t SCHEMA_N_PARTS;

#endif
