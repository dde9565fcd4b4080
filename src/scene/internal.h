/*
 * The scene from the inside. The way of a frame:
 *
 *   rows.c      the row tree, flattened                 view + model -> scene_row[]
 *   place.c     where each row lies                     scene_row[].y, .h
 *   source.c    what each row is drawn from             blocks or tiles, asked of the cache
 *   events.c    the events of some tracks in a range    merged by start
 *   raster.c    rows, one cell a pixel column           row_raster, kept while the view stays
 *   strips.c    rasters into the draw list              strips
 *   timeline.c, marey.c, axis.c, overview.c, labels.c, frame.c, tooltip.c   draw list
 *
 * Lengths are device px, unless a name says _dp: design px.
 */
#ifndef MAREY_SCENE_INTERNAL_H
#define MAREY_SCENE_INTERNAL_H

#include <math.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/thread.h"
#include "scene/grid.h"
#include "scene/scene.h"

/* ------------------------------------------------------------------ rows */

typedef enum row_kind { ROW_GROUP, ROW_RANK, ROW_LANE, ROW_TRACK, ROW_COUNTER } row_kind;

typedef struct scene_row {
    uint8_t kind;
    uint8_t indent;
    bool has_children;
    bool is_open;
    uint32_t id;    /* into groups, ranks, lanes, tracks or counters */
    uint32_t group; /* the peer group it belongs to; NO_ID: all are peers */
    uint32_t rank;  /* NO_ID for groups */
    double y, h;    /* px from the top of the content */
} scene_row;

/* A stage or host. */
typedef struct rank_group {
    char *name;
    int64_t order;     /* what groups are sorted by */
    uint32_t first, n; /* into scene.group_ranks */
} rank_group;

typedef enum open_state { OPEN_DEFAULT, OPEN_YES, OPEN_NO } open_state;

typedef struct row_tree {
    rank_group *groups;
    size_t n_groups, cap_groups;
    uint32_t *group_ranks;                          /* [n_ranks] rank indices by group, in the view's order */
    uint32_t *rank_group;                           /* [n_ranks] */
    uint8_t *open_groups, *open_ranks, *open_lanes; /* open_state of each */
    size_t cap_open_groups;
    scene_row *rows;
    size_t n_rows, cap_rows;
    bool grouped; /* groups are rows */
    /* what the rows were made from */
    bool made;
    view_grouping grouping;
    view_order order;
    view_layout layout;
    bool show_cpu;
    char pattern[VIEW_PATTERN_MAX];
    uint64_t sorting; /* of the heat column, its window and its numbers */
    double unit_dp;
} row_tree;

/* ------------------------------------------------------------------ time and sources */

typedef struct ev {
    int64_t start_ns, end_ns;
    uint64_t row;
    uint32_t track, name, instance;
    uint8_t klass, flags;
} ev;

typedef struct span_block {
    store_block_info info;
    const store_columns *columns; /* NULL: not here (yet) */
} span_block;

/* The blocks of a store group that meet a window. */
typedef struct block_span {
    span_block *blocks;
    uint32_t n;
    uint32_t n_missing;
    const store_carry *carry;
    uint32_t n_carry;
} block_span;

/* Which bins of a level a column covers, relative to the first bin of the window. Weights are parts of the column, of
 * 256. */
typedef struct bin_range {
    uint32_t first;
    uint16_t more; /* bins after the first */
    uint16_t first_weight, last_weight;
    uint16_t only_middle_weight; /* of the second of three; 0 where there are not three */
    uint16_t edges;              /* EDGE_... */
} bin_range;

/* The first and the last bin of a column: does it lie inside? Does so much of it lie inside that some of its events
 * must, when it is busy all over (to half of a 255th)? */
enum { EDGE_FIRST_INSIDE = 1, EDGE_LAST_INSIDE = 2, EDGE_FIRST_LONG = 4, EDGE_LAST_LONG = 8 };

static inline uint32_t last_bin(bin_range b)
{
    return b.first + b.more;
}

