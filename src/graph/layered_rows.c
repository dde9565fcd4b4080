/*
 * Rows: where a component that is long and thin is cut. Lines turn at the end of a row, run back in the channel below and
 * into the next one; lines of the module's ports do not: those of the in-port come down beside the rows and enter theirs
 * at its left, those to the out-port leave their row at its right.
 */
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "graph/layered_route.h"

/* How many lines a cut before this layer would turn, trunks counted once. Lines of ports go beside the rows. */
static uint32_t crossing_here(const router *r, uint32_t layer)
{
    const layered *g = r->g;
    uint32_t n = 0;
    for (uint32_t i = g->layer_first[layer - 1]; i < g->layer_first[layer]; i++) {
        bool turns = false;
        for (uint32_t k = g->down_first[g->order[i]]; k < g->down_first[g->order[i] + 1] && !turns; k++) {
            turns = (r->use[k] & USE_THROUGH) != 0;
        }
        n += turns;
    }
    return n;
}

static void use_links(router *r, const layered_line *l, uint32_t from, uint32_t to, uint8_t how)
{
    const layered *g = r->g;
    for (uint32_t k = from; k < to; k++) {
        r->use[layered_link(g, layered_at(g, l, k), layered_at(g, l, k + 1), l->turned)] |= how;
    }
}

static void use_through(router *r)
{
    const layered *g = r->g;
    for (uint32_t i = 0; i < g->n_lines; i++) {
        const layered_line *l = &g->lines[i];
        if (!l->outer && l->from != g->in_port && l->to != g->out_port) {
            use_links(r, l, g->layer[l->from], g->layer[l->to], USE_THROUGH);
        }
    }
}

/* Links that no line uses, and those across the end of a row: what they join need not stand at one level. */
bool router_loosen(router *r)
{
    layered *g = r->g;
    bool any = false;
    for (uint32_t i = 0; i < g->n_lines; i++) {
        const layered_line *l = &g->lines[i];
        uint32_t from = g->layer[l->from];
        uint32_t to = g->layer[l->to];
        if (!l->outer) {
            from = router_enters_side(r, l) ? r->row_first[r->row_of[to]] : from;
            to = router_leaves_side(r, l) ? r->row_first[r->row_of[from] + 1] - 1 : to;
            use_links(r, l, from, to, USE_ROW);
        }
    }
    for (uint32_t k = 0; k < g->n_links; k++) {
        uint32_t layer = g->layer[g->link_from[k]];
        g->link_loose[k] = !(r->use[k] & USE_ROW) || r->row_of[layer] != r->row_of[layer + 1];
        r->use[k] &= (uint8_t)~USE_ROW;
        any = any || g->link_loose[k];
    }
    return any;
}

/* Lines of the in-port enter a later row at its left. */
static void use_entries(router *r)
{
    const layered *g = r->g;
    for (uint32_t i = 0; i < g->n_lines; i++) {
        const layered_line *l = &g->lines[i];
        if (router_enters_side(r, l)) {
            uint32_t k = r->row_first[r->row_of[g->layer[l->to]]];
            use_links(r, l, k - 1, k, USE_ENTRY);
            r->has_entry = true;
        }
        r->has_exit = r->has_exit || router_leaves_side(r, l);
    }
}

bool router_leaves_side(const router *r, const layered_line *l)
{
    return !l->outer && l->to == r->g->out_port && r->row_of[r->g->layer[l->from]] + 1 < r->n_rows;
}

bool router_enters_side(const router *r, const layered_line *l)
{
    return !l->outer && l->from == r->g->in_port && l->to != r->g->out_port && r->row_of[r->g->layer[l->to]] > 0;
}

static void one_row(router *r)
{
    r->n_rows = 1;
    r->row_first = mem_calloc(2, sizeof *r->row_first);
    r->row_first[1] = r->g->n_layers;
}

/* start[l]: where layer l would begin in one row. */
static float *layer_starts(const layered *g, float *height)
{
    float *start = mem_alloc((g->n_layers + 1U) * sizeof *start);
    float u = 0;
    *height = 0;
    for (uint32_t l = 0; l < g->n_layers; l++) {
        float widest = 0;
        float lo = INFINITY;
        float hi = -INFINITY;
        start[l] = u;
        for (uint32_t i = g->layer_first[l]; i < g->layer_first[l + 1]; i++) {
            uint32_t x = g->order[i];
            widest = fmaxf(widest, g->su[x]);
            lo = fminf(lo, g->v[x]);
            hi = fmaxf(hi, g->v[x] + g->sv[x]);
        }
        *height = fmaxf(*height, hi - lo);
        u += widest + LAYOUT_LAYER_GAP;
    }
    start[g->n_layers] = u;
    return start;
}

/* The layer near `want` before which a cut turns fewest lines; 0: none that leaves rows of two layers. */
static uint32_t best_cut(const router *r, const float *start, uint32_t after, float want, float slack)
{
    const layered *g = r->g;
    uint32_t best = 0;
    uint32_t least = GRAPH_NONE;
    float off = INFINITY;
    for (uint32_t l = after + 2; l + 1 < g->n_layers && start[l] <= want + slack; l++) {
        uint32_t n = crossing_here(r, l);
        float d = fabsf(start[l] - want);
        if (start[l] >= want - slack && (n < least || (n == least && d < off))) {
            best = l;
            least = n;
            off = d;
        }
    }
    return best;
}

enum { LEAST_WRAPPED = 500 }; /* px: what is shorter is read in one row */

void router_rows(router *r, float wrap_aspect)
{
    const layered *g = r->g;
    float height;
    float *start = layer_starts(g, &height);
    float length = start[g->n_layers];
    double aspect = 1.8; /* of the wrapped whole */
    uint32_t rows = (uint32_t)lround(sqrt((double)length / (aspect * ((double)height + 2 * LAYOUT_GAP))));
    if (wrap_aspect <= 0 || length < wrap_aspect * height || length < LEAST_WRAPPED || rows < 2 || g->n_layers < 4) {
        free(start);
        one_row(r);
        return;
    }
    use_through(r);
    r->row_first = mem_calloc(rows + 1U, sizeof *r->row_first);
    float row = length / (float)rows;
    r->n_rows = 1;
    for (uint32_t i = 1; i < rows; i++) {
        uint32_t cut = best_cut(r, start, r->row_first[r->n_rows - 1], row * (float)i, row * 0.2F);
        if (cut) {
            r->row_first[r->n_rows++] = cut;
        }
    }
    r->row_first[r->n_rows] = g->n_layers;
    for (uint32_t i = 0; i < r->n_rows; i++) {
        for (uint32_t l = r->row_first[i]; l < r->row_first[i + 1]; l++) {
            r->row_of[l] = i;
        }
    }
    free(start);
    use_entries(r);
}
