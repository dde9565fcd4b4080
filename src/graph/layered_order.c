/*
 * The order within layers: sweeps of barycenters and medians from the order of the input, then exchanges of neighbours
 * in small graphs; the best by counted crossings is kept (Barth, Juenger, Mutzel 2004).
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "graph/layered.h"

enum {
    LEAST_STEP = 4,
    SWEEPS_SMALL = 24,
    SWEEPS_LARGE = 4,
    SMALL = 3000,
    PATIENCE = 6,
    STARTS = 4,
    TINY = 400,
    STARTS_TINY = 16
};

typedef struct keyed {
    float key;
    uint32_t vertex;
} keyed;

typedef struct orderer {
    layered *g;
    keyed *keys;
    keyed *scratch;
    uint32_t *tree, *best, *near;
    uint32_t *leaves_outer, *enters_outer; /* [n_real] a vertex's trunk of outer lines; outer lines into it */
    uint32_t widest, degree;
    bool has_outer;
} orderer;

/* Neighbours of x in the layer before (down: true, we go down) or after. */
static uint32_t neighbours(const layered *g, uint32_t x, bool above, uint32_t *near)
{
    uint32_t n = 0;
    if (above) {
        for (uint32_t k = g->up_first[x]; k < g->up_first[x + 1]; k++) {
            near[n++] = g->pos[g->link_from[g->up_link[k]]];
        }
    } else {
        for (uint32_t k = g->down_first[x]; k < g->down_first[x + 1]; k++) {
            near[n++] = g->pos[g->link_to[k]];
        }
    }
    return n;
}

static void sort_small(uint32_t *a, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++) {
        uint32_t x = a[i];
        uint32_t k = i;
        for (; k > 0 && a[k - 1] > x; k--) {
            a[k] = a[k - 1];
        }
        a[k] = x;
    }
}

static int compare_u32(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void sort_u32(uint32_t *a, uint32_t n)
{
    if (n < 32) {
        sort_small(a, n);
    } else {
        qsort(a, n, sizeof *a, compare_u32);
    }
}

/* Stable merge sort, bottom-up; turn: what is equal comes in the opposite order. */
static void sort_keys(keyed *a, keyed *scratch, uint32_t n, bool turn)
{
    for (uint32_t width = 1; width < n; width *= 2) {
        for (uint32_t lo = 0; lo < n; lo += 2 * width) {
            uint32_t mid = lo + width < n ? lo + width : n;
            uint32_t hi = lo + 2 * width < n ? lo + 2 * width : n;
            uint32_t i = lo;
            uint32_t k = mid;
            for (uint32_t o = lo; o < hi; o++) {
                bool before = a[i].key < a[k < hi ? k : i].key || (!turn && k < hi && a[i].key <= a[k].key);
                bool left = i < mid && (k >= hi || before);
                scratch[o] = left ? a[i++] : a[k++];
            }
        }
        memcpy(a, scratch, n * sizeof *a);
    }
}

static float key_of(orderer *o, uint32_t x, bool above, bool median)
{
    uint32_t n = neighbours(o->g, x, above, o->near);
    if (n == 0) {
        return -1;
    }
    if (median && n > 2) {
        sort_u32(o->near, n);
        return n % 2 ? (float)o->near[n / 2] : ((float)o->near[n / 2 - 1] + (float)o->near[n / 2]) / 2;
    }
    double sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        sum += o->near[i];
    }
    return (float)(sum / n);
}

/* What has no neighbours there keeps its place; the others share the remaining places in the order of their keys. */
static void order_layer(orderer *o, uint32_t layer, bool above, bool median, bool turn)
{
    layered *g = o->g;
    uint32_t *at = g->order + g->layer_first[layer];
    uint32_t n = g->layer_first[layer + 1] - g->layer_first[layer];
    uint32_t moving = 0;
    for (uint32_t i = 0; i < n; i++) {
        float key = key_of(o, at[i], above, median);
        if (key >= 0) {
            o->keys[moving++] = (keyed){key, at[i]};
            at[i] = GRAPH_NONE;
        }
    }
    sort_keys(o->keys, o->scratch, moving, turn);
    for (uint32_t i = 0, k = 0; i < n; i++) {
        if (at[i] == GRAPH_NONE) {
            at[i] = o->keys[k++].vertex;
        }
        g->pos[at[i]] = i;
    }
}

