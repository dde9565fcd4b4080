/* One row: the open cell of every level, and the events that still run. */
#include "base/mem.h"
#include "lod/internal.h"

static int64_t bin_start(const lod_axis *a, uint64_t bin)
{
    return (int64_t)(bin << a->shift);
}

/* ------------------------------------------------------------------ closing and lifting */

static lod_cell *open_cell(lod_block *b, unsigned row, unsigned level, uint64_t bin)
{
    lod_cell *c = lod_cell_at(b->axis, &b->rows[row], level);
    lod_cell_clear(b->axis, c, bin);
    b->levels[level].open_rows |= (uint64_t)1 << row;
    return c;
}

/* Record a closed cell and add it to its parent; a parent of another bin is older, so it is closed on the way, and so
 * on. */
static void push_up(lod_block *b, unsigned row, unsigned level, const lod_cell *closed)
{
    const lod_axis *a = b->axis;
    lod_cell_room even; /* the older parent that is closed, and the one that is closed by that */
    lod_cell_room odd;
    for (;; level++) {
        lod_cell_record(b, level, row, closed, closed->bin, 1);
        if (level + 1 >= a->n_levels) {
            return;
        }
        uint64_t bin = closed->bin >> LOD_FACTOR_BITS;
        lod_cell *parent = lod_cell_at(a, &b->rows[row], level + 1);
        if (parent->is_open && parent->bin == bin) {
            lod_cell_merge(a, parent, closed, 1);
            return;
        }
        lod_cell_room *older = level & 1U ? &odd : &even;
        bool has_older = parent->is_open;
        if (has_older) {
            __builtin_memcpy(older, parent, a->cell_bytes);
        }
        parent = open_cell(b, row, level + 1, bin);
        lod_cell_merge(a, parent, closed, 1);
        if (!has_older) {
            return;
        }
        closed = &older->cell;
    }
}

void lod_row_close(lod_block *b, unsigned row, unsigned level)
{
    lod_cell *c = lod_cell_at(b->axis, &b->rows[row], level);
    if (!c->is_open) {
        return;
    }
    c->is_open = false;
    b->levels[level].open_rows &= ~((uint64_t)1 << row);
    push_up(b, row, level, c);
}

static void give(lod_block *b, unsigned row, unsigned level, uint64_t bin, const lod_cell *c, uint64_t times)
{
    lod_cell *into = lod_cell_at(b->axis, &b->rows[row], level);
    if (into->is_open && into->bin != bin) {
        lod_row_close(b, row, level);
    }
    if (!into->is_open) {
        into = open_cell(b, row, level, bin);
    }
    lod_cell_merge(b->axis, into, c, (int64_t)times);
}

void lod_row_lift(lod_block *b, unsigned row, unsigned level, uint64_t bin, uint64_t n, lod_cell *c)
{
    const uint64_t factor = 1U << LOD_FACTOR_BITS;
    for (; level + 1 < b->axis->n_levels; level++) {
        uint64_t head = (0 - bin) & (factor - 1);
        head = head < n ? head : n;
        if (head > 0) {
            give(b, row, level + 1, bin >> LOD_FACTOR_BITS, c, head);
            bin += head;
            n -= head;
        }
        uint64_t whole = n >> LOD_FACTOR_BITS;
        uint64_t tail = n & (factor - 1);
        bin >>= LOD_FACTOR_BITS;
        if (whole > 0) {
            lod_row_close(b, row, level + 1);
        }
        if (tail > 0) {
            give(b, row, level + 1, bin + whole, c, tail);
        }
        if (whole == 0) {
            return;
        }
        lod_cell_scale(b->axis, c, (int64_t)factor);
        lod_cell_record(b, level + 1, row, c, bin, whole);
        n = whole;
    }
}

/* ------------------------------------------------------------------ running events */

static void drop_ended(lod_block *b, unsigned row, int64_t now_ns)
{
    lod_row *r = &b->rows[row];
    size_t kept = 0;
    for (size_t i = 0; i < r->n_active; i++) {
        if (r->active[i].end_ns > now_ns) {
            r->active[kept++] = r->active[i];
        }
    }
    r->n_active = kept;
    if (kept == 0) {
        b->active_rows &= ~((uint64_t)1 << row);
    }
}

