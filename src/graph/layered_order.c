/*
 * The order within layers: sweeps of barycenters and medians from the order of the input, then exchanges of neighbours
 * in small graphs; the best by counted crossings is kept (Barth, Juenger, Mutzel 2004).
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "graph/layered.h"

enum {
    SWEEPS_SMALL = 24,
    SWEEPS_LARGE = 4,
    SMALL = 3000,
    PATIENCE = 6,
    STARTS = 4,
    STARTS_MIDDLE = 2, /* above MIDDLE: 2 000 children must be laid out within 50 ms */
    MIDDLE = 1000,
    TINY = 400,
    STARTS_TINY = 16
};

typedef struct keyed {
    float key;
    uint32_t vertex;
} keyed;

/* What is known of a layer since its order, or that of a layer beside it, last changed. */
typedef struct layer_facts {
    uint32_t version, placed; /* of its order: of any change; but of exchanges, which keep up_at and down_at true */
    uint32_t above, below;    /* `placed` of the layers beside it that its places in up_at and down_at are of */
    uint32_t counted[2];      /* versions of itself and the next that `crossings` is of */
    uint64_t crossings;       /* down to the next layer, and of outer lines */
    bool is_settled;          /* all its vertices are */
} layer_facts;

typedef struct orderer {
    layered *g;
    keyed *keys;
    keyed *scratch;
    uint32_t *tree, *best;
    uint32_t *ends, *sorted;   /* [n_links] of a layer */
    uint32_t *up_at, *down_at; /* [n_links] places of neighbours, ascending for each vertex: beside up_link, link_to */
    layer_facts *facts;        /* [n_layers + 2]: of layer l at l + 1 */
    uint32_t *leaves_outer, *enters_outer; /* [n_real] a vertex's trunk of outer lines; outer lines into it */
    uint8_t *settled;   /* [n] to exchange a vertex with the next one in its layer did not pay, and nothing changed */
    uint32_t *seen;     /* [n] the exchange that a vertex was last told of */
    uint32_t exchanges; /* so far */
    uint32_t widest;
    bool has_outer;
} orderer;

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

enum { RUN = 8 };

/* Stable; turn: what is equal comes in the opposite order. */
static void sort_run(keyed *a, uint32_t n, bool turn)
{
    for (uint32_t i = 1; i < n; i++) {
        keyed x = a[i];
        uint32_t k = i;
        for (; k > 0 && (a[k - 1].key > x.key || (turn && a[k - 1].key >= x.key)); k--) {
            a[k] = a[k - 1];
        }
        a[k] = x;
    }
}