/* Crossings between a layer and the next: pairs of links that end the other way round, by an accumulator tree. */
static uint64_t crossings_below(orderer *o, uint32_t layer)
{
    const layered *g = o->g;
    uint32_t width = g->layer_first[layer + 2] - g->layer_first[layer + 1];
    uint32_t leaves = 1;
    while (leaves < width) {
        leaves *= 2;
    }
    memset(o->tree, 0, 2 * leaves * sizeof *o->tree);
    uint64_t sum = 0;
    for (uint32_t i = g->layer_first[layer]; i < g->layer_first[layer + 1]; i++) {
        uint32_t n = neighbours(g, g->order[i], false, o->near);
        sort_u32(o->near, n);
        for (uint32_t k = 0; k < n; k++) {
            uint32_t at = o->near[k] + leaves;
            o->tree[at]++;
            for (; at > 1; at /= 2) {
                sum += at % 2 ? 0 : o->tree[at + 1];
                o->tree[at / 2]++;
            }
        }
    }
    return sum;
}

/* Outer lines drop to the channel below, through the links of all that stands further down. */
static uint64_t outer_crossings(const orderer *o, uint32_t layer)
{
    const layered *g = o->g;
    uint64_t sum = 0;
    uint64_t out = 0;
    uint64_t in = 0;
    for (uint32_t i = g->layer_first[layer + 1]; i-- > g->layer_first[layer];) {
        uint32_t x = g->order[i];
        if (x < g->n_real) {
            sum += o->leaves_outer[x] * out + o->enters_outer[x] * in;
        }
        out += g->down_first[x + 1] - g->down_first[x];
        in += g->up_first[x + 1] - g->up_first[x];
    }
    return sum;
}

static uint64_t count_crossings(orderer *o)
{
    uint64_t sum = 0;
    for (uint32_t l = 0; l < o->g->n_layers && !is_cancelled(o->g->cancel); l++) {
        sum += l + 1 < o->g->n_layers ? crossings_below(o, l) : 0;
        sum += o->has_outer ? outer_crossings(o, l) : 0;
    }
    return sum;
}

/* What outer lines gain when a no longer stands before b. */
static int64_t outer_gain(const orderer *o, uint32_t a, uint32_t b)
{
    const layered *g = o->g;
    int64_t down_a = g->down_first[a + 1] - g->down_first[a];
    int64_t down_b = g->down_first[b + 1] - g->down_first[b];
    int64_t up_a = g->up_first[a + 1] - g->up_first[a];
    int64_t up_b = g->up_first[b + 1] - g->up_first[b];
    int64_t gain = a < g->n_real ? o->leaves_outer[a] * down_b + o->enters_outer[a] * up_b : 0;
    return gain - (b < g->n_real ? o->leaves_outer[b] * down_a + o->enters_outer[b] * up_a : 0);
}

/* Crossings of the links of a with those of b on one side, a standing before b, less those when b stands before a. */
static int64_t gain_on_side(orderer *o, uint32_t a, uint32_t b, bool above)
{
    uint32_t *x = o->near;
    uint32_t *y = o->near + o->degree;
    uint32_t n = neighbours(o->g, a, above, x);
    uint32_t m = neighbours(o->g, b, above, y);
    sort_u32(x, n);
    sort_u32(y, m);
    int64_t gain = 0;
    uint32_t less = 0;
    uint32_t same = 0;
    for (uint32_t i = 0; i < n; i++) {
        while (less < m && y[less] < x[i]) {
            less++;
        }
        same = less;
        while (same < m && y[same] == x[i]) {
            same++;
        }
        gain += (int64_t)less - (int64_t)(m - same);
    }
    return gain;
}