typedef struct bin_map {
    int64_t bin_ns;
    int64_t first_bin; /* of the window; may be negative */
    double begin_ns;   /* of that bin, since the window begins: not above 0 */
    uint32_t n_bins;
    uint16_t middle_weight;
    bin_range *ranges;              /* [grid.n] */
    const struct reduce_plan *plan; /* reduce.h; may be NULL */
} bin_map;

typedef enum slot_state { SLOT_UNKNOWN, SLOT_EMPTY, SLOT_READY, SLOT_MISSING } slot_state;

typedef struct tile_slot {
    uint8_t state;
    const cache_cell *cells;   /* READY */
    const uint8_t *planes;     /* READY; NULL: made here from events */
    const uint16_t *classes;   /* READY, where there are no planes: bit per class, cell by cell */
    const uint8_t *least;      /* READY, R_EIGHT: share of the least busy rank, cell by cell */
    const cache_tile *standin; /* MISSING: a ready tile of a coarser level that covers all of it; may be NULL */
    int64_t standin_bin_ns;
} tile_slot;

/* What the events of a column come to. */
typedef struct column_sums {
    float busy;
    float lone;       /* share of the only class, while there is one */
    uint16_t classes; /* bit per class that touches the column */
    uint8_t count, severity, flags;
    uint8_t unused[3]; /* 0 */
} column_sums;
_Static_assert(sizeof(column_sums) == 2 * sizeof(uint64_t), "compared and copied as two words");

typedef struct accumulator {
    uint32_t n, cap;
    column_sums *columns;
    float *share; /* [cap * CLASS_COUNT], once there are several classes in a column: of each its union */
} accumulator;

/* A tile with so few events that it is not stored, made from them, block after block. */
typedef struct made_tile {
    tile_key key;
    cache_cell *cells; /* NULL: not done yet */
    uint16_t *classes; /* bit per class in the cell */
    uint8_t *least;    /* R_EIGHT: [TILE_CELLS] */
    accumulator *sums; /* [TILE_ROWS] while it is being made */
    float *rank_busy;  /* R_EIGHT, likewise: [TILE_ROWS * 8 * TILE_BINS] */
    uint32_t n_done;   /* blocks */
} made_tile;

typedef struct made_tiles {
    map64 by_key; /* -> index + 1 */
    made_tile *items;
    size_t n, cap;
    size_t n_making;
} made_tiles;

typedef enum source_mode { SOURCE_NONE, SOURCE_EVENTS, SOURCE_TILES } source_mode;

/* What one row level of one store group is drawn from in this frame. */
typedef struct group_source {
    bool made;
    source_mode mode;
    uint8_t r, level;
    uint32_t group;
    block_span *span; /* EVENTS */
    int64_t first_col;
    uint32_t n_cols, n_row_blocks;
    tile_slot *slots; /* [row_block * n_cols + col] */
    const bin_map *map;
    struct standin_list *standins; /* EVENTS, where blocks are missing: [row block] */
} group_source;

typedef struct frame_sources {
    time_grid grid;
    bool events;       /* all from events: few enough of them */
    uint32_t n_wanted; /* absent from the cache so far */
    size_t n_groups;
    group_source *groups; /* [n_groups * LOD_R] */
    group_source *coarse; /* likewise, for rows that are put off; NULL: none so far */
    block_span **spans;   /* [n_groups] */
    bin_map *maps;
    size_t n_maps, cap_maps;
    double strictness; /* the widest bin, in columns */
} frame_sources;

/* ------------------------------------------------------------------ raster */

/* An event wide enough to be a thing of its own on screen. */
typedef struct wide_event {
    ev e;
    uint64_t key; /* Marey: same key, same instance; 0: not computed */
} wide_event;

typedef struct row_mark {
    uint32_t x;
    uint8_t severity;
} row_mark;

/* What tiles may leave in doubt about a column (refine.c): is it inked, or only a bin across its edge? Which class has
 * the most time in it? */
enum { DOUBT_INK, DOUBT_CLASS, N_DOUBTS };
typedef struct column_list {
    uint32_t *items; /* ascending */
    size_t n, cap;
} column_list;

