/*
 * Which lines are cut (graph/visible.h). Per open module, from its own lines alone, so that opening one module never
 * changes what is cut inside another:
 *  structure  lines through the ports of an open top-level module lead to other top-level modules (Pan et al. 2022)
 *  hubs       an end of more than max(8, quartile rule of TensorBoard) lines, where the line skips a layer; an end of
 *             more than 4 lines, where it spans more than 6 layers. A residual stream has two or three ends: never cut
 * Of these candidates, the heaviest that join what is not yet joined are kept: a maximum spanning forest (Kruskal), so
 * no line that alone connects is cut. Lines through a port that carry the same tensor as a kept one stay with it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "graph/visible_build.h"

enum { HUB_FLOOR = 8, HUB_MODULE = 15, FAN_SMALL = 4, SPAN_LONG = 6 };

typedef struct pruner {
    vis_build *b;
    uint32_t m, n, lo, hi;      /* module, its children, its lines */
    uint32_t *in, *out, *layer; /* [n + 2]: the module's in-port is n, its out-port n + 1 */
    uint32_t *top;              /* [n + 2] union-find */
    uint32_t *queue, *first;
    uint32_t *histogram;
    uint32_t *candidate;
    size_t cap_histogram, cap_candidate;
    bool *cut;              /* [n_lines] */
    uint32_t *live;         /* [n_lines] bundles that still come this way, seen from further out */
    uint64_t *line_bundles; /* [n_lines + 1]: into bundle_of; made when first wanted */
    uint32_t *bundle_of;
} pruner;

static uint32_t local_from(const pruner *r, const visible_line *l)
{
    return l->from == r->m ? r->n : l->from - r->b->v->items[r->m].first_child;
}

static uint32_t local_to(const pruner *r, const visible_line *l)
{
    return l->to == r->m ? r->n + 1 : l->to - r->b->v->items[r->m].first_child;
}

static bool is_port_line(const pruner *r, const visible_line *l)
{
    return l->from == r->m || l->to == r->m;
}

/* Degrees by distinct peers; control lines count only at ends that have no others (as in TensorBoard). */
static void count_degrees(pruner *r)
{
    memset(r->in, 0, (r->n + 2U) * sizeof *r->in);
    memset(r->out, 0, (r->n + 2U) * sizeof *r->out);
    for (uint32_t l = r->lo; l < r->hi && !build_stops(r->b, l); l++) {
        const visible_line *x = &r->b->v->lines[l];
        if ((x->flags & LINE_DATA) && r->live[l] > 0) {
            r->out[local_from(r, x)]++;
            r->in[local_to(r, x)]++;
        }
    }
}

/* Longest path; what has no input sits right before its first consumer. */
static void find_layers(pruner *r)
{
    const visible_line *lines = r->b->v->lines;
    uint32_t first_child = r->b->v->items[r->m].first_child;
    uint32_t *need = r->top; /* free until the forest is made */
    memset(need, 0, (r->n + 2U) * sizeof *need);
    memset(r->layer, 0, (r->n + 2U) * sizeof *r->layer);
    uint32_t l = r->lo;
    for (uint32_t c = 0; c <= r->n; c++) {
        while (l < r->hi && (c < r->n ? lines[l].from < first_child + c : true)) {
            l++;
        }
        r->first[c] = l;
    }
    for (l = r->first[0]; l < r->hi && !build_stops(r->b, l); l++) {
        if (!(lines[l].flags & LINE_BACK) && lines[l].to != r->m) {
            need[local_to(r, &lines[l])]++;
        }
    }
    uint32_t n = 0;
    uint32_t n_sources = 0;
    for (uint32_t c = 0; c < r->n; c++) {
        if (need[c] == 0) {
            r->queue[n++] = c;
        }
    }
    n_sources = n;
    uint32_t last = 0;
    for (uint32_t i = 0; i < n && !is_cancelled(r->b->cancel); i++) {
        uint32_t c = r->queue[i];
        last = r->layer[c] > last ? r->layer[c] : last;
        for (l = r->first[c]; l < r->first[c + 1]; l++) {
            uint32_t to = local_to(r, &lines[l]);
            if (!(lines[l].flags & LINE_BACK) && to < r->n) {
                r->layer[to] = r->layer[to] > r->layer[c] + 1 ? r->layer[to] : r->layer[c] + 1;
                if (--need[to] == 0) {
                    r->queue[n++] = to;
                }
            }
        }
    }
    for (uint32_t i = 0; i < n_sources && !build_stops(r->b, i); i++) {
        uint32_t c = r->queue[i];
        uint32_t nearest = GRAPH_NONE;
        for (l = r->first[c]; l < r->first[c + 1]; l++) {
            uint32_t to = local_to(r, &lines[l]);
            if (!(lines[l].flags & LINE_BACK) && to < r->n && r->layer[to] < nearest) {
                nearest = r->layer[to];
            }
        }
        r->layer[c] = nearest != GRAPH_NONE && nearest > 0 ? nearest - 1 : 0;
    }
    r->layer[r->n + 1] = last + 1;
}