/* Merge sort, bottom-up from short runs. */
static void sort_keys(keyed *a, keyed *scratch, uint32_t n, bool turn)
{
    for (uint32_t lo = 0; lo < n; lo += RUN) {
        sort_run(a + lo, n - lo < RUN ? n - lo : RUN, turn);
    }
    for (uint32_t width = RUN; width < n; width *= 2) {
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

static layer_facts *facts_of(const orderer *o, uint32_t layer)
{
    return &o->facts[layer + 1];
}

/* Places of the neighbours of a layer's vertices in the layer before, or in the next one: up to date. */
static void look_beside(orderer *o, uint32_t layer, bool above)
{
    const layered *g = o->g;
    layer_facts *f = facts_of(o, layer);
    uint32_t now = above ? f[-1].placed : f[1].placed;
    if ((above ? f->above : f->below) == now) {
        return;
    }
    *(above ? &f->above : &f->below) = now;
    f->is_settled = false;
    const uint32_t *first = above ? g->up_first : g->down_first;
    uint32_t *at = above ? o->up_at : o->down_at;
    for (uint32_t i = g->layer_first[layer]; i < g->layer_first[layer + 1]; i++) {
        uint32_t x = g->order[i];
        o->settled[x] = 0;
        for (uint32_t k = first[x]; k < first[x + 1]; k++) {
            at[k] = g->pos[above ? g->link_from[g->up_link[k]] : g->link_to[k]];
        }
        sort_u32(at + first[x], first[x + 1] - first[x]);
    }
}

/* Of places in ascending order. */
static float key_of(const uint32_t *near, uint32_t n, bool median)
{
    if (n == 0) {
        return -1;
    }
    if (median && n > 2) {
        return n % 2 ? (float)near[n / 2] : ((float)near[n / 2 - 1] + (float)near[n / 2]) / 2;
    }
    double sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        sum += near[i];
    }
    return (float)(sum / n);
}

/* The order of a layer is another one. */
static void replaced(orderer *o, uint32_t layer)
{
    const layered *g = o->g;
    layer_facts *f = facts_of(o, layer);
    f->version++;
    f->placed++;
    f->is_settled = false;
    for (uint32_t i = g->layer_first[layer]; i < g->layer_first[layer + 1]; i++) {
        o->settled[g->order[i]] = 0;
    }
}

/* What has no neighbours there keeps its place; the others share the remaining places in the order of their keys. */
static void order_layer(orderer *o, uint32_t layer, bool above, bool median, bool turn)
{
    layered *g = o->g;
    uint32_t *at = g->order + g->layer_first[layer];
    uint32_t n = g->layer_first[layer + 1] - g->layer_first[layer];
    const uint32_t *first = above ? g->up_first : g->down_first;
    const uint32_t *near = above ? o->up_at : o->down_at;
    uint32_t moving = 0;
    look_beside(o, layer, above);
    for (uint32_t i = 0; i < n; i++) {
        float key = key_of(near + first[at[i]], first[at[i] + 1] - first[at[i]], median);
        if (key >= 0) {
            o->keys[moving++] = (keyed){key, at[i]};
            at[i] = GRAPH_NONE;
        }
    }
    sort_keys(o->keys, o->scratch, moving, turn);
    bool changed = false;
    for (uint32_t i = 0, k = 0; i < n; i++) {
        if (at[i] == GRAPH_NONE) {
            at[i] = o->keys[k++].vertex;
        }
        changed = changed || g->pos[at[i]] != i;
        g->pos[at[i]] = i;
    }
    if (changed) {
        replaced(o, layer);
    }
}

/* Inversions of a list by an accumulator tree. */
static uint64_t inversions(orderer *o, uint32_t n, uint32_t width)
{
    uint32_t leaves = 1;
    while (leaves < width) {
        leaves *= 2;
    }
    memset(o->tree, 0, 2 * leaves * sizeof *o->tree);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = o->ends[i] + leaves;
        o->tree[at]++;
        for (; at > 1; at /= 2) {
            sum += at % 2 ? 0 : o->tree[at + 1];
            o->tree[at / 2]++;
        }
    }
    return sum;
}

enum { FEW_SHIFTS = 6 }; /* a link: up to here insertion is faster */

/* Crossings between a layer and the next: pairs of links that end the other way round. Mostly they are few, and
 * insertion counts them; else a tree does, from the start. */