typedef struct row_raster {
    uint64_t key;
    uint64_t made_in; /* the frame, by scene.n_frames */
    bool complete;
    uint32_t n;
    draw_cell *cells;
    size_t cap_cells;
    wide_event *wide; /* ascending by start */
    size_t n_wide, cap_wide;
    row_mark *marks;
    size_t n_marks, cap_marks;
    bool from_tiles, is_searched; /* searched for columns in doubt, which are: */
    column_list doubts[N_DOUBTS];
    uint32_t group; /* store group, and tracks that it shows: a list, or all from the first one on */
    const uint32_t *tracks;
    uint32_t first_track, n_tracks;
    draw_cell *least; /* ROW_GROUP: what all ranks share, and the mean */
    draw_cell *mean;
    size_t cap_least;
} row_raster;

typedef struct raster_store {
    uint64_t stamp; /* of the view that all entries belong to */
    map64 by_key;   /* -> index + 1 */
    row_raster **items;
    size_t n, cap;
    accumulator bins; /* for tiles that are not stored */
    made_tiles made;
    uint64_t n_events; /* that rows took in this frame */
    size_t n_put_off;  /* rows that wait for the next frame */
    bool has_all;      /* nothing was wanting when this view was last drawn */
    bool rests;        /* and it is still the same view: now it is made exact */
} raster_store;

/* What one thread makes rows with. */
typedef struct raster_work {
    accumulator acc;
    arena scratch; /* of one row */
    cache_cell *gather;
    size_t cap_gather;
    uint8_t *coarse; /* per bin of `gather` */
    size_t cap_coarse;
    uint32_t *mixed, *hard; /* columns */
    size_t cap_mixed, cap_hard;
    uint16_t *present; /* classes per bin of `gather`, a bit each */
    size_t cap_present;
} raster_work;

/* The threads of a frame: what they do is cut into pieces that do not depend on their number. */
enum { MAX_WORKERS = 8 };
typedef struct work_team {
    unsigned n_threads; /* the drawing thread among them; 0: as many as the machine has cores */
    pool *pool;         /* NULL: not needed yet, or one thread */
    raster_work work[MAX_WORKERS];
} work_team;

/* ------------------------------------------------------------------ the frame */

typedef struct metrics {
    float s; /* device px per design px */
    rect frame, bar, overview, axis, labels, plot, status;
    rect heat; /* the cells beside the rows, inside `labels`; w = 0: none */
    float pad;
} metrics;

typedef struct command_area {
    rect r;
    const char *command;
} command_area;

enum { MAX_COMMANDS = 32, MAX_PLACED = 4096 };

/* An event that was drawn as a thing of its own: for picking. */
typedef struct hover_state {
    bool valid;
    float x, y;
    uint32_t row;
    bool in_column; /* the row is inked there */
    bool has_event;
    ev event;
    uint32_t n_events; /* in the column */
} hover_state;

/* The time that the strip above spans. */
typedef struct overview_span {
    int64_t t0_ns, length_ns; /* length > 0 */
    bool is_part;             /* some events lie far away from the others: it spans those, while the view does */
} overview_span;

typedef struct overview_sums {
    uint32_t n;
    overview_span span;
    bool complete;
    float *sum;      /* [n * CLASS_COUNT], in ranks */
    uint8_t *height; /* [CLASS_COUNT * n]: cumulative, 255 = all ranks busy */
    uint8_t *severity;
    uint8_t *done; /* [store groups]: in the sums */
    uint16_t classes;
} overview_sums;

struct marey_cache;
struct comm_table;
struct comm_view;
struct graph_view;
struct heat_view;
struct line_view;
struct overlay_view;
struct steps_state;
struct step_map;

typedef enum marey_level { MAREY_NONE, MAREY_STEPS, MAREY_PHASES, MAREY_OPERATORS } marey_level;

struct scene {
    store_file *file;
    cache *cache;
    text_ctx *text;
    const trace_model *model;
    arena scratch; /* of one frame */

