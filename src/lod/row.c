/* Events into the cells of their rows. */
#include "base/mem.h"
#include "lod/internal.h"

static inline int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static inline int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t bin_start(const lod_block *b, uint64_t bin)
{
    return (int64_t)(bin << b->shift);
}

/* Most rows have one running event at a time, and there may be thousands of rows: grow from one. */
static inline void push_active(lod_block *b, unsigned row, const lod_event *e)
{
    lod_row *r = &b->rows[row];
    if (r->n_active == r->cap_active) {
        r->cap_active = r->cap_active ? r->cap_active * 2 : 1;
        r->active = mem_realloc_array(r->active, r->cap_active, sizeof *r->active);
    }
    r->active[r->n_active++] = *e;
    b->active_rows |= (uint64_t)1 << row;
}

static void open_row(lod_block *b, unsigned row, uint64_t bin)
{
    lod_row *r = &b->rows[row];
    r->cell = lod_cell_open(b, row, b->base, bin);
    r->next_ns = bin_start(b, bin + 1);
}

/* ------------------------------------------------------------------ tracks: one event after the other */

/* The event covers what follows next_ns, where a bin begins. */
static void go_on(lod_block *b, unsigned row, const lod_event *e)
{
    lod_row *r = &b->rows[row];
    int64_t to = smaller(e->end_ns, b->end_ns);
    uint64_t bin = (uint64_t)r->next_ns >> b->shift;
    uint64_t end = (uint64_t)to >> b->shift;
    if (end > bin) {
        lod_cell one; /* of the classes only what is present is looked at */
        one.longest_ns = e->dur_ns > 0 ? e->dur_ns : 0;
        one.count = 0;
        one.mask = (uint16_t)(1U << e->klass);
        one.severity = e->severity;
        one.subs = 0;
        one.class_ns[e->klass] = (int64_t)1 << b->shift;
        lod_cell_close(b, row, b->base);
        lod_cell_run(b, row, bin, end - bin, &one);
        r->next_ns = bin_start(b, end);
    }
    if (to > r->next_ns) {
        int64_t from = r->next_ns;
        open_row(b, row, end);
        lod_cell_touch(r->cell, e);
        r->cell->class_ns[e->klass] += to - from;
    }
    if (e->end_ns > b->end_ns) {
        push_active(b, row, e);
    }
}

void lod_track_open(lod_block *b, unsigned row, int64_t t_ns)
{
    open_row(b, row, (uint64_t)t_ns >> b->shift);
}

void lod_track_go_on(lod_block *b, const lod_event *e)
{
    go_on(b, e->row, e);
}

void lod_add_to_tracks(lod_block *b, const lod_event *e, const lod_event *end)
{
    for (; e < end; e++) {
        lod_track_add(b, e);
    }
}

/* ------------------------------------------------------------------ ranks: events overlap */

/* What the event adds to its rank's cell, to whose unions it adds from busy_from and class_from on. */
static inline void add_to_rank(lod_cell *c, unsigned sub, const lod_event *e, int64_t busy_from, int64_t class_from,
                               int64_t to_ns)
{
    lod_cell_touch(c, e);
    c->subs |= (uint8_t)(1U << sub);
    if (to_ns > busy_from) {
        c->busy_ns[sub] += to_ns - busy_from;
    }
    if (to_ns > class_from) {
        c->class_ns[e->klass] += to_ns - class_from;
    }
}

static inline void add_running(unsigned n_sub, const lod_event *e, int64_t from_ns, int64_t end_ns, lod_cell *c)
{
    unsigned sub = e->row & (n_sub - 1); /* a power of two */
    add_to_rank(c, sub, e, larger(e->busy_from_ns, from_ns), larger(e->class_from_ns, from_ns),
                smaller(e->end_ns, end_ns));
}

static void set_active(lod_block *b, unsigned row, uint32_t n)
{
    b->rows[row].n_active = n;
    if (n == 0) {
        b->active_rows &= ~((uint64_t)1 << row);
    }
}

static void drop_ended(lod_block *b, unsigned row, int64_t now_ns)
{
    const lod_row *r = &b->rows[row];
    uint32_t kept = 0;
    for (uint32_t i = 0; i < r->n_active; i++) {
        if (r->active[i].end_ns > now_ns) {
            r->active[kept++] = r->active[i];
        }
    }
    set_active(b, row, kept);
}

