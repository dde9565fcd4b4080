/*
 * Events out of the loaded blocks: those of some tracks that meet a window, ascending by start, and their sums per
 * column. A column is inked if and only if an event meets its half-open range; a zero-length event inks the column of
 * its start.
 */
#include <stdlib.h>
#include <string.h>

#include "scene/internal.h"

/* ------------------------------------------------------------------ merging tracks */

typedef struct track_cursor {
    uint32_t track;
    uint32_t block;   /* into span->blocks */
    uint32_t at, end; /* events of that block */
    uint32_t carry, carry_end;
    bool has;
    ev next;
} track_cursor;

static bool find_track(const store_block_info *b, uint32_t track, uint32_t *first, uint32_t *end)
{
    uint32_t low = 0;
    uint32_t high = b->n_tracks;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (b->tracks[middle] < track) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == b->n_tracks || b->tracks[low] != track) {
        return false;
    }
    *first = b->offsets[low];
    *end = b->offsets[low + 1];
    return true;
}

/* First event of [at, end) that ends after the window begins, or is a point in it. On a track ends ascend as starts do.
 */
static uint32_t first_after(const store_columns *c, uint32_t at, uint32_t end, event_window w)
{
    while (at < end) {
        uint32_t middle = at + (end - at) / 2;
        int64_t stop = c->start_ns[middle] + c->dur_ns[middle];
        if (c->dur_ns[middle] > 0 ? stop <= w.floor_ns : stop < w.ceil_ns) {
            at = middle + 1;
        } else {
            end = middle;
        }
    }
    return at;
}

static bool next_carry(track_cursor *k, const block_span *span, event_window w)
{
    while (k->carry < k->carry_end) {
        const store_carry *c = &span->carry[k->carry++];
        int64_t end = c->start_ns + c->dur_ns;
        if (end > w.floor_ns) {
            k->next = (ev){c->start_ns, end, c->row, c->track, c->name, c->instance, c->klass, c->flags};
            return true;
        }
    }
    return false;
}

/* Move to the next event of this track that ends after the window begins. */
static bool cursor_step(track_cursor *k, const block_span *span, event_window w)
{
    if (next_carry(k, span, w)) {
        return true;
    }
    while (k->at == k->end) {
        if (k->block == span->n) {
            return false;
        }
        const span_block *b = &span->blocks[k->block++];
        if (b->columns && find_track(&b->info, k->track, &k->at, &k->end)) {
            k->at = first_after(b->columns, k->at, k->end, w);
        } else {
            k->at = k->end = 0;
        }
    }
    const span_block *b = &span->blocks[k->block - 1];
    const store_columns *c = b->columns;
    uint32_t i = k->at++;
    k->next = (ev){c->start_ns[i],
                   c->start_ns[i] + c->dur_ns[i],
                   b->info.first_row + i,
                   k->track,
                   c->name[i],
                   c->instance[i],
                   c->klass[i],
                   c->flags[i]};
    return true;
}

static void find_carry(track_cursor *k, const block_span *span)
{
    uint32_t low = 0;
    uint32_t high = span->n_carry;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (span->carry[middle].track < k->track) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    k->carry = low;
    while (low < span->n_carry && span->carry[low].track == k->track) {
        low++;
    }
    k->carry_end = low;
}

/* The one whose event comes next, and the one after it (NULL: none). Of equals, the first. */
static track_cursor *earliest(track_cursor *cursors, uint32_t n, const track_cursor **second)
{
    track_cursor *best = NULL;
    *second = NULL;
    for (uint32_t i = 0; i < n; i++) {
        track_cursor *k = &cursors[i];
        if (!k->has) {
            continue;
        }
        if (!best || k->next.start_ns < best->next.start_ns) {
            *second = best;
            best = k;
        } else if (!*second || k->next.start_ns < (*second)->next.start_ns) {
            *second = k;
        }
    }
    return best;
}

static bool comes_before(const track_cursor *k, const track_cursor *other)
{
    return k->next.start_ns < other->next.start_ns || (k->next.start_ns == other->next.start_ns && k < other);
}

/* Inlined for each kind of visit. A track's events are taken in a row until another track's come in between. */
static inline __attribute__((always_inline)) void visit_merged(arena *scratch, const block_span *span,
                                                               const uint32_t *tracks, uint32_t n_tracks,
                                                               event_window w, event_visit visit, void *ctx)
{
    track_cursor *cursors = arena_alloc(scratch, n_tracks * sizeof *cursors + 1);
    for (uint32_t i = 0; i < n_tracks; i++) {
        cursors[i] = (track_cursor){.track = tracks[i]};
        find_carry(&cursors[i], span);
        cursors[i].has = cursor_step(&cursors[i], span, w);
    }
    track_cursor *k;
    const track_cursor *other;
    while ((k = earliest(cursors, n_tracks, &other)) != NULL) {
        do {
            if (k->next.start_ns >= w.end_ns || !visit(ctx, &k->next)) {
                return;
            }
            k->has = cursor_step(k, span, w);
        } while (k->has && (!other || comes_before(k, other)));
    }
}