    /* from the model, once */
    uint32_t *rank_events_group, *rank_phase_group, *rank_step_group; /* store groups; NO_ID */
    uint32_t *rank_first_track;                                       /* [n_ranks + 1] into device_tracks */
    uint32_t *device_tracks;                                          /* the tracks that a rank's row is the union of */
    uint32_t *phase_lane, *step_lane;                                 /* lanes of each rank; NO_ID */
    uint32_t *rank_first_step, *rank_steps; /* [n_ranks + 1], [n_steps]: step ids by rank, ascending by time */
    uint32_t *rank_first_counter, *rank_counters;
    bool has_stages, has_hosts;
    store_sample **samples; /* [n_counters], read when first shown */
    size_t *n_samples;

    row_tree tree;
    work_team team;
    raster_store rasters;
    overview_sums overview;
    struct marey_cache *marey;
    struct comm_table *comm;
    struct comm_view *comm_layout;
    struct graph_view *graph;
    struct heat_view *heat;
    struct line_view *lines;
    struct overlay_view *overlay;
    struct steps_state *steps;
    struct step_map *step_map;
    void (*wake)(void *ctx); /* of what is worked out beside the drawing */
    void *wake_ctx;
    const char *const (*help)[2];
    size_t n_help;

    uint64_t n_frames;

    /* of the frame that is being built, and of the last one built */
    metrics m;
    view v;
    scene_input in;
    frame_sources src;
    scene_frame frame;
    draw_list *l;
    const theme *t;
    diag *d;
    size_t first_visible, end_visible; /* rows */
    uint32_t column, n_columns;        /* steps side by side: the one being drawn */
    int64_t origin_ns;                 /* the axis counts from here */
    double scroll;                     /* px */
    uint32_t *row_cells; /* [visible rows] first cell of each row's strip in the draw list; NO_ID: none of its own */
    command_area commands[MAX_COMMANDS];
    size_t n_commands;
    hover_state hover;
    store_event_info selected;
    bool has_selected;
    uint64_t selected_key;
    char source_text[48];
    uint64_t events_a_frame; /* while the picture moves, after which rows are put off */
    double event_budget;     /* events in the window's blocks up to which all is drawn from events */
    size_t refine_blocks;    /* that a view may read to settle its columns in doubt */
    size_t many_ranks;       /* in the run, above which stage rows are made from rows of eight */
};

/* rows.c, place.c */
void tree_init(scene *s);
void tree_deinit(scene *s);
void tree_update(scene *s); /* rows of the view s->v */
void place_rows(scene *s);  /* y and h, scroll, visible range */
bool glob_match(const char *pattern, size_t n_pattern, const char *text);
/** The tracks whose union a row shows. Groups and counters have none. */
const uint32_t *row_tracks(const scene *s, const scene_row *row, uint32_t *n, uint32_t *scratch_first);
size_t row_at(const scene *s, double y_content); /* index, or SIZE_MAX */
double rank_unit_default_dp(view_layout layout);
uint32_t group_of_events(const scene *s, uint32_t track); /* store group that holds a track */

/* model.c: what is derived from the model once */
void facts_init(scene *s);
void facts_deinit(scene *s);
int32_t step_at(const scene *s, uint32_t rank, int64_t t_ns); /* index into model.steps, -1: none */

/* events.c */
typedef bool (*event_visit)(void *ctx, const ev *e);
/** All events of `tracks` in the loaded blocks that meet the window, ascending by start. */
void visit_events(scene *s, const block_span *span, const uint32_t *tracks, uint32_t n_tracks, event_window w,
                  event_visit visit, void *ctx);
void accumulator_reset(accumulator *a, uint32_t n);
void accumulator_deinit(accumulator *a);
/** Time of one class in column i, in columns; the class must touch it. */
static inline float share_of(const accumulator *a, uint32_t i, uint8_t klass)
{
    const column_sums *c = &a->columns[i];
    return (c->classes & (c->classes - 1)) == 0 ? c->lone : a->share[(size_t)i * CLASS_COUNT + klass];
}
void add_share(accumulator *a, uint32_t i, uint8_t klass, float part);
/** The class with the most time in column i; ties: the lowest; CELL_EMPTY: none. */
uint8_t dominant_class(const accumulator *a, uint32_t i);
/** Add the events of some tracks; `wide` events (>= min_wide columns) are appended to `out`, which may be NULL.
 * @return how many */