static uint64_t crossings_below(orderer *o, uint32_t layer)
{
    const layered *g = o->g;
    uint64_t sum = 0;
    uint32_t n = 0;
    bool few = true;
    look_beside(o, layer, false);
    for (uint32_t i = g->layer_first[layer]; i < g->layer_first[layer + 1]; i++) {
        uint32_t x = g->order[i];
        memcpy(o->ends + n, o->down_at + g->down_first[x],
               (g->down_first[x + 1] - g->down_first[x]) * sizeof *o->ends);
        n += g->down_first[x + 1] - g->down_first[x];
    }
    for (uint32_t i = 0; i < n && few; i++) {
        uint32_t end = o->ends[i];
        uint32_t k = i;
        for (; k > 0 && o->sorted[k - 1] > end; k--) {
            o->sorted[k] = o->sorted[k - 1];
        }
        o->sorted[k] = end;
        sum += i - k;
        few = sum <= (uint64_t)FEW_SHIFTS * n;
    }
    return few ? sum : inversions(o, n, g->layer_first[layer + 2] - g->layer_first[layer + 1]);
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
        layer_facts *f = facts_of(o, l);
        if (f->counted[0] != f->version || f->counted[1] != f[1].version) {
            f->crossings = l + 1 < o->g->n_layers ? crossings_below(o, l) : 0;
            f->crossings += o->has_outer ? outer_crossings(o, l) : 0;
            f->counted[0] = f->version;
            f->counted[1] = f[1].version;
        }
        sum += f->crossings;
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

/* Crossings of the links that end at x[] with those that end at y[], the former standing before the latter, less those
 * when they stand behind. Both ascend. */
static int64_t gain_on_side(const uint32_t *x, uint32_t n, const uint32_t *y, uint32_t m)
{
    if (n == 0 || m == 0) {
        return 0;
    }
    if (x[n - 1] < y[0]) {
        return -(int64_t)n * m;
    }
    if (y[m - 1] < x[0]) {
        return (int64_t)n * m;
    }
    int64_t gain = 0;
    uint32_t less = 0;
    uint32_t same = 0;
    for (uint32_t i = 0; i < n; i++) {
        while (less < m && y[less] < x[i]) {
            less++;
        }
        same = same > less ? same : less;
        while (same < m && y[same] == x[i]) {
            same++;
        }
        gain += (int64_t)less - (int64_t)(m - same);
    }
    return gain;
}

static int64_t gain_of(const orderer *o, uint32_t a, uint32_t b)
{
    const uint32_t *up = o->g->up_first;
    const uint32_t *down = o->g->down_first;
    int64_t gain = gain_on_side(o->up_at + up[a], up[a + 1] - up[a], o->up_at + up[b], up[b + 1] - up[b]);
    gain += gain_on_side(o->down_at + down[a], down[a + 1] - down[a], o->down_at + down[b], down[b + 1] - down[b]);
    return gain + (o->has_outer ? outer_gain(o, a, b) : 0);
}

/* Ends of a vertex at places i and i + 1 of a layer, ascending, once what stands there has changed places.
 * @return whether they are others now */
static bool exchange_ends(uint32_t *at, uint32_t n, uint32_t i)
{
    if (n == 1) {
        at[0] = at[0] == i ? i + 1 : i;
        return true;
    }
    uint32_t lo = 0;
    for (uint32_t hi = n; lo < hi;) {
        uint32_t mid = lo + (hi - lo) / 2;
        lo = at[mid] < i ? mid + 1 : lo;
        hi = at[mid] < i ? hi : mid;
    }
    uint32_t mid = lo;
    while (mid < n && at[mid] == i) {
        mid++;
    }
    uint32_t end = mid;
    while (end < n && at[end] == i + 1) {
        end++;
    }
    if (mid - lo == end - mid) {
        return false;
    }
    for (uint32_t k = lo; k < end; k++) {
        at[k] = i + (k >= lo + (end - mid));
    }
    return true;
}

/* A neighbour, in the layer `beside`, of a vertex that changed places i and i + 1: to exchange it with those beside it
 * may pay again. */
static void tell_neighbour(orderer *o, uint32_t w, uint32_t *at, uint32_t n, uint32_t i, uint32_t beside)
{
    const layered *g = o->g;
    if (n > 1 && o->seen[w] == o->exchanges) {
        return;
    }
    o->seen[w] = o->exchanges;
    if (exchange_ends(at, n, i)) {
        o->settled[w] = 0;
        facts_of(o, beside)->is_settled = false;
        if (g->pos[w] > 0) {
            o->settled[g->order[g->layer_first[beside] + g->pos[w] - 1]] = 0;
        }
    }
}

static void tell_neighbours(orderer *o, uint32_t x, uint32_t i, uint32_t layer)
{
    const layered *g = o->g;
    for (uint32_t k = g->up_first[x]; k < g->up_first[x + 1]; k++) {
        uint32_t w = g->link_from[g->up_link[k]];
        uint32_t first = g->down_first[w];
        tell_neighbour(o, w, o->down_at + first, g->down_first[w + 1] - first, i, layer - 1);
    }
    for (uint32_t k = g->down_first[x]; k < g->down_first[x + 1]; k++) {
        uint32_t w = g->link_to[k];
        uint32_t first = g->up_first[w];
        tell_neighbour(o, w, o->up_at + first, g->up_first[w + 1] - first, i, layer + 1);
    }
}

static void exchange_at(orderer *o, uint32_t *at, uint32_t i, uint32_t layer)
{
    uint32_t *pos = o->g->pos;
    uint32_t x = at[i];
    at[i] = at[i + 1];
    at[i + 1] = x;
    pos[at[i]] = i;
    pos[at[i + 1]] = i + 1;
    o->exchanges++;
    tell_neighbours(o, at[i], i, layer);
    tell_neighbours(o, at[i + 1], i, layer);
    o->settled[at[i]] = 1; /* it paid the other way round */
    o->settled[at[i + 1]] = 0;
    if (i > 0) {
        o->settled[at[i - 1]] = 0;
    }
    facts_of(o, layer)->is_settled = false;
}

static bool exchange_layer(orderer *o, uint32_t layer)
{
    uint32_t *at = o->g->order + o->g->layer_first[layer];
    uint32_t n = o->g->layer_first[layer + 1] - o->g->layer_first[layer];
    layer_facts *f = facts_of(o, layer);
    bool better = false;
    if (f->is_settled) {
        return false;
    }
    f->is_settled = true;
    for (uint32_t i = 0; i + 1 < n; i++) {
        if (o->settled[at[i]]) {
            continue;
        }
        o->settled[at[i]] = 1;
        if (gain_of(o, at[i], at[i + 1]) > 0) {
            exchange_at(o, at, i, layer);
            better = true;
        }
    }
    f->version += better;
    return better;
}

static void exchange(orderer *o)
{
    bool better = true;
    for (uint32_t l = 0; l < o->g->n_layers; l++) {
        look_beside(o, l, true);
        look_beside(o, l, false);
    }
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

static void take_order(orderer *o, const uint32_t *order)
{
    layered *g = o->g;
    memmove(g->order, order, g->n * sizeof *order);
    for (uint32_t l = 0; l < g->n_layers; l++) {
        bool changed = false;
        for (uint32_t k = g->layer_first[l]; k < g->layer_first[l + 1]; k++) {
            changed = changed || g->pos[g->order[k]] != k - g->layer_first[l];
            g->pos[g->order[k]] = k - g->layer_first[l];
        }
        if (changed) {
            replaced(o, l);
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

static void reverse_layers(orderer *o)
{
    layered *g = o->g;
    for (uint32_t l = 0; l < g->n_layers; l++) {
        for (uint32_t a = g->layer_first[l], z = g->layer_first[l + 1]; a + 1 < z; a++) {
            uint32_t x = g->order[a];
            g->order[a] = g->order[--z];
            g->order[z] = x;
        }
    }
    take_order(o, g->order);
}

/* Each layer in an order of its own, the same one every time. */
static void shuffle_layers(orderer *o, uint64_t seed)
{
    layered *g = o->g;
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
    take_order(o, g->order);
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
    int starts = g->n <= TINY ? STARTS_TINY : g->n <= MIDDLE ? STARTS : small ? STARTS_MIDDLE : 1;
    for (int s = 0; s < starts && g->n_crossings > 0; s++) {
        int idle = 0;
        take_order(o, start);
        if (s >= STARTS) {
            shuffle_layers(o, (uint64_t)s);
        } else if (s >= 2) {
            reverse_layers(o);
        }
        for (int i = 0; i < sweeps && g->n_crossings > 0 && idle < PATIENCE && !is_cancelled(g->cancel); i++) {
            sweep(o, i, s % 2);
            if (small) {
                exchange(o);
            }
            keep_if_better(o, &idle);
        }
    }
    take_order(o, o->best);
    free(start);
}

marey_status layered_order(layered *g)
{
    orderer o = {.g = g};
    for (uint32_t l = 0; l < g->n_layers; l++) {
        uint32_t w = g->layer_first[l + 1] - g->layer_first[l];
        o.widest = w > o.widest ? w : o.widest;
    }
    o.keys = mem_alloc((o.widest + 1U) * sizeof *o.keys);
    o.scratch = mem_alloc((o.widest + 1U) * sizeof *o.scratch);
    o.tree = mem_alloc((4U * o.widest + 4U) * sizeof *o.tree);
    o.ends = mem_alloc((g->n_links + 1U) * sizeof *o.ends);
    o.sorted = mem_alloc((g->n_links + 1U) * sizeof *o.sorted);
    o.best = mem_alloc((g->n + 1U) * sizeof *o.best);
    o.up_at = mem_alloc((g->n_links + 1U) * sizeof *o.up_at);
    o.down_at = mem_alloc((g->n_links + 1U) * sizeof *o.down_at);
    o.settled = mem_calloc(g->n + 1U, sizeof *o.settled);
    o.seen = mem_calloc(g->n + 1U, sizeof *o.seen);
    o.facts = mem_calloc(g->n_layers + 2U, sizeof *o.facts);
    for (uint32_t l = 0; l < g->n_layers; l++) {
        facts_of(&o, l)->version = facts_of(&o, l)->placed = 1;
    }
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
    free(o.keys);
    free(o.scratch);
    free(o.tree);
    free(o.best);
    free(o.ends);
    free(o.sorted);
    free(o.up_at);
    free(o.down_at);
    free(o.facts);
    free(o.settled);
    free(o.seen);
    free(o.leaves_outer);
    free(o.enters_outer);
    return is_cancelled(g->cancel) ? MAREY_CANCELLED : MAREY_OK;
}