/* The cell after what is done, which may have running events in it. */
static inline void open_with_running(lod_block *b, unsigned n_sub, unsigned row, uint64_t bin)
{
    lod_row *r = &b->rows[row];
    uint32_t kept = 0;
    open_row(b, row, bin);
    if (r->n_active == 0) {
        return;
    }
    lod_cell *const c = r->cell;
    const int64_t from_ns = bin_start(b, bin);
    const int64_t end_ns = r->next_ns;
    for (uint32_t i = 0; i < r->n_active; i++) {
        const lod_event *e = &r->active[i];
        add_running(n_sub, e, from_ns, end_ns, c);
        if (e->end_ns > end_ns) {
            if (kept < i) {
                r->active[kept] = *e;
            }
            kept++;
        }
    }
    set_active(b, row, kept);
}

/* First time after `from_ns` at which the set of running events changes, or where one of them begins to count. */
static int64_t change_ns(const lod_row *row, int64_t from_ns)
{
    int64_t first = INT64_MAX;
    for (uint32_t i = 0; i < row->n_active; i++) {
        const lod_event *e = &row->active[i];
        first = smaller(e->end_ns, first);
        first = e->busy_from_ns > from_ns ? smaller(e->busy_from_ns, first) : first;
        first = e->class_from_ns > from_ns ? smaller(e->class_from_ns, first) : first;
    }
    return first;
}

/* The cells of `bin` up to `end`, throughout which the same events run. */
static void add_run(lod_block *b, unsigned row, uint64_t bin, uint64_t end)
{
    lod_row *r = &b->rows[row];
    lod_cell_room c = {.room = {0}};
    for (uint32_t i = 0; i < r->n_active; i++) {
        add_running(b->axis->n_sub, &r->active[i], r->next_ns, bin_start(b, bin + 1), &c.cell);
    }
    lod_cell_run(b, row, bin, end - bin, &c.cell);
    r->next_ns = bin_start(b, end);
    drop_ended(b, row, r->next_ns);
}

/* Close everything before `to_ns`, where a bin begins. */
static void advance(lod_block *b, unsigned row, int64_t to_ns)
{
    lod_row *r = &b->rows[row];
    lod_cell_close(b, row, b->base);
    while (r->n_active > 0 && r->next_ns < to_ns) {
        uint64_t bin = (uint64_t)r->next_ns >> b->shift;
        uint64_t change = (uint64_t)change_ns(r, r->next_ns) >> b->shift;
        if (change > bin) {
            uint64_t end = (uint64_t)to_ns >> b->shift;
            add_run(b, row, bin, change < end ? change : end);
        } else {
            open_with_running(b, b->axis->n_sub, row, bin);
            lod_cell_close(b, row, b->base);
        }
    }
    r->next_ns = to_ns;
}

static inline void add_to_row(lod_block *b, unsigned n_sub, const lod_event *e)
{
    const unsigned row = e->row / n_sub;
    lod_row *r = &b->rows[row];
    if (e->start_ns >= r->next_ns) {
        uint64_t bin = (uint64_t)e->start_ns >> b->shift;
        if (r->n_active > 0 && r->next_ns < bin_start(b, bin)) {
            advance(b, row, bin_start(b, bin));
        }
        open_with_running(b, n_sub, row, bin);
    }
    add_to_rank(r->cell, e->row & (n_sub - 1), e, e->busy_from_ns, e->class_from_ns, smaller(e->end_ns, r->next_ns));
    r->cell->count++;
    if (e->end_ns > r->next_ns) {
        push_active(b, row, e);
    }
}

void lod_add_to_ranks(lod_block *const blocks[2], const lod_event *e, const lod_event *end)
{
    for (; e < end; e++) {
        add_to_row(blocks[0], 1, e);
        add_to_row(blocks[1], LOD_SUBS, e);
    }
}

/* ------------------------------------------------------------------ segments */

void lod_rows_resume(lod_block *b)
{
    uint64_t rows = b->active_rows;
    if (b->axis->r != R_TRACK) {
        return; /* they go on with the next event, or at the end */
    }
    b->active_rows = 0;
    for (; rows != 0; rows &= rows - 1) {
        unsigned row = (unsigned)__builtin_ctzll(rows);
        lod_event e = b->rows[row].active[0];
        b->rows[row].n_active = 0;
        go_on(b, row, &e);
    }
}

void lod_rows_pause(lod_block *b)
{
    uint64_t rows = b->levels[b->base].open_rows | b->active_rows;
    for (; b->axis->r != R_TRACK && rows != 0; rows &= rows - 1) {
        advance(b, (unsigned)__builtin_ctzll(rows), b->end_ns);
    }
}