int64_t lod_row_change_ns(const lod_axis *a, const lod_row *row, uint64_t bin)
{
    int64_t from = bin_start(a, bin);
    int64_t first = INT64_MAX;
    for (size_t i = 0; i < row->n_active; i++) {
        const lod_active *e = &row->active[i];
        first = e->end_ns < first ? e->end_ns : first;
        first = e->busy_from_ns > from && e->busy_from_ns < first ? e->busy_from_ns : first;
        first = e->class_from_ns > from && e->class_from_ns < first ? e->class_from_ns : first;
    }
    return first;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static inline void add_to_cell(lod_cell *c, unsigned klass, unsigned sub, int64_t busy_ns, int64_t class_ns)
{
    int64_t before = c->mask >> klass & 1 ? c->class_ns[klass] : 0;
    c->mask |= (uint16_t)(1U << klass);
    c->subs |= (uint8_t)(1U << sub);
    c->busy_ns[sub] += larger(busy_ns, 0);
    c->class_ns[klass] = before + larger(class_ns, 0);
}

/* What an event adds to the cell from `lo_ns` to `hi_ns`. */
static void add_running(lod_cell *c, const lod_active *e, int64_t lo_ns, int64_t hi_ns)
{
    int64_t end = e->end_ns < hi_ns ? e->end_ns : hi_ns;
    add_to_cell(c, e->klass, e->sub, end - larger(e->busy_from_ns, lo_ns), end - larger(e->class_from_ns, lo_ns));
    c->severity = c->severity > e->severity ? c->severity : e->severity;
    c->longest_ns = larger(c->longest_ns, e->dur_ns);
}

void lod_row_uniform(lod_block *b, unsigned row, uint64_t bin, lod_cell *c)
{
    const lod_row *r = &b->rows[row];
    lod_cell_clear(b->axis, c, bin);
    for (size_t i = 0; i < r->n_active; i++) {
        add_running(c, &r->active[i], bin_start(b->axis, bin), bin_start(b->axis, bin + 1));
    }
}

static void open_with_running(lod_block *b, unsigned row, uint64_t bin)
{
    lod_row *r = &b->rows[row];
    lod_cell *c = open_cell(b, row, 0, bin);
    int64_t end_ns = bin_start(b->axis, bin + 1);
    for (size_t i = 0; i < r->n_active; i++) {
        add_running(c, &r->active[i], bin_start(b->axis, bin), end_ns);
    }
    drop_ended(b, row, end_ns);
}

static void add_run(lod_block *b, unsigned row, uint64_t bin, uint64_t n)
{
    lod_cell_room c;
    lod_row_uniform(b, row, bin, &c.cell);
    lod_cell_record(b, 0, row, &c.cell, bin, n);
    lod_row_lift(b, row, 0, bin, n, &c.cell);
}

/* Everything before `bin` is closed after it. `bin` lies in the block's current column, or is its end. */
void lod_row_advance(lod_block *b, unsigned row, uint64_t bin)
{
    const lod_axis *a = b->axis;
    lod_row *r = &b->rows[row];
    const lod_cell *c = lod_cell_at(a, r, 0);
    while (r->bin < bin) {
        if (c->is_open) {
            lod_row_close(b, row, 0);
            r->bin++;
            continue;
        }
        drop_ended(b, row, bin_start(a, r->bin));
        if (r->n_active == 0) {
            r->bin = bin;
            return;
        }
        uint64_t change = (uint64_t)lod_row_change_ns(a, r, r->bin) >> a->shift;
        if (change > r->bin) {
            uint64_t to = change < bin ? change : bin;
            add_run(b, row, r->bin, to - r->bin);
            r->bin = to;
        } else {
            open_with_running(b, row, r->bin);
        }
    }
}

/* Most rows have one running event at a time, and there may be thousands of rows: grow from one. */
static void push_active(lod_row *r, const lod_active *e)
{
    if (r->n_active == r->cap_active) {
        r->cap_active = r->cap_active ? r->cap_active * 2 : 1;
        r->active = mem_realloc_array(r->active, r->cap_active, sizeof *r->active);
    }
    r->active[r->n_active++] = *e;
}

/* The cell of `bin`, which is the open one or comes after it. */
static void open_at(lod_block *b, unsigned row, uint64_t bin)
{
    lod_row_advance(b, row, bin);
    if (!lod_cell_at(b->axis, &b->rows[row], 0)->is_open) {
        drop_ended(b, row, bin_start(b->axis, bin));
        open_with_running(b, row, bin);
    }
}

/* Where the event begins to add to the unions, which reach to its end then. */
static inline void join_unions(int64_t *unions, const lod_event *e, int64_t *busy_from, int64_t *class_from)
{
    int64_t *until = unions + (size_t)e->sub * (1 + CLASS_COUNT);
    int64_t *class_until = until + 1 + e->klass;
    *busy_from = larger(e->start_ns, *until);
    *class_from = larger(e->start_ns, *class_until);
    *until = larger(e->end_ns, *until);
    *class_until = larger(e->end_ns, *class_until);
}

/* Most events begin and end in the open cell: that is all that happens to them here. */
void lod_row_add(lod_block *b, unsigned row, lod_slice *s, int64_t end_ns)
{
    lod_row *r = &b->rows[row];
    lod_cell *c = lod_cell_at(b->axis, r, 0);
    int64_t *unions = r->until_ns; /* on a track nothing overlaps */
    const unsigned shift = b->axis->shift;
    const lod_event *end = s->end;
    const lod_event *e = s->at;
    int64_t cell_end_ns = 0; /* no cell yet */
    for (; e < end && e->start_ns < end_ns; e++) {
        if (e->start_ns >= cell_end_ns) {
            uint64_t bin = (uint64_t)e->start_ns >> shift;
            if (bin != r->bin || !c->is_open) {
                open_at(b, row, bin);
            }
            cell_end_ns = (int64_t)((bin + 1) << shift);
        }
        int64_t busy_from = e->start_ns;
        int64_t class_from = e->start_ns;
        if (unions) {
            join_unions(unions, e, &busy_from, &class_from);
        }
        int64_t to = e->end_ns < cell_end_ns ? e->end_ns : cell_end_ns;
        add_to_cell(c, e->klass, e->sub, to - busy_from, to - class_from);
        c->severity = c->severity > e->severity ? c->severity : e->severity;
        c->longest_ns = larger(c->longest_ns, e->dur_ns);
        c->count++;
        if (e->end_ns > cell_end_ns) {
            lod_active runs = {e->end_ns, busy_from, class_from, e->dur_ns, e->klass, e->sub, e->severity};
            push_active(r, &runs);
            b->active_rows |= (uint64_t)1 << row;
        }
    }
    s->at = e;
}
