/*
 * A stage's or host's row: three strips over each other. What any of its ranks does, pale; how many of them on average,
 * stronger; what all of them do, full. An idle rank can't hide in a mean.
 *
 * In a run of thousands of ranks the pyramid's rows of eight ranks serve, which carry their least busy rank's share:
 * the busiest is then the busiest eight's mean, and the least is a lower bound (least of each bin, not of the column).
 */
#include <stdlib.h>
#include <string.h>

#include "scene/internal.h"

typedef struct group_sums {
    float *busy; /* sum of shares */
    uint8_t *most, *least;
    float *share; /* [n * CLASS_COUNT] */
    uint32_t n, n_ranks;
} group_sums;

static group_sums make_sums(scene *s, uint32_t n)
{
    group_sums g = {.n = n};
    g.busy = arena_alloc(&s->scratch, n * sizeof *g.busy + 1);
    g.most = arena_alloc(&s->scratch, n + 1);
    g.least = arena_alloc(&s->scratch, n + 1);
    g.share = arena_alloc(&s->scratch, (size_t)n * CLASS_COUNT * sizeof *g.share + 1);
    memset(g.busy, 0, n * sizeof *g.busy);
    memset(g.most, 0, n);
    memset(g.least, 255, n);
    memset(g.share, 0, (size_t)n * CLASS_COUNT * sizeof *g.share);
    return g;
}

static void add_rank(group_sums *g, const row_raster *r, row_raster *out)
{
    g->n_ranks++;
    for (uint32_t i = 0; i < g->n; i++) {
        const draw_cell *c = &r->cells[i];
        if (c->klass >= CLASS_COUNT) {
            g->least[i] = 0;
            continue;
        }
        out->cells[i].flags |= c->flags & (CELL_COARSE | CELL_SEVERE);
        g->busy[i] += c->occupancy;
        g->share[(size_t)i * CLASS_COUNT + c->klass] += c->occupancy;
        g->most[i] = g->most[i] > c->occupancy ? g->most[i] : c->occupancy;
        g->least[i] = g->least[i] < c->occupancy ? g->least[i] : c->occupancy;
    }
}

/* Eight ranks at once: `least` of the raster is their least busy one. */
static void add_eight(group_sums *g, const row_raster *r, uint32_t n_ranks, row_raster *out)
{
    g->n_ranks += n_ranks;
    for (uint32_t i = 0; i < g->n; i++) {
        const draw_cell *c = &r->cells[i];
        uint8_t least = r->least[i].occupancy;
        g->least[i] = g->least[i] < least ? g->least[i] : least;
        if (c->klass < CLASS_COUNT) {
            out->cells[i].flags |= c->flags & (CELL_COARSE | CELL_SEVERE);
            g->busy[i] += (float)(c->occupancy * n_ranks);
            g->share[(size_t)i * CLASS_COUNT + c->klass] += (float)(c->occupancy * n_ranks);
            g->most[i] = g->most[i] > c->occupancy ? g->most[i] : c->occupancy;
        }
    }
}

static uint8_t class_of(const group_sums *g, uint32_t i)
{
    const float *share = &g->share[(size_t)i * CLASS_COUNT];
    uint8_t best = 0;
    for (uint8_t k = 1; k < CLASS_COUNT; k++) {
        best = share[k] > share[best] ? k : best;
    }
    return best;
}

static void add_marks(row_raster *out, const row_raster *r, scene *s)
{
    for (size_t i = 0; i < r->n_marks; i++) {
        /* Marks of several ranks come in any order of x: each keeps its distance by its own slot. */
        uint32_t apart = (uint32_t)(8 * (double)s->m.s);
        uint32_t slot = r->marks[i].x / apart;
        size_t k = 0;
        while (k < out->n_marks && out->marks[k].x / apart != slot) {
            k++;
        }
        if (k == out->n_marks) {
            VEC_PUSH(out->marks, out->n_marks, out->cap_marks, r->marks[i]);
        } else if (r->marks[i].severity > out->marks[k].severity) {
            out->marks[k].severity = r->marks[i].severity;
        }
    }
}