void visit_events(scene *s, const block_span *span, const uint32_t *tracks, uint32_t n_tracks, event_window w,
                  event_visit visit, void *ctx)
{
    if (span) {
        visit_merged(&s->scratch, span, tracks, n_tracks, w, visit, ctx);
    }
}

/* ------------------------------------------------------------------ sums per column */

void accumulator_reset(accumulator *a, uint32_t n)
{
    if (n > a->cap) {
        a->columns = mem_realloc_array(a->columns, n, sizeof *a->columns);
        a->share = mem_realloc_array(a->share, (size_t)n * CLASS_COUNT, sizeof *a->share);
        a->cap = n;
    }
    a->n = n;
    memset(a->columns, 0, n * sizeof *a->columns);
}

void accumulator_deinit(accumulator *a)
{
    free(a->columns);
    free(a->share);
    memset(a, 0, sizeof *a);
}

typedef struct fold {
    const time_grid *g;
    accumulator *a;
    row_raster *out;
    double min_wide;
    uint64_t n;
    int64_t union_end_ns;              /* up to where busy time is counted */
    int64_t class_end_ns[CLASS_COUNT]; /* likewise, of each class */
    int64_t previous_last;             /* last column of the event before */
} fold;

void add_share(accumulator *a, uint32_t i, uint8_t klass, float part)
{
    column_sums *c = &a->columns[i];
    uint16_t bit = (uint16_t)(1U << klass);
    uint16_t had = c->classes;
    if (had == 0 || had == bit) {
        c->lone += part;
    } else {
        float *share = &a->share[(size_t)i * CLASS_COUNT];
        if ((had & (had - 1)) == 0) { /* the second class: both go to the table */
            share[__builtin_ctz(had)] = c->lone;
        }
        share[klass] = (had & bit ? share[klass] : 0) + part;
    }
    c->classes = had | bit;
}

uint8_t dominant_class(const accumulator *a, uint32_t i)
{
    uint32_t classes = a->columns[i].classes;
    if ((classes & (classes - 1)) == 0) {
        return classes ? (uint8_t)__builtin_ctz(classes) : CELL_EMPTY;
    }
    const float *share = &a->share[(size_t)i * CLASS_COUNT];
    uint8_t best = (uint8_t)__builtin_ctz(classes);
    for (classes &= classes - 1; classes; classes &= classes - 1) {
        uint8_t k = (uint8_t)__builtin_ctz(classes);
        best = share[k] > share[best] ? k : best;
    }
    return best;
}

static inline void touch(accumulator *a, int64_t i, const ev *e, float part)
{
    column_sums *c = &a->columns[i];
    add_share(a, (uint32_t)i, e->klass, part);
    c->count = (uint8_t)(c->count + (c->count < 255));
    uint8_t severity = e->flags & EVENT_SEVERITY;
    c->severity = severity > c->severity ? severity : c->severity;
}

/* The part of [start, end) inside column i, in columns. */
static inline float part_in(const time_grid *g, int64_t i, int64_t start_ns, int64_t end_ns)
{
    double low = time_edge(g, i);
    double high = time_edge(g, i + 1);
    double start = since_begin(g, start_ns);
    double end = since_begin(g, end_ns);
    low = start > low ? start : low;
    high = end < high ? end : high;
    return high > low ? (float)((high - low) * g->inverse) : 0;
}

/* Columns that lie wholly inside the event. Most are its own: they are written straight through. */
static void add_inner(accumulator *a, const ev *e, int64_t from, int64_t to)
{
    uint64_t own[2]; /* as words: put together once, not once a column */
    column_sums sums = {.lone = 1, .classes = (uint16_t)(1U << e->klass), .count = 1};
    sums.severity = e->flags & EVENT_SEVERITY;
    memcpy(own, &sums, sizeof own);
    for (int64_t i = from; i < to; i++) {
        column_sums *c = &a->columns[i];
        if (c->classes == 0) {
            memcpy(c, own, sizeof own); /* nothing was busy here, or flagged */
        } else {
            touch(a, i, e, 1);
        }
    }
}

/* What the event adds to the union of its class. */
static void add_class(fold *f, const ev *e, int64_t first, int64_t last)
{
    accumulator *a = f->a;
    int64_t *upto = &f->class_end_ns[e->klass];
    if (e->start_ns < *upto) { /* the class runs on another track, too */
        for (int64_t i = first; i <= last; i++) {
            touch(a, i, e, part_in(f->g, i, *upto, e->end_ns));
        }
    } else {
        touch(a, first, e, part_in(f->g, first, e->start_ns, e->end_ns));
        add_inner(a, e, first + 1, last);
        if (last > first) {
            touch(a, last, e, part_in(f->g, last, e->start_ns, e->end_ns));
        }
    }
    *upto = e->end_ns > *upto ? e->end_ns : *upto;
}