/* max(8, Q3 + k (Q3 - Q1)) of the children's degrees; no hubs in small modules. */
static uint32_t threshold(pruner *r, const uint32_t *degree, uint32_t k)
{
    if (r->n < HUB_MODULE) {
        return GRAPH_NONE;
    }
    uint32_t max = 0;
    for (uint32_t c = 0; c < r->n; c++) {
        max = degree[c] > max ? degree[c] : max;
    }
    VEC_RESERVE(r->histogram, r->cap_histogram, (size_t)max + 1);
    memset(r->histogram, 0, ((size_t)max + 1) * sizeof *r->histogram);
    for (uint32_t c = 0; c < r->n; c++) {
        r->histogram[degree[c]]++;
    }
    uint32_t q1 = GRAPH_NONE;
    uint32_t q3 = 0;
    uint32_t seen = 0;
    for (uint32_t d = 0; d <= max; d++) {
        seen += r->histogram[d];
        q1 = q1 == GRAPH_NONE && seen > r->n / 4 ? d : q1;
        if (seen > (uint32_t)((uint64_t)r->n * 3 / 4)) {
            q3 = d;
            break;
        }
    }
    uint64_t t = q3 + (uint64_t)k * (q3 - q1);
    return t > HUB_FLOOR ? (uint32_t)(t > UINT32_MAX - 1 ? UINT32_MAX - 1 : t) : HUB_FLOOR;
}

static bool is_hub_line(const pruner *r, const visible_line *l, uint32_t in_limit, uint32_t out_limit)
{
    uint32_t from = local_from(r, l);
    uint32_t to = local_to(r, l);
    uint32_t a = from == r->n ? 0 : r->layer[from] + 1;
    uint32_t z = r->layer[to] + 1;
    if (l->flags & LINE_BACK || z <= a + 1) {
        return false;
    }
    bool hub = r->out[from] > out_limit || r->in[to] > in_limit;
    return hub || (z - a > SPAN_LONG && (r->out[from] > FAN_SMALL || r->in[to] > FAN_SMALL));
}

static uint32_t find_top(uint32_t *top, uint32_t x)
{
    while (top[x] != x) {
        top[x] = top[top[x]];
        x = top[x];
    }
    return x;
}

static bool join(pruner *r, const visible_line *l)
{
    uint32_t a = find_top(r->top, local_from(r, l));
    uint32_t z = find_top(r->top, local_to(r, l));
    r->top[a > z ? a : z] = a < z ? a : z;
    return a != z;
}

static int by_weight(const void *a, const void *b, void *lines)
{
    const visible_line *x = (const visible_line *)lines + *(const uint32_t *)a;
    const visible_line *y = (const visible_line *)lines + *(const uint32_t *)b;
    if (x->bytes != y->bytes) {
        return x->bytes > y->bytes ? -1 : 1;
    }
    if (x->n_edges != y->n_edges) {
        return x->n_edges > y->n_edges ? -1 : 1;
    }
    return x < y ? -1 : x > y;
}

static void keep_forest(pruner *r, size_t n_candidates)
{
    visible_line *lines = r->b->v->lines;
    for (uint32_t c = 0; c < r->n + 2; c++) {
        r->top[c] = c;
    }
    for (uint32_t l = r->lo; l < r->hi && !build_stops(r->b, l); l++) {
        if (!r->cut[l] && r->live[l] > 0) {
            (void)join(r, &lines[l]);
        }
    }
    qsort_r(r->candidate, n_candidates, sizeof *r->candidate, by_weight, lines);
    for (size_t i = 0; i < n_candidates; i++) {
        if (join(r, &lines[r->candidate[i]])) {
            r->cut[r->candidate[i]] = false;
        }
    }
}

static void prune_module(pruner *r, bool structure)
{
    const visible *v = r->b->v;
    count_degrees(r);
    bool busy = false;
    for (uint32_t c = 0; c < r->n + 2 && !busy; c++) {
        busy = r->in[c] > FAN_SMALL || r->out[c] > FAN_SMALL;
    }
    if ((!busy && !structure) || is_cancelled(r->b->cancel)) {
        return;
    }
    find_layers(r);
    if (is_cancelled(r->b->cancel)) {
        return;
    }
    uint32_t in_limit = threshold(r, r->in, 1);
    uint32_t out_limit = threshold(r, r->out, 4);
    size_t n = 0;
    for (uint32_t l = r->lo; l < r->hi; l++) {
        const visible_line *x = &v->lines[l];
        bool leaves = structure && is_port_line(r, x);
        r->cut[l] = r->live[l] > 0 && (leaves || is_hub_line(r, x, in_limit, out_limit));
        if (r->cut[l]) {
            VEC_PUSH(r->candidate, n, r->cap_candidate, l);
        }
    }
    if (n > 0) {
        keep_forest(r, n);
    }
}