static void write_strips(const group_sums *g, row_raster *out)
{
    for (uint32_t i = 0; i < g->n; i++) {
        uint8_t flags = out->cells[i].flags;
        out->cells[i] = out->mean[i] = out->least[i] = (draw_cell){CELL_EMPTY, 0, 0, 255};
        if (g->most[i] == 0) {
            continue;
        }
        uint8_t klass = class_of(g, i);
        float mean = g->busy[i] / (float)g->n_ranks;
        uint8_t middle = (uint8_t)fmaxf(1, mean + 0.5F);
        out->cells[i] = (draw_cell){klass, g->most[i], (uint8_t)(flags | CELL_MORE), 102};
        out->mean[i] = (draw_cell){klass, middle, 0, 96};
        if (g->least[i] > 0) {
            out->least[i] = (draw_cell){klass, g->least[i], 0, 242};
        }
    }
}

static void reset_group(row_raster *out, uint32_t n)
{
    VEC_RESERVE(out->cells, out->cap_cells, n);
    if (n > out->cap_least) {
        out->least = mem_realloc_array(out->least, n, sizeof *out->least);
        out->mean = mem_realloc_array(out->mean, n, sizeof *out->mean);
        out->cap_least = n;
    }
    out->n = n;
    out->n_marks = 0;
    out->n_wide = 0;
    memset(out->cells, 0, n * sizeof *out->cells);
}

static bool sum_ranks(scene *s, const scene_row *row, group_sums *sums, row_raster *out)
{
    const rank_group *group = &s->tree.groups[row->id];
    bool complete = true;
    for (uint32_t i = 0; i < group->n; i++) {
        uint32_t rank = s->tree.group_ranks[group->first + i];
        scene_row one = {.kind = ROW_RANK, .id = rank, .rank = rank, .group = row->id};
        const row_raster *r = raster_row(s, &one);
        add_rank(sums, r, out);
        add_marks(out, r, s);
        complete = complete && r->complete;
    }
    return complete;
}

/* The eights that lie wholly in the group, in the model's order; false when some rank is left over. */
static bool sum_eights(scene *s, const scene_row *row, group_sums *sums, row_raster *out, bool *complete)
{
    *complete = true;
    for (uint32_t g = 0; g < store_n_groups(s->file); g++) {
        store_group_info info = store_group_at(s->file, g);
        for (uint32_t e = 0; info.kind == GROUP_EVENTS && e * 8 < info.n_ranks; e++) {
            uint32_t n = info.n_ranks - e * 8 < 8 ? info.n_ranks - e * 8 : 8;
            if (s->tree.rank_group[info.first_rank + e * 8] != row->id) {
                continue;
            }
            if (source_of(s, g, R_EIGHT)->mode != SOURCE_TILES) {
                return false; /* events know each rank by itself */
            }
            const row_raster *r = raster_eight(s, g, e);
            add_eight(sums, r, n, out);
            add_marks(out, r, s);
            *complete = *complete && r->complete;
        }
    }
    return sums->n_ranks == s->tree.groups[row->id].n;
}

row_raster *raster_group(scene *s, const scene_row *row)
{
    bool valid;
    row_raster *out = raster_entry(s, ((uint64_t)ROW_GROUP << 33) | row->id, &valid);
    if (valid) {
        return out;
    }
    uint32_t n = s->src.grid.n;
    reset_group(out, n);
    group_sums sums = make_sums(s, n);
    bool complete = false;
    bool eights = s->model->n_ranks > s->many_ranks && sum_eights(s, row, &sums, out, &complete);
    if (!eights) {
        reset_group(out, n);
        sums = make_sums(s, n);
        complete = sum_ranks(s, row, &sums, out);
    }
    write_strips(&sums, out);
    out->complete = complete;
    return out;
}