/** Does an event of some tracks meet column i? All blocks of its time are loaded. */
bool column_has_event(arena *scratch, const block_span *span, const uint32_t *tracks, uint32_t n_tracks,
                      const time_grid *g, uint32_t i);
/** The class with the most time in column i, by union; ties: the lowest; CELL_EMPTY: no event meets it. Likewise. */
uint8_t class_of_column(arena *scratch, const block_span *span, const uint32_t *tracks, uint32_t n_tracks,
                        const time_grid *g, uint32_t i);
uint64_t accumulate_events(arena *scratch, const block_span *span, const uint32_t *tracks, uint32_t n_tracks,
                           const time_grid *g, accumulator *a, row_raster *out, double min_wide);

/* source.c */
void sources_begin(scene *s);
group_source *source_of(scene *s, uint32_t group, uint8_t r);
/** The finest tiles of a group that is drawn from events, to stand in for them; NULL: they are no help. */
group_source *coarse_source_of(scene *s, uint32_t group, uint8_t r);
block_span *span_of(scene *s, uint32_t group);
/** The blocks of a group that meet the window, asked of the cache. Lives for the frame. */
block_span *span_between(scene *s, uint32_t group, event_window w);
/** The same for the blocks with these ids. */
block_span *span_of_blocks(scene *s, const uint32_t *ids, uint32_t n);
tile_slot *slot_of(scene *s, group_source *g, uint32_t row_block, uint32_t col);
/** store_tile_find(), but for tiles behind which the pyramid of a very long run is cut: they are TILE_SPARSE. */
tile_state find_tile(const scene *s, const tile_key *key, uint32_t *id);
/** A tile that is not stored; its cells are NULL while its events are not here. */
const made_tile *made_tile_for(scene *s, const tile_key *key);
void made_tiles_begin(made_tiles *m);
void made_tiles_deinit(made_tiles *m);
/** A ready tile of a coarser (else finer) level that covers `t_ns`; NULL: none. *empty: a coarser level has nothing
 * there. */
const cache_tile *standin_tile(scene *s, const group_source *g, uint32_t row_block, int64_t t_ns, uint8_t *level,
                               bool *empty);
void source_describe(scene *s);

/* team.c: calls of one frame on several threads. `w` is the calling thread's own. */
typedef void (*team_fn)(scene *s, void *ctx, size_t i, raster_work *w);
/** fn for each of n pieces, that cost about the same each time; few or small ones stay on the drawing thread. */
void team_each(scene *s, size_t n, size_t least_for_threads, team_fn fn, void *ctx);
void team_deinit(work_team *t);

/* tiles.c: a row from tiles */
typedef struct tile_job {
    group_source *g;
    const uint32_t *tile_rows; /* rows of the pyramid, n */
    const uint32_t *tracks;    /* the tracks behind them: one each, or (R_RANK) all of one row */
    uint32_t n_rows, n_tracks;
    row_raster *out;
} tile_job;
/** Ask for all tiles that the job needs. Drawing thread; before raster_tiles(). */
void ask_tiles(scene *s, const tile_job *job);
/** Any thread. */
void raster_tiles(const scene *s, const tile_job *job, raster_work *w);
/** PLANE_LEAST over a column's bins (R_EIGHT). */
uint8_t least_of_column(const tile_job *job, uint32_t column);

/* classes.c */
/** Of a finished row: set the class where its bins prove one, list the columns where they do not. Any thread. */
void find_classes(const time_grid *grid, const tile_job *job, raster_work *w);

/* standin.c: what coarser levels know of columns whose blocks are not here yet */
/** Look it up for the rows of the pyramid that lie in one block with `tile_row`. Drawing thread. */
void find_standins(scene *s, group_source *g, uint32_t tile_row);
/** Fill the empty columns with it. Any thread; after find_standins(). */
void put_standins(const scene *s, const group_source *g, uint32_t tile_row, draw_cell *cells);

