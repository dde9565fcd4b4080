/* Which tiles are stored, and the lists of those that are left out because their events serve better. */
#include "base/mem.h"
#include "lod/internal.h"

/* First mark of the density list at or after the time. */
static size_t mark_at(const pyramid *p, int64_t t_ns)
{
    size_t lo = 0;
    size_t hi = p->n_marks;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (p->marks[mid] < t_ns) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo;
}

/* Whether the whole group has many events in the column. */
static bool is_dense(const lod_axis *a, unsigned level, uint64_t col)
{
    enum { WANTED = LOD_SPARSE_GROUP_EVENTS / LOD_DENSITY_STEP };
    const pyramid *p = a->owner;
    if (p->n_marks < WANTED) {
        return false;
    }
    unsigned shift = lod_col_shift(a, level);
    size_t first = mark_at(p, (int64_t)(col << shift));
    return first + WANTED <= p->n_marks && (uint64_t)p->marks[first + WANTED - 1] >> shift == col;
}

bool lod_tile_is_stored(const lod_axis *a, unsigned level, uint64_t col, uint64_t n_events)
{
    return level + 1 == a->n_levels || n_events >= LOD_SPARSE_EVENTS || a->owner->params.stores_all ||
           is_dense(a, level, col);
}

/* ------------------------------------------------------------------ left out */

static void join_sparse(flow_level *l)
{
    size_t kept = 0;
    l->sparse_gap *= 4;
    for (size_t i = 0; i < l->n_sparse; i++) {
        lod_sparse *last = kept > 0 ? &l->sparse[kept - 1] : NULL;
        const lod_sparse *s = &l->sparse[i];
        if (last && s->col - (last->col + last->n_cols) < l->sparse_gap) {
            last->n_cols = s->col + s->n_cols - last->col;
            last->n_events += s->n_events;
        } else {
            l->sparse[kept++] = *s;
        }
    }
    l->n_sparse = kept;
}

/* Columns behind all that are listed. */
static void leave_out(flow_level *l, uint64_t col, uint64_t n_cols)
{
    lod_sparse *last = l->n_sparse > 0 ? &l->sparse[l->n_sparse - 1] : NULL;
    if (last && col - (last->col + last->n_cols) < l->sparse_gap) {
        last->n_cols = col + n_cols - last->col;
        return;
    }
    lod_sparse s = {col, n_cols, 0};
    VEC_PUSH(l->sparse, l->n_sparse, l->cap_sparse, s);
    while (l->n_sparse > LOD_MAX_SPARSE_RUNS && l->sparse_gap < (uint64_t)1 << 60) {
        join_sparse(l);
    }
}

/* The columns of all levels below the base that meet the time, which is not empty. @return the end of those of level 0
 */
static int64_t list_columns(lod_flow *f, unsigned base, int64_t from_ns, int64_t to_ns)
{
    for (unsigned level = 0; level < base; level++) {
        flow_level *l = &f->levels[level];
        unsigned shift = lod_col_shift(f->axis, level);
        uint64_t first = (uint64_t)from_ns >> shift;
        uint64_t end = ((uint64_t)(to_ns - 1) >> shift) + 1;
        if (l->n_sparse > 0) {
            const lod_sparse *last = &l->sparse[l->n_sparse - 1];
            uint64_t listed = last->col + last->n_cols;
            first = first > listed ? first : listed;
        }
        if (first < end) {
            leave_out(l, first, end - first);
        }
    }
    unsigned shift = lod_col_shift(f->axis, 0);
    return (int64_t)((((uint64_t)(to_ns - 1) >> shift) + 1) << shift);
}

/* Events that begin in the last column of each list. */
static void list_events(lod_flow *f, unsigned base, uint64_t n)
{
    for (unsigned level = 0; level < base && n > 0; level++) {
        flow_level *l = &f->levels[level];
        l->sparse[l->n_sparse - 1].n_events += n;
    }
}

static int64_t last_end(const lod_flow *f, int64_t from_ns)
{
    const lod_block *b = f->blocks[0];
    int64_t last = from_ns;
    for (uint64_t m = b->active_rows; m != 0; m &= m - 1) {
        const lod_row *r = &b->rows[__builtin_ctzll(m)];
        for (size_t i = 0; i < r->n_active; i++) {
            last = r->active[i].end_ns > last ? r->active[i].end_ns : last;
        }
    }
    return last;
}

void lod_leave_out(lod_flow *f, unsigned base, int64_t end_ns, const lod_event *events, size_t n)
{
    int64_t begin_ns = (int64_t)(f->col << lod_col_shift(f->axis, 0));
    int64_t last = last_end(f, begin_ns);
    int64_t listed_ns = last > begin_ns ? list_columns(f, base, begin_ns, last < end_ns ? last : end_ns) : begin_ns;
    size_t counted = 0;
    for (size_t i = 0; i < n; i++) {
        const lod_event *e = &events[i];
        int64_t end = e->end_ns < end_ns ? e->end_ns : end_ns;
        if (e->start_ns >= listed_ns || end > listed_ns) {
            list_events(f, base, i - counted);
            counted = i;
            listed_ns = list_columns(f, base, e->start_ns, end > e->start_ns ? end : e->start_ns + 1);
        }
    }
    list_events(f, base, n - counted);
}

void lod_emit_left_out(const lod_flow *f)
{
    for (unsigned i = 0; i < f->n_blocks; i++) {
        for (unsigned level = 0; level < f->axis->n_levels; level++) {
            const flow_level *l = &f->levels[level];
            for (size_t k = 0; k < l->n_sparse; k++) {
                lod_block_emit(f->blocks[i], level, l->sparse[k].col, l->sparse[k].n_cols, NULL, l->sparse[k].n_events);
            }
        }
    }
}