/* A tensor on its way through a port of a top-level module: the far end, and the line that it takes inside. */
typedef struct passage {
    uint32_t port, far, line; /* port: twice the module, and one more where it goes out */
    uint64_t bytes;
} passage;

static bool same_tensor(const passage *a, const passage *b)
{
    return a->port == b->port && a->far == b->far;
}

static passage *find_passages(const vis_build *b, size_t *n)
{
    passage *all = NULL;
    size_t cap = 0;
    const visible_item *items = b->v->items;
    *n = 0;
    for (size_t i = 0; i < b->n_bundles && !build_stops(b, i); i++) {
        const bundle *u = &b->bundles[i];
        for (uint64_t k = b->first_segment[i]; k < b->first_segment[i + 1]; k++) {
            uint32_t l = b->segment_line[k];
            const visible_line *x = &b->v->lines[l];
            bool out = x->to == x->module;
            if (x->module != 0 && items[x->module].parent == 0 && (out || x->from == x->module)) {
                VEC_PUSH(all, *n, cap, ((passage){2 * x->module + out, out ? u->to : u->from, l, u->bytes}));
            }
        }
    }
    return all;
}

/* By port, then far end, then line. */
static passage *all_passages(const vis_build *b, size_t *n)
{
    passage *found = find_passages(b, n);
    size_t keys[3] = {b->v->n_lines, b->v->n_items, 2 * b->v->n_items};
    size_t most = keys[0] > keys[2] ? keys[0] : keys[2];
    uint32_t *order = mem_alloc((*n + 1) * sizeof *order);
    uint32_t *scratch = mem_alloc((*n + 1) * sizeof *scratch);
    uint32_t *key = mem_alloc((*n + 1) * sizeof *key);
    uint32_t *count = mem_alloc((most + 2) * sizeof *count);
    for (size_t i = 0; i < *n; i++) {
        order[i] = (uint32_t)i;
    }
    for (int pass = 0; pass < 3 && *n > 1 && !is_cancelled(b->cancel); pass++) {
        for (size_t i = 0; i < *n; i++) {
            key[i] = pass == 0 ? found[i].line : pass == 1 ? found[i].far : found[i].port;
        }
        visible_sort(b, order, scratch, *n, key, count, keys[pass]);
    }
    passage *all = mem_alloc((*n + 1) * sizeof *all);
    for (size_t i = 0; i < *n && !build_stops(b, i); i++) {
        all[i] = found[order[i]];
    }
    *n = is_cancelled(b->cancel) ? 0 : *n;
    free(found);
    free(order);
    free(scratch);
    free(key);
    free(count);
    return all;
}

/* What the heaviest end on a kept line also sends to a few other places behind the port stays with it: the residual
 * stream enters a block at two. */
static void keep_companions(pruner *r)
{
    size_t n;
    passage *all = all_passages(r->b, &n);
    uint32_t lines = (uint32_t)r->b->v->n_lines;
    uint32_t *heaviest = mem_alloc((lines + 1U) * sizeof *heaviest); /* passage of each line */
    memset(heaviest, 0xff, lines * sizeof *heaviest);
    for (uint32_t i = 0; i < n && !build_stops(r->b, i); i++) {
        uint32_t *h = &heaviest[all[i].line];
        *h = *h == GRAPH_NONE || all[i].bytes > all[*h].bytes ? i : *h;
    }
    for (size_t i = 0, end = 0; i < n && !is_cancelled(r->b->cancel); i = end) {
        bool main_chain = false;
        for (end = i; end < n && same_tensor(&all[i], &all[end]); end++) {
            main_chain = main_chain || (!r->cut[all[end].line] && heaviest[all[end].line] == end);
        }
        for (size_t k = i; main_chain && end - i <= FAN_SMALL && k < end; k++) {
            heaviest[all[k].line] = GRAPH_NONE; /* kept once all groups have been judged */
        }
    }
    for (size_t i = 0; i < n && !build_stops(r->b, i); i++) {
        r->cut[all[i].line] = r->cut[all[i].line] && heaviest[all[i].line] != GRAPH_NONE;
    }
    free(heaviest);
    free(all);
}