/* refine.c: columns in doubt, from events */
/** Settle some of them while the view rests; sets frame.is_refining and has_coarse_... After raster_run().
 * @return did rows change? */
bool refine_rows(scene *s);

/* raster.c: rows, as many at a time as there are threads */
typedef struct raster_task {
    tile_job job;
    scene_row row;
    uint64_t n_events; /* that it took */
    bool is_eight, is_put_off;
} raster_task;
typedef struct raster_plan {
    raster_task *tasks;
    size_t n, cap;
} raster_plan;
/** Add a row to what raster_run() makes, unless it is there already. @return its raster, which is good after that */
row_raster *plan_row(scene *s, raster_plan *p, const scene_row *row);
row_raster *plan_eight(scene *s, raster_plan *p, uint32_t group, uint32_t eight);
/** Make what was planned, and forget the plan. The result does not depend on the number of threads. */
void raster_run(scene *s, raster_plan *p);
void rasters_begin(scene *s);
uint64_t raster_key(const scene_row *row);
void rasters_deinit(raster_store *r);
row_raster *raster_row(scene *s, const scene_row *row);
/** The entry of a key; *valid: its content still holds. Pointers stay good for the frame. */
row_raster *raster_entry(scene *s, uint64_t key, bool *valid);
void add_mark(const scene *s, row_raster *r, uint32_t x, uint8_t severity);

/* grouprow.c */
uint64_t group_key(const scene_row *row);
/** Add the ranks (or eights) of a group's row to a plan. */
void plan_group(scene *s, raster_plan *p, const scene_row *row);
/** Make the rasters of group rows whose members are made. */
void raster_groups(scene *s, const scene_row *const *rows, size_t n);
row_raster *raster_group(scene *s, const scene_row *row);

/* strips.c: rows in the draw list */
void draw_rows(scene *s);

/* timeline.c */
void draw_counter_row(scene *s, const scene_row *row);
void draw_all_labels(scene *s);
rect row_strip_rect(const scene *s, const scene_row *row); /* px, in the frame */
/** Cells of a visible row's strip in the draw list, to be marked on the way; NULL: it has none of its own. */
draw_cell *row_strip_cells(const scene *s, size_t row);
void draw_wide_labels(scene *s, size_t row);
/** Where a label that begins at column `from` has to end, at `to` the latest: before waiting turns into working. */
uint32_t label_end(const draw_cell *cells, uint32_t from, uint32_t to);
/** What a label on top of these cells is written in. */
rgba label_colour_on(const scene *s, uint8_t klass, const draw_cell *cell);

/** A name as blocks show it: without "void", template arguments and parameters. */
void short_name(const char *name, char *out, size_t cap);

/* marks.c */
void draw_marks(scene *s);
void draw_selection(scene *s);
void find_selected(scene *s);

/* marey.c, bands.c */
void marey_prepare(scene *s);
void marey_draw(scene *s);
void marey_free(struct marey_cache **m);
/** Same key, same instance. A collective whose communicator is known is matched by that, else by the peer group. */
uint64_t instance_key(const scene *s, const ev *e, uint32_t rank, uint32_t peer_group, uint32_t communicator);

/* comm.c */
void comm_begin(scene *s);
/** The process group of a collective event; NO_ID: none known. *pending: not read yet, ask again in the next frame. */
uint32_t communicator_of(scene *s, uint64_t event_row, bool *pending);
void comm_free(struct comm_table **t);

/* comm_view.c: the communication layout, in place of rows */
void comm_prepare(scene *s);
void comm_draw(scene *s);
scene_pick comm_pick(const scene *s, double x, double y, scene_pick p);
void comm_status(const scene *s, char *out, size_t cap);
void comm_view_free(struct comm_view **v);

