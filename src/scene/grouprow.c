/*
 * A stage's or host's row: three strips over each other. What any of its ranks does, pale; how many of them on average,
 * stronger; what all of them do, full. An idle rank can't hide in a mean.
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

static void add_rank(group_sums *g, const row_raster *r)
{
    g->n_ranks++;
    for (uint32_t i = 0; i < g->n; i++) {
        const draw_cell *c = &r->cells[i];
        if (c->klass >= CLASS_COUNT) {
            g->least[i] = 0;
            continue;
        }
        g->busy[i] += c->occupancy;
        g->share[(size_t)i * CLASS_COUNT + c->klass] += c->occupancy;
        g->most[i] = g->most[i] > c->occupancy ? g->most[i] : c->occupancy;
        g->least[i] = g->least[i] < c->occupancy ? g->least[i] : c->occupancy;
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

static void add_flags(row_raster *out, const row_raster *r, scene *s)
{
    for (uint32_t i = 0; i < out->n; i++) {
        out->cells[i].flags |= r->cells[i].flags & (CELL_COARSE | CELL_SEVERE);
    }
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

row_raster *raster_group(scene *s, const scene_row *row)
{
    bool valid;
    row_raster *out = raster_entry(s, ((uint64_t)ROW_GROUP << 33) | row->id, &valid);
    if (valid) {
        return out;
    }
    uint32_t n = s->src.grid.n;
    const rank_group *group = &s->tree.groups[row->id];
    reset_group(out, n);
    group_sums sums = make_sums(s, n);
    bool complete = true;
    for (uint32_t i = 0; i < group->n; i++) {
        uint32_t rank = s->tree.group_ranks[group->first + i];
        scene_row one = {.kind = ROW_RANK, .id = rank, .rank = rank, .group = row->id};
        const row_raster *r = raster_row(s, &one);
        add_rank(&sums, r);
        add_flags(out, r, s);
        complete = complete && r->complete;
    }
    write_strips(&sums, out);
    out->complete = complete;
    return out;
}