static void index_bundles(pruner *r)
{
    const vis_build *b = r->b;
    uint64_t n = b->first_segment[b->n_bundles];
    r->line_bundles = mem_calloc(b->v->n_lines + 2, sizeof *r->line_bundles);
    r->bundle_of = mem_alloc((n + 1) * sizeof *r->bundle_of);
    uint64_t *next = r->line_bundles + 1; /* ends up one place further on */
    for (uint64_t k = 0; k < n && !build_stops(b, k); k++) {
        next[b->segment_line[k] + 1]++;
    }
    for (size_t l = 0; l < b->v->n_lines; l++) {
        next[l + 1] += next[l];
    }
    for (size_t i = 0; i < b->n_bundles && !build_stops(b, i); i++) {
        for (uint64_t k = b->first_segment[i]; k < b->first_segment[i + 1]; k++) {
            r->bundle_of[next[b->segment_line[k]]++] = (uint32_t)i;
        }
    }
}

/* What lies further in than the cut line is not on the way of this bundle any more. */
static void cut_bundle(pruner *r, bundle *u, const uint32_t *line_of, uint32_t line)
{
    vis_build *b = r->b;
    uint32_t j = u->lo;
    while (j < u->hi && line_of[j] != line) {
        j++;
    }
    if (j == u->hi) {
        return;
    }
    way_find(&b->w, b->v, b->depth, u->from, u->to);
    bool across = b->w.n_across && j == b->w.n_up;
    uint32_t lo = across || j < b->w.n_up ? u->lo : j;
    uint32_t hi = across || j >= b->w.n_up ? u->hi : j + 1;
    for (uint32_t k = lo; k < hi; k++) {
        r->live[line_of[k]]--;
    }
    u->lo = lo == u->lo && !across && j < b->w.n_up ? j + 1 : u->lo;
    u->hi = across ? u->lo : j >= b->w.n_up ? j : u->hi;
    u->cut_across = across;
}

/* The lines of these modules that were cut have their effect further in. */
static void apply_cuts(pruner *r, uint32_t line_lo, uint32_t line_hi)
{
    for (uint32_t l = line_lo; l < line_hi; l++) {
        if (!r->cut[l]) {
            continue;
        }
        if (!r->line_bundles) {
            index_bundles(r);
        }
        if (is_cancelled(r->b->cancel)) {
            return;
        }
        for (uint64_t k = r->line_bundles[l]; k < r->line_bundles[l + 1]; k++) {
            uint32_t i = r->bundle_of[k];
            cut_bundle(r, &r->b->bundles[i], r->b->segment_line + r->b->first_segment[i], l);
        }
    }
}

/* From the outside in: the root, the top-level modules, then each further module. */
static marey_status prune_all(pruner *r)
{
    const visible *v = r->b->v;
    uint32_t top = v->items[0].n_children;
    for (uint32_t m = 0; m < v->n_items; m++) {
        r->m = m;
        r->n = v->items[m].n_children;
        r->lo = r->b->line_first[m];
        r->hi = r->b->line_first[m + 1];
        bool structure = m != 0 && m <= top;
        if (r->lo < r->hi) {
            prune_module(r, structure);
        }
        if (!structure) {
            apply_cuts(r, r->lo, r->hi);
        } else if (m == top) {
            keep_companions(r);
            apply_cuts(r, r->b->line_first[1], r->hi);
        }
        if ((m & 0x3ff) == 0 && is_cancelled(r->b->cancel)) {
            return MAREY_CANCELLED;
        }
    }
    return is_cancelled(r->b->cancel) ? MAREY_CANCELLED : MAREY_OK;
}

marey_status build_cuts(vis_build *b)
{
    if (!b->p->options.steps[STEP_PRUNE]) {
        return MAREY_OK;
    }
    uint32_t widest = 0;
    for (size_t i = 0; i < b->v->n_items; i++) {
        widest = b->v->items[i].n_children > widest ? b->v->items[i].n_children : widest;
    }
    size_t n = widest + 3U;
    pruner r = {.b = b,
                .in = mem_alloc(n * sizeof(uint32_t)),
                .out = mem_alloc(n * sizeof(uint32_t)),
                .layer = mem_alloc(n * sizeof(uint32_t)),
                .top = mem_alloc(n * sizeof(uint32_t)),
                .queue = mem_alloc(n * sizeof(uint32_t)),
                .first = mem_alloc(n * sizeof(uint32_t)),
                .cut = mem_calloc(b->v->n_lines + 1, sizeof(bool)),
                .live = mem_calloc(b->v->n_lines + 1, sizeof(uint32_t))};
    for (uint64_t k = 0; k < b->first_segment[b->n_bundles] && !build_stops(b, k); k++) {
        r.live[b->segment_line[k]]++;
    }
    marey_status status = prune_all(&r);
    free(r.in);
    free(r.out);
    free(r.layer);
    free(r.top);
    free(r.queue);
    free(r.first);
    free(r.histogram);
    free(r.candidate);
    free(r.cut);
    free(r.live);
    free(r.line_bundles);
    free(r.bundle_of);
    return status;
}
