/*
 * Rows as cells, one a pixel column. Rasters are kept while the view stays as it is, so that a frame in which only the
 * pointer moved, or rows scrolled, makes none anew. Those that lack data are made again each frame.
 *
 * The drawing thread plans: which rows, from what, and looks up in the cache what they are made of. The team makes
 * them, each by itself.
 */
#include <stdlib.h>
#include <string.h>

#include "scene/internal.h"

static const double WIDE_COLUMNS = 1; /* narrower events are told by their cells alone */
enum { SPARE_RASTERS = 256, EIGHT_KIND = 16 };

/* ------------------------------------------------------------------ keeping */

/* Who needs to know which events are the same instance? */
static bool wants_keys(const scene *s)
{
    return s->v.layout == LAYOUT_MAREY || s->v.selected_row != UINT64_MAX;
}

static uint64_t view_stamp(const scene *s)
{
    struct {
        moment t0, t1;
        double strictness;
        uint32_t n, events, wide, keys, grouping;
    } k;
    memset(&k, 0, sizeof k);
    k.t0 = s->v.t0;
    k.t1 = s->v.t1;
    k.strictness = s->src.strictness;
    k.n = s->src.grid.n;
    k.events = s->src.events;
    k.wide = s->tree.unit_dp >= 6;
    k.keys = wants_keys(s);
    k.grouping = s->tree.grouping; /* which ranks a group's row stands for */
    return hash_bytes(&k, sizeof k);
}

static void forget_all(raster_store *r)
{
    map64_deinit(&r->by_key);
    memset(&r->by_key, 0, sizeof r->by_key);
    r->n = 0;
}

void rasters_begin(scene *s)
{
    raster_store *r = &s->rasters;
    uint64_t stamp = view_stamp(s);
    made_tiles_begin(&r->made);
    r->n_events = 0;
    r->n_put_off = 0;
    r->rests = stamp == r->stamp && r->has_all;
    size_t visible = s->end_visible - s->first_visible;
    if (stamp != r->stamp || r->n > 4 * visible + SPARE_RASTERS + s->model->n_ranks) {
        forget_all(r);
        r->stamp = stamp;
    }
}

void rasters_deinit(raster_store *r)
{
    for (size_t i = 0; i < r->cap; i++) {
        if (r->items[i]) {
            free(r->items[i]->cells);
            free(r->items[i]->wide);
            free(r->items[i]->marks);
            free(r->items[i]->doubts[DOUBT_INK].items);
            free(r->items[i]->doubts[DOUBT_CLASS].items);
            free(r->items[i]->least);
            free(r->items[i]->mean);
            free(r->items[i]);
        }
    }
    free((void *)r->items);
    map64_deinit(&r->by_key);
    accumulator_deinit(&r->bins);
    made_tiles_deinit(&r->made);
}

static void forget_doubts(row_raster *r)
{
    r->doubts[DOUBT_INK].n = 0;
    r->doubts[DOUBT_CLASS].n = 0;
}

/* The next free item; items keep their buffers over views. */
static row_raster *take_item(raster_store *r)
{
    if (r->n == r->cap) {
        size_t before = r->cap;
        VEC_RESERVE(r->items, r->cap, r->n + 1);
        memset((void *)(r->items + before), 0, (r->cap - before) * sizeof *r->items);
    }
    if (!r->items[r->n]) {
        r->items[r->n] = mem_calloc(1, sizeof **r->items);
    }
    return r->items[r->n++];
}

row_raster *raster_entry(scene *s, uint64_t key, bool *valid)
{
    raster_store *store = &s->rasters;
    uint64_t *place = map64_put(&store->by_key, key);
    if (*place != 0) {
        row_raster *r = store->items[*place - 1];
        /* An incomplete one asks again for what it lacks, or the cache would forget it. */
        bool is_to_search = store->rests && r->from_tiles && !r->is_searched;
        *valid = (r->complete && !is_to_search) || r->made_in == s->n_frames;
        return r;
    }
    row_raster *r = take_item(store);
    *place = store->n;
    r->key = key;
    r->made_in = 0;
    r->from_tiles = false;
    r->is_searched = false;
    forget_doubts(r);
    r->complete = false;
    *valid = false;
    return r;
}