/* graph_frame.c: the graph layout, likewise */
marey_status graph_draw(scene *s);
scene_pick graph_pick(const scene *s, double x, double y, scene_pick p);
void graph_facts(const scene *s, char *out, size_t cap);
void graph_status(const scene *s, char *left, size_t left_cap, char *middle, size_t middle_cap);
/** Does the event belong to what is chosen in the graph? */
bool graph_holds_event(scene *s, uint64_t row, uint32_t name);
/** In the other layouts: keeps up with what is selected. Errors: ARG when what was to be chosen first does not exist.
 */
marey_status graph_beside(scene *s);
void graph_set_wake(scene *s);
bool graph_settle(scene *s);
void graph_view_free(struct graph_view **g);

/* the rest of the window */
void layout_frame(scene *s);
void draw_axis(scene *s);
/** Of 1, 2 or 5 times a power of ten, the least that keeps every n-th step `apart` px or more from the next one. */
long long step_stride(double steps_per_px, double apart_px);
overview_span overview_span_of(const scene *s);
void draw_overview(scene *s);
void overview_deinit(overview_sums *o);
void draw_labels(scene *s);
void draw_bar(scene *s);
/** Does no row of a rank bear a rank's number? Then they are the processes of a plain trace. */
bool ranks_are_processes(const scene *s);
void draw_status(scene *s);
void draw_hover(scene *s);
void draw_help(scene *s);

/* heat_draw.c: what the cells beside the rows take of the labels' width; 0: none are shown */
float heat_width(const scene *s);
/* heat.c: the scene's wake, for what is worked out; waiting for it. */
void heat_set_wake(scene *s);
bool heat_settle(scene *s);
/* lines.c, likewise */
void lines_set_wake(scene *s);
bool lines_settle(scene *s);

/* pick.c */
void hover_update(scene *s);
/** The blocks of a group that meet the window, if they are few and here; NULL else, and *pending when they were asked
 * for. */
block_span *column_span(scene *s, uint32_t group, event_window w, bool *pending);
bool exact_event_at(scene *s, const scene_row *row, double x, ev *out, uint32_t *n_in_column);

/* small helpers */
static inline float snap(double v)
{
    return (float)floor(v + 0.5);
}
static inline bool inside(rect r, double x, double y)
{
    return x >= (double)r.x && x < (double)(r.x + r.w) && y >= (double)r.y && y < (double)(r.y + r.h);
}
static inline float px(const scene *s, double design)
{
    return snap(design * (double)s->m.s);
}
static inline bool event_is_wide(const scene *s, const ev *e)
{
    return (double)(e->end_ns - e->start_ns) * s->src.grid.inverse >= 2;
}
static inline double x_of(const scene *s, int64_t t_ns)
{
    return (double)s->m.plot.x + since_begin(&s->src.grid, t_ns) * s->src.grid.inverse;
}
/** The time at x of the plot. */
static inline moment moment_under(const scene *s, double x)
{
    return grid_moment(&s->src.grid, x - (double)s->m.plot.x);
}
/** One line, centred in the box's height, cut in its middle where it is wider than the box. @return its width */
float put_text(scene *s, draw_layer layer, text_face face, double size_dp, rect box, text_align align, rgba c,
               const char *text);
/** The same, cut at its end. */
float put_text_start(scene *s, draw_layer layer, text_face face, double size_dp, rect box, text_align align, rgba c,
                     const char *text);
/** Is a line of text in the middle of `box` whole inside `panel`? Rows at the edges of the plot are cut, texts are not.
 */
bool text_fits_in(const scene *s, rect box, rect panel);
float width_of(scene *s, text_face face, double size_dp, const char *text);
void add_command(scene *s, rect r, const char *command);
/** A length for people who look at pixels of `resolution_ns`: as many digits as that takes, in the unit of its size. */
void time_label(double t_ns, double resolution_ns, char *out, size_t cap);
/** A time of the run likewise, all its digits right; in the unit that suits `size_ns`, so that two times side by side
 * share one. */
void moment_label(moment t, double size_ns, double resolution_ns, char *out, size_t cap);
/** In one unit, a whole number of ns up to a second. */
void moment_in_unit(moment t, int64_t unit_ns, const char *unit, double resolution_ns, char *out, size_t cap);

#endif