static bool exchange_layer(orderer *o, uint32_t layer)
{
    layered *g = o->g;
    uint32_t *at = g->order + g->layer_first[layer];
    uint32_t n = g->layer_first[layer + 1] - g->layer_first[layer];
    bool better = false;
    for (uint32_t i = 0; i + 1 < n; i++) {
        int64_t gain = gain_on_side(o, at[i], at[i + 1], true) + gain_on_side(o, at[i], at[i + 1], false);
        gain += o->has_outer ? outer_gain(o, at[i], at[i + 1]) : 0;
        if (gain > 0) {
            uint32_t x = at[i];
            at[i] = at[i + 1];
            at[i + 1] = x;
            g->pos[at[i]] = i;
            g->pos[at[i + 1]] = i + 1;
            better = true;
        }
    }
    return better;
}

static void exchange(orderer *o)
{
    bool better = true;
    for (int round = 0; round < 10 && better && !is_cancelled(o->g->cancel); round++) {
        better = false;
        for (uint32_t l = 0; l < o->g->n_layers; l++) {
            better = exchange_layer(o, l) || better;
        }
    }
}

static void sweep(orderer *o, int round, bool up_first)
{
    bool down = (round % 2 == 0) != up_first;
    bool median = round / 2 % 2 == 1;
    bool turn = round / 4 % 2 == 1;
    uint32_t n = o->g->n_layers;
    for (uint32_t i = 1; i < n && !is_cancelled(o->g->cancel); i++) {
        order_layer(o, down ? i : n - 1 - i, down, median, turn);
    }
}

static void take_order(layered *g, const uint32_t *order)
{
    memmove(g->order, order, g->n * sizeof *order);
    for (uint32_t l = 0; l < g->n_layers; l++) {
        for (uint32_t k = g->layer_first[l]; k < g->layer_first[l + 1]; k++) {
            g->pos[g->order[k]] = k - g->layer_first[l];
        }
    }
}

static void keep_if_better(orderer *o, int *idle)
{
    uint64_t n = count_crossings(o);
    ++*idle;
    if (n < o->g->n_crossings) {
        o->g->n_crossings = n;
        memcpy(o->best, o->g->order, o->g->n * sizeof *o->best);
        *idle = 0;
    }
}

static void reverse_layers(layered *g)
{
    for (uint32_t l = 0; l < g->n_layers; l++) {
        for (uint32_t a = g->layer_first[l], z = g->layer_first[l + 1]; a + 1 < z; a++) {
            uint32_t x = g->order[a];
            g->order[a] = g->order[--z];
            g->order[z] = x;
        }
    }
    take_order(g, g->order);
}

/* Each layer in an order of its own, the same one every time. */
static void shuffle_layers(layered *g, uint64_t seed)
{
    for (uint32_t l = 0; l < g->n_layers; l++) {
        uint32_t *at = g->order + g->layer_first[l];
        for (uint32_t n = g->layer_first[l + 1] - g->layer_first[l]; n > 1; n--) {
            seed = seed * 6364136223846793005U + 1442695040888963407U;
            uint32_t k = (uint32_t)((seed >> 33) % n);
            uint32_t x = at[k];
            at[k] = at[n - 1];
            at[n - 1] = x;
        }
    }
    take_order(g, g->order);
}

/* From the order of the input, downwards and upwards first, from the opposite order, and from shuffled ones. Only
 * small graphs get more than the first. */