static void clear_raster(row_raster *r, uint32_t n)
{
    VEC_RESERVE(r->cells, r->cap_cells, n);
    r->n = n;
    r->n_wide = 0;
    r->n_marks = 0;
    forget_doubts(r);
    r->from_tiles = false;
    r->is_searched = false;
}

static void clear_cells(row_raster *r)
{
    for (uint32_t i = 0; i < r->n; i++) {
        r->cells[i] = (draw_cell){CELL_EMPTY, 0, 0, 255};
    }
}

/* At most one mark per eight design px, the most severe. */
void add_mark(const scene *s, row_raster *r, uint32_t x, uint8_t severity)
{
    uint32_t apart = (uint32_t)(8 * (double)s->m.s);
    row_mark *last = r->n_marks > 0 ? &r->marks[r->n_marks - 1] : NULL;
    if (last && x - last->x < apart) {
        if (severity > last->severity) {
            *last = (row_mark){last->x, severity};
        }
        return;
    }
    row_mark mark = {x, severity};
    VEC_PUSH(r->marks, r->n_marks, r->cap_marks, mark);
}

/* ------------------------------------------------------------------ from events */

static draw_cell finished_cell(const accumulator *a, uint32_t i)
{
    const column_sums *c = &a->columns[i];
    float share = c->busy * 255 + 0.5F;
    uint8_t occupancy = share >= 255 ? 255 : share < 1 ? 1 : (uint8_t)share;
    uint8_t flags = (uint8_t)(c->flags | (c->count > 1 ? CELL_MORE : 0) | (c->severity > 0 ? CELL_SEVERE : 0));
    return (draw_cell){dominant_class(a, i), occupancy, flags, 255};
}

/* Are the next four columns like `before`? */
static inline bool four_alike(const column_sums *next, const column_sums *before)
{
    uint64_t x[8];
    uint64_t y[2];
    memcpy(x, next, sizeof x);
    memcpy(y, before, sizeof y);
    uint64_t first = (x[0] ^ y[0]) | (x[2] ^ y[0]) | (x[4] ^ y[0]) | (x[6] ^ y[0]);
    uint64_t second = (x[1] ^ y[1]) | (x[3] ^ y[1]) | (x[5] ^ y[1]) | (x[7] ^ y[1]);
    return (first | second) == 0;
}