static void add_interval(fold *f, const ev *e, int64_t first, int64_t last, bool is_whole)
{
    accumulator *a = f->a;
    if (first == last && e->start_ns >= f->union_end_ns && is_whole) { /* most events of a crowded picture */
        float part = (float)((double)(e->end_ns - e->start_ns) * f->g->inverse);
        touch(a, first, e, part);
        a->columns[first].busy += part;
        f->union_end_ns = f->class_end_ns[e->klass] = e->end_ns;
        return;
    }
    int64_t busy_from = e->start_ns > f->union_end_ns ? e->start_ns : f->union_end_ns;
    add_class(f, e, first, last);
    if (busy_from < e->end_ns) {
        int64_t from = busy_from > e->start_ns ? column_of(f->g, busy_from) : first;
        from = from < first ? first : from;
        for (int64_t i = from; i <= last; i++) {
            a->columns[i].busy += i > from && i < last ? 1.0F : part_in(f->g, i, busy_from, e->end_ns);
        }
        f->union_end_ns = e->end_ns;
    }
}

static void note_wide(fold *f, const ev *e, int64_t first, bool begins_inside)
{
    double width = (double)(e->end_ns - e->start_ns) * f->g->inverse;
    if (width >= 3 && begins_inside && first > 0 && f->previous_last >= first - 1) {
        f->a->columns[first].flags |= CELL_EDGE;
    }
    if (f->out && width >= f->min_wide) {
        wide_event w = {*e, 0};
        VEC_PUSH(f->out->wide, f->out->n_wide, f->out->cap_wide, w);
    }
}

static bool fold_event(void *ctx, const ev *e)
{
    fold *f = ctx;
    int64_t first = column_of(f->g, e->start_ns);
    int64_t last = last_column_of(f->g, e->start_ns, e->end_ns);
    f->n++;
    int64_t n = (int64_t)f->g->n;
    bool begins_inside = first >= 0;
    bool is_whole = begins_inside && last < n;
    first = first < 0 ? 0 : first;
    last = last >= n ? n - 1 : last;
    if (last < first || e->klass >= CLASS_COUNT) {
        return true;
    }
    note_wide(f, e, first, begins_inside);
    add_interval(f, e, first, last, is_whole);
    f->previous_last = last;
    return true;
}

uint64_t accumulate_events(arena *scratch, const block_span *span, const uint32_t *tracks, uint32_t n_tracks,
                           const time_grid *g, accumulator *a, row_raster *out, double min_wide)
{
    fold f = {.g = g, .a = a, .out = out, .min_wide = min_wide, .union_end_ns = INT64_MIN, .previous_last = -2};
    for (int k = 0; k < CLASS_COUNT; k++) {
        f.class_end_ns[k] = INT64_MIN;
    }
    if (span) {
        visit_merged(scratch, span, tracks, n_tracks, window_of_grid(g), fold_event, &f);
    }
    return f.n;
}

typedef struct column_search {
    const time_grid *g;
    int64_t column;
    bool found;
} column_search;

static bool meets_column(void *ctx, const ev *e)
{
    column_search *k = ctx;
    k->found = e->klass < CLASS_COUNT && column_of(k->g, e->start_ns) <= k->column &&
               last_column_of(k->g, e->start_ns, e->end_ns) >= k->column;
    return !k->found;
}

bool column_has_event(arena *scratch, const block_span *span, const uint32_t *tracks, uint32_t n_tracks,
                      const time_grid *g, uint32_t i)
{
    column_search k = {.g = g, .column = i};
    visit_merged(scratch, span, tracks, n_tracks, window_of_columns(g, i, (int64_t)i + 1), meets_column, &k);
    return k.found;
}

typedef struct class_sums {
    const time_grid *g;
    int64_t column;
    double low, high; /* its edges, since the grid begins, as all here */
    uint32_t touched; /* bit per class */
    double sum_ns[CLASS_COUNT], upto_ns[CLASS_COUNT];
} class_sums;

static bool add_to_class(void *ctx, const ev *e)
{
    class_sums *k = ctx;
    if (e->klass >= CLASS_COUNT || column_of(k->g, e->start_ns) > k->column ||
        last_column_of(k->g, e->start_ns, e->end_ns) < k->column) {
        return true;
    }
    double end = fmin(since_begin(k->g, e->end_ns), k->high);
    double part = end - fmax(since_begin(k->g, e->start_ns), k->upto_ns[e->klass]);
    k->touched |= 1U << e->klass;
    k->sum_ns[e->klass] += fmax(part, 0);
    k->upto_ns[e->klass] = fmax(k->upto_ns[e->klass], end);
    return true;
}

uint8_t class_of_column(arena *scratch, const block_span *span, const uint32_t *tracks, uint32_t n_tracks,
                        const time_grid *g, uint32_t i)
{
    class_sums k = {.g = g, .column = i, .low = time_edge(g, i), .high = time_edge(g, (int64_t)i + 1)};
    for (int c = 0; c < CLASS_COUNT; c++) {
        k.upto_ns[c] = k.low;
    }
    visit_merged(scratch, span, tracks, n_tracks, window_of_columns(g, i, (int64_t)i + 1), add_to_class, &k);
    uint8_t best = CELL_EMPTY;
    for (uint8_t c = 0; c < CLASS_COUNT; c++) {
        bool larger = best == CELL_EMPTY || k.sum_ns[c] > k.sum_ns[best];
        best = (k.touched >> c & 1) && larger ? c : best;
    }
    return best;
}