static void find_order(orderer *o)
{
    layered *g = o->g;
    bool small = g->n <= SMALL && g->n_links <= 2 * SMALL;
    int sweeps = small ? SWEEPS_SMALL : SWEEPS_LARGE;
    uint32_t *start = mem_alloc((g->n + 1U) * sizeof *start);
    memcpy(start, g->order, g->n * sizeof *start);
    memcpy(o->best, g->order, g->n * sizeof *o->best);
    g->n_crossings = count_crossings(o);
    int starts = g->n <= TINY ? STARTS_TINY : small ? STARTS : 1;
    for (int s = 0; s < starts && g->n_crossings > 0; s++) {
        int idle = 0;
        take_order(g, start);
        if (s >= STARTS) {
            shuffle_layers(g, (uint64_t)s);
        } else if (s >= 2) {
            reverse_layers(g);
        }
        for (int i = 0; i < sweeps && g->n_crossings > 0 && idle < PATIENCE && !is_cancelled(g->cancel); i++) {
            sweep(o, i, s % 2);
            if (small) {
                exchange(o);
            }
            keep_if_better(o, &idle);
        }
    }
    take_order(g, o->best);
    free(start);
}

/* Where lines end: spread about the middle in the order of what they come from, or at the port. */
static void find_ends(orderer *o)
{
    layered *g = o->g;
    for (uint32_t x = 0; x < g->n_real; x++) {
        uint32_t n = g->up_first[x + 1] - g->up_first[x];
        if (g->in_at[x] < 0) {
            float step = n > 1 ? (g->sv[x] - 12) / (float)n : 0;
            step = step > 12 ? 12 : step < LEAST_STEP ? 0 : step; /* too many: they meet in the middle */
            (void)neighbours(g, x, true, o->near);
            sort_u32(o->near, n);
            for (uint32_t k = g->up_first[x]; k < g->up_first[x + 1]; k++) {
                uint32_t p = g->pos[g->link_from[g->up_link[k]]];
                const uint32_t *found = bsearch(&p, o->near, n, sizeof p, compare_u32);
                float rank = (float)(found - o->near);
                g->link_in[g->up_link[k]] = g->sv[x] / 2 + (rank - (float)(n - 1) / 2) * step;
            }
        } else {
            for (uint32_t k = g->up_first[x]; k < g->up_first[x + 1]; k++) {
                g->link_in[g->up_link[k]] = g->in_at[x];
            }
        }
    }
}

marey_status layered_order(layered *g)
{
    orderer o = {.g = g};
    for (uint32_t l = 0; l < g->n_layers; l++) {
        uint32_t w = g->layer_first[l + 1] - g->layer_first[l];
        o.widest = w > o.widest ? w : o.widest;
    }
    for (uint32_t x = 0; x < g->n; x++) {
        uint32_t a = g->up_first[x + 1] - g->up_first[x];
        uint32_t b = g->down_first[x + 1] - g->down_first[x];
        o.degree = a > o.degree ? a : o.degree;
        o.degree = b > o.degree ? b : o.degree;
    }
    o.keys = mem_alloc((o.widest + 1U) * sizeof *o.keys);
    o.scratch = mem_alloc((o.widest + 1U) * sizeof *o.scratch);
    o.tree = mem_alloc((4U * o.widest + 4U) * sizeof *o.tree);
    o.best = mem_alloc((g->n + 1U) * sizeof *o.best);
    o.near = mem_alloc((2U * o.degree + 2U) * sizeof *o.near);
    o.leaves_outer = mem_calloc(g->n_real + 1U, sizeof *o.leaves_outer);
    o.enters_outer = mem_calloc(g->n_real + 1U, sizeof *o.enters_outer);
    for (uint32_t i = 0; i < g->n_lines; i++) {
        if (g->lines[i].outer) {
            o.has_outer = true;
            o.leaves_outer[g->lines[i].from] = 1;
            o.enters_outer[g->lines[i].to]++;
        }
    }
    find_order(&o);
    find_ends(&o);
    free(o.keys);
    free(o.scratch);
    free(o.tree);
    free(o.best);
    free(o.near);
    free(o.leaves_outer);
    free(o.enters_outer);
    return is_cancelled(g->cancel) ? MAREY_CANCELLED : MAREY_OK;
}