static inline bool are_alike(const column_sums *a, const column_sums *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

/* Neighbours inside one event are alike: their cell is the one before. */
static void finish_cells(const scene *s, const accumulator *a, row_raster *out)
{
    static const column_sums nothing = {0};
    const column_sums *before = &nothing;
    draw_cell cell = {CELL_EMPTY, 0, 0, 255};
    bool is_alone = true; /* one class at most: its cell says all of it */
    for (uint32_t i = 0; i < a->n; i++) {
        const column_sums *c = &a->columns[i];
        while (is_alone && i + 4 <= a->n && four_alike(c, before)) {
            out->cells[i] = out->cells[i + 1] = out->cells[i + 2] = out->cells[i + 3] = cell;
            i += 4;
            c += 4;
        }
        if (i == a->n) {
            break;
        }
        if (!is_alone || !are_alike(c, before)) {
            cell = c->classes ? finished_cell(a, i) : (draw_cell){CELL_EMPTY, 0, 0, 255};
            if (c->severity > before->severity) {
                add_mark(s, out, i, c->severity); /* where it begins: one event, one mark */
            }
        }
        out->cells[i] = cell;
        before = c;
        is_alone = (c->classes & (c->classes - 1)) == 0;
    }
}

static void raster_events(const scene *s, raster_task *t, raster_work *w)
{
    const tile_job *job = &t->job;
    accumulator *a = &w->acc;
    row_raster *out = job->out;
    accumulator_reset(a, s->src.grid.n);
    arena_reset(&w->scratch);
    bool wide = s->tree.unit_dp >= 6;
    t->n_events = accumulate_events(&w->scratch, job->g->span, job->tracks, job->n_tracks, &s->src.grid, a,
                                    wide ? out : NULL, WIDE_COLUMNS);
    finish_cells(s, a, out);
    out->complete = !job->g->span || job->g->span->n_missing == 0;
    if (!out->complete && job->n_rows > 0) {
        put_standins(s, job->g, job->tile_rows[0], out->cells);
    }
}

/* ------------------------------------------------------------------ planning */

static raster_task *push_task(scene *s, raster_plan *p, row_raster *out)
{
    raster_task t = {.job = {.out = out}};
    out->made_in = s->n_frames;
    VEC_PUSH(p->tasks, p->n, p->cap, t);
    return &p->tasks[p->n - 1];
}

uint64_t raster_key(const scene_row *row)
{
    bool open = row->kind == ROW_LANE && row->is_open; /* then it shows its outermost track only */
    return ((uint64_t)row->kind << 33) | ((uint64_t)open << 32) | row->id;
}

row_raster *plan_row(scene *s, raster_plan *p, const scene_row *row)
{
    bool valid;
    row_raster *out = raster_entry(s, raster_key(row), &valid);
    if (valid) {
        return out;
    }
    raster_task *t = push_task(s, p, out);
    tile_job *job = &t->job;
    t->row = *row;
    uint32_t *rows = arena_alloc(&s->scratch, 2 * sizeof *rows);
    job->tracks = row_tracks(s, row, &job->n_tracks, &rows[1]);
    uint32_t group = s->rank_events_group[row->rank];
    if (row->kind == ROW_RANK) {
        rows[0] = group == NO_ID ? 0 : row->rank - store_group_at(s->file, group).first_rank;
        job->n_rows = 1;
    } else {
        rows = arena_alloc(&s->scratch, job->n_tracks * sizeof *rows + 1);
        for (uint32_t i = 0; i < job->n_tracks; i++) {
            rows[i] = s->model->tracks[job->tracks[i]].row;
        }
        job->n_rows = job->n_tracks;
    }
    job->tile_rows = rows;
    job->g = source_of(s, group, row->kind == ROW_RANK ? R_RANK : R_TRACK);
    out->tracks = row->kind == ROW_RANK ? job->tracks : NULL; /* other lists live for a frame; theirs are in a row */
    out->first_track = job->n_tracks > 0 ? job->tracks[0] : 0;
    out->n_tracks = job->n_tracks;
    out->group = group;
    return out;
}

/* Eight ranks as one row: their mean. */
row_raster *plan_eight(scene *s, raster_plan *p, uint32_t group, uint32_t eight)
{
    bool valid;
    row_raster *out = raster_entry(s, ((uint64_t)EIGHT_KIND << 33 << 24) | ((uint64_t)group << 8) | eight, &valid);
    if (valid) {
        return out;
    }
    store_group_info info = store_group_at(s->file, group);
    uint32_t first = info.first_rank + eight * 8;
    uint32_t end = (uint32_t)fmin(first + 8, fmin(info.first_rank + info.n_ranks, (double)s->model->n_ranks));
    raster_task *t = push_task(s, p, out);
    uint32_t *tile_row = arena_alloc(&s->scratch, sizeof *tile_row);
    *tile_row = eight;
    t->is_eight = true;
    t->job.tile_rows = tile_row;
    t->job.n_rows = 1;
    t->job.tracks = s->device_tracks + s->rank_first_track[first];
    t->job.n_tracks = s->rank_first_track[end] - s->rank_first_track[first];
    t->job.g = source_of(s, group, R_EIGHT);
    out->tracks = t->job.tracks;
    out->n_tracks = t->job.n_tracks;
    out->group = group;
    return out;
}

/*
 * While the picture moves, the rows that are left when a frame has had its share of events are shown from tiles, said
 * to be coarse, and get their events in the next frames. Each frame finishes some, so that a view at rest becomes
 * exact.
 */
static void put_off(scene *s, raster_task *t)
{
    bool is_low = s->tree.unit_dp < 6; /* else its wide events matter to labels and bands */
    if (s->in.now_ns == 0 || s->rasters.n_events < s->events_a_frame || !is_low || t->job.n_rows != 1) {
        return;
    }
    group_source *coarse = coarse_source_of(s, t->job.g->group, t->job.g->r);
    if (coarse) {
        t->job.g = coarse;
        t->is_put_off = true;
        s->rasters.n_put_off++;
    }
}

/* What the task reads is looked up here, so that the threads only read. */
static void look_up(scene *s, raster_task *t)
{
    tile_job *job = &t->job;
    if (job->g && job->g->mode == SOURCE_EVENTS) {
        put_off(s, t);
    }
    if (job->g && job->g->mode == SOURCE_TILES) {
        ask_tiles(s, job);
    } else if (job->g && job->g->span && job->n_rows > 0) {
        find_standins(s, job->g, job->tile_rows[0]);
    }
}

/* ------------------------------------------------------------------ making */

/* The least busy of eight ranks, column by column, from the pyramid; 0 where it is not known. */
static void find_least(const tile_job *job)
{
    row_raster *out = job->out;
    if (out->n > out->cap_least) {
        out->least = mem_realloc_array(out->least, out->n, sizeof *out->least);
        out->mean = mem_realloc_array(out->mean, out->n, sizeof *out->mean);
        out->cap_least = out->n;
    }
    memset(out->least, 0, out->n * sizeof *out->least);
    for (uint32_t i = 0; job->g && job->g->mode == SOURCE_TILES && i < out->n; i++) {
        out->least[i].occupancy = least_of_column(job, i);
    }
}

static void make_row(scene *s, void *ctx, size_t i, raster_work *w)
{
    raster_task *t = (raster_task *)ctx + i;
    row_raster *out = t->job.out;
    clear_raster(out, s->src.grid.n);
    out->complete = true;
    if (!t->job.g) {
        clear_cells(out);
    } else if (t->job.g->mode == SOURCE_TILES) {
        raster_tiles(s, &t->job, w);
    } else {
        raster_events(s, t, w);
    }
    for (uint32_t k = 0; t->is_put_off && k < out->n; k++) {
        out->cells[k].flags |= out->cells[k].klass != CELL_EMPTY ? CELL_COARSE : 0;
    }
    if (t->is_put_off) {
        out->complete = false;
        forget_doubts(out);
    }
    if (t->is_eight) {
        find_least(&t->job);
    }
}

static void find_keys(scene *s, const scene_row *row, row_raster *out)
{
    bool pending = false;
    for (size_t i = 0; i < out->n_wide; i++) {
        wide_event *w = &out->wide[i];
        uint32_t communicator = w->e.klass == CLASS_COLLECTIVE ? communicator_of(s, w->e.row, &pending) : NO_ID;
        w->key = instance_key(s, &w->e, row->rank, row->group, communicator);
    }
    if (pending) {
        out->complete = false;
        s->src.n_wanted++;
    }
}

/*
 * How many of the tasks left are made at a time: all, but while rows may be put off only about as many as the frame's
 * share of events holds, so that the share counts.
 */
static size_t batch_size(const scene *s, size_t n_done, size_t n_left)
{
    enum { FIRST = 16, MOST = 128 };
    uint64_t taken = s->rasters.n_events;
    if (s->in.now_ns == 0 || s->tree.unit_dp >= 6 || taken >= s->events_a_frame) {
        return n_left;
    }
    uint64_t each = n_done > 0 ? taken / n_done + 1 : 0;
    uint64_t n = each > 0 ? (s->events_a_frame - taken) / each + 1 : FIRST;
    n = n < MOST ? n : MOST;
    return n < n_left ? (size_t)n : n_left;
}

void raster_run(scene *s, raster_plan *p)
{
    enum { LEAST_FOR_THREADS = 8 };
    for (size_t from = 0; from < p->n;) {
        size_t n = batch_size(s, from, p->n - from);
        for (size_t i = from; i < from + n; i++) {
            look_up(s, &p->tasks[i]);
        }
        team_each(s, n, LEAST_FOR_THREADS, make_row, p->tasks + from);
        for (size_t i = from; i < from + n; i++) {
            s->rasters.n_events += p->tasks[i].n_events;
        }
        from += n;
    }
    for (size_t i = 0; wants_keys(s) && i < p->n; i++) {
        if (!p->tasks[i].is_eight) {
            find_keys(s, &p->tasks[i].row, p->tasks[i].job.out);
        }
    }
    free(p->tasks);
    *p = (raster_plan){0};
}

row_raster *raster_row(scene *s, const scene_row *row)
{
    raster_plan p = {0};
    row_raster *out = plan_row(s, &p, row);
    raster_run(s, &p);
    return out;
}
