/*
 * Shorter links after the first placement. Vertices that straight links join move together: to the median of what their
 * other links ask for, as far as there is room. Then single vertices, where that is worth a bend. Only what makes the
 * sum shorter is done, so a few passes never make it worse.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "graph/layered.h"

/* How many px a bend is worth: trunks stay straight. */
enum { BEND = 8, TRUNK_BEND = 160 };
static const float SLIDE = 0.25F;

typedef struct asked {
    float by; /* the shift that makes a link straight */
    float lo, hi, bend; /* between lo and hi its ends slide together */
} asked;

enum { SETTLED_SINGLE = 1, SETTLED_GROUP = 2 };

typedef struct refiner {
    layered *g;
    uint32_t *group;      /* [n] */
    uint32_t *first, *of; /* [n + 1], [n] vertices by group */
    uint8_t *settled;     /* [n] SETTLED_*: neither it nor what is beside it has moved since its group had no wish to */
    asked *ask;           /* what links ask for */
    size_t n_ask, cap_ask;
} refiner;

static uint32_t find_top(uint32_t *top, uint32_t x)
{
    while (top[x] != x) {
        top[x] = top[top[x]];
        x = top[x];
    }
    return x;
}

/* How far down the end at `to` lies from the end at `from`. */
static float fall(const layered *g, uint32_t link)
{
    return g->v[g->link_to[link]] + g->link_in[link] - g->v[g->link_from[link]] - g->link_out[link];
}

static bool is_straight(float d)
{
    return d < 0.5F && d > -0.5F;
}

/* What ends can slide costs little: straight from middle to middle is best. */
static float price(float d, const asked *a)
{
    if (is_straight(d)) {
        return 0;
    }
    float far = fabsf(d);
    float over = d > a->hi ? d - a->hi : d < a->lo ? a->lo - d : 0;
    return SLIDE * (far - over) + over + (over > 0 ? a->bend : 0);
}

/* by: what moves the asking end to the level of the other; at the source, lo and hi are the other way round. */
static void push_ask(refiner *r, uint32_t link, bool source)
{
    const layered *g = r->g;
    if (g->link_loose[link]) {
        return;
    }
    float d = source ? fall(g, link) : -fall(g, link);
    float lo = source ? g->link_lo[link] : -g->link_hi[link];
    float hi = source ? g->link_hi[link] : -g->link_lo[link];
    bool trunk = r->g->link_from[link] >= r->g->n_real && r->g->link_to[link] >= r->g->n_real;
    VEC_PUSH(r->ask, r->n_ask, r->cap_ask, ((asked){d, lo, hi, trunk ? TRUNK_BEND : BEND}));
}

static void find_groups(refiner *r, bool single)
{
    layered *g = r->g;
    for (uint32_t x = 0; x < g->n; x++) {
        r->group[x] = x;
    }
    for (uint32_t k = 0; k < g->n_links && !single; k++) {
        if (!g->link_loose[k] && is_straight(fall(g, k))) {
            uint32_t a = find_top(r->group, g->link_from[k]);
            uint32_t b = find_top(r->group, g->link_to[k]);
            r->group[a > b ? a : b] = a < b ? a : b;
        }
    }
    memset(r->first, 0, (g->n + 2U) * sizeof *r->first);
    for (uint32_t x = 0; x < g->n; x++) {
        r->group[x] = find_top(r->group, x);
        r->first[r->group[x] + 1]++;
    }
    for (uint32_t x = 0; x < g->n; x++) {
        r->first[x + 1] += r->first[x];
    }
    for (uint32_t x = g->n; x-- > 0;) { /* filled from the end */
        r->of[--r->first[r->group[x] + 1]] = x;
    }
    memmove(r->first, r->first + 1, g->n * sizeof *r->first);
    r->first[g->n] = g->n;
}

/* Links of a vertex to other groups: what shift would make each straight. */
static void collect(refiner *r, uint32_t x)
{
    const layered *g = r->g;
    for (uint32_t k = g->up_first[x]; k < g->up_first[x + 1]; k++) {
        if (r->group[g->link_from[g->up_link[k]]] != r->group[x]) {
            push_ask(r, g->up_link[k], false);
        }
    }
    for (uint32_t k = g->down_first[x]; k < g->down_first[x + 1]; k++) {
        if (r->group[g->link_to[k]] != r->group[x]) {
            push_ask(r, k, true);
        }
    }
}

static void find_room(const refiner *r, uint32_t x, float *up, float *down)
{
    const layered *g = r->g;
    uint32_t at = g->layer_first[g->layer[x]] + g->pos[x];
    if (g->pos[x] > 0 && r->group[g->order[at - 1]] != r->group[x]) {
        uint32_t y = g->order[at - 1];
        *up = fminf(*up, g->v[x] - g->v[y] - g->sv[y] - layered_distance(g, y, x));
    }
    if (at + 1 < g->layer_first[g->layer[x] + 1] && r->group[g->order[at + 1]] != r->group[x]) {
        uint32_t y = g->order[at + 1];
        *down = fminf(*down, g->v[y] - g->v[x] - g->sv[x] - layered_distance(g, x, y));
    }
}

static int compare_asked(const void *a, const void *b)
{
    float x = ((const asked *)a)->by;
    float y = ((const asked *)b)->by;
    return (x > y) - (x < y);
}

static void sort_asked(asked *a, size_t n)
{
    if (n > 32) {
        qsort(a, n, sizeof *a, compare_asked);
        return;
    }
    for (size_t i = 1; i < n; i++) {
        asked x = a[i];
        size_t k = i;
        for (; k > 0 && a[k - 1].by > x.by; k--) {
            a[k] = a[k - 1];
        }
        a[k] = x;
    }
}

static float total_price(const refiner *r, float by)
{
    float sum = 0;
    for (size_t i = 0; i < r->n_ask; i++) {
        sum += price(r->ask[i].by - by, &r->ask[i]);
    }
    return sum;
}

/* How far a group is best moved: until a link in the middle of what they ask for is straight, or as near to that as its
 * ends can slide. 0: it stays. */
static float best_move(refiner *r, float up, float down)
{
    float now = total_price(r, 0);
    float least = now - 0.5F;
    float best = 0;
    if (now < 0.5F) {
        return 0;
    }
    sort_asked(r->ask, r->n_ask);
    const asked *middle[2] = {&r->ask[(r->n_ask - 1) / 2], &r->ask[r->n_ask / 2]};
    for (int i = 0; i < (middle[0] == middle[1] ? 1 : 2); i++) {
        const asked *m = middle[i];
        float wish[2] = {m->by, m->by > 0 ? m->by - m->hi : m->by - m->lo};
        for (int k = 0; k < (m->lo < m->hi ? 2 : 1); k++) {
            float by = fminf(fmaxf(wish[k], -fmaxf(up, 0)), fmaxf(down, 0));
            float p = total_price(r, by);
            best = p < least ? by : best;
            least = fminf(p, least);
        }
    }
    return best;
}

/* A vertex moves: it, and all whose wish or room depends on it, are looked at again. */
static void unsettle(refiner *r, uint32_t x)
{
    const layered *g = r->g;
    uint32_t layer = g->layer[x];
    uint32_t at = g->layer_first[layer] + g->pos[x];
    r->settled[x] = 0;
    for (uint32_t k = g->up_first[x]; k < g->up_first[x + 1]; k++) {
        r->settled[g->link_from[g->up_link[k]]] = 0;
    }
    for (uint32_t k = g->down_first[x]; k < g->down_first[x + 1]; k++) {
        r->settled[g->link_to[k]] = 0;
    }
    if (g->pos[x] > 0) {
        r->settled[g->order[at - 1]] = 0;
    }
    if (at + 1 < g->layer_first[layer + 1]) {
        r->settled[g->order[at + 1]] = 0;
    }
}

/* Whether a group was looked at, in this way, since anything changed; from now on it was. */
static bool is_settled(refiner *r, uint32_t group, uint8_t how)
{
    bool all = true;
    for (uint32_t k = r->first[group]; k < r->first[group + 1]; k++) {
        all = all && (r->settled[r->of[k]] & how);
        r->settled[r->of[k]] |= how;
    }
    return all;
}

static bool move_group(refiner *r, uint32_t group)
{
    layered *g = r->g;
    float up = FLT_MAX;
    float down = FLT_MAX;
    r->n_ask = 0;
    for (uint32_t k = r->first[group]; k < r->first[group + 1]; k++) {
        collect(r, r->of[k]);
    }
    if (r->n_ask == 0) {
        return false;
    }
    for (uint32_t k = r->first[group]; k < r->first[group + 1]; k++) {
        find_room(r, r->of[k], &up, &down);
    }
    float by = best_move(r, up, down);
    for (uint32_t k = r->first[group]; k < r->first[group + 1] && fabsf(by) > 0; k++) {
        g->v[r->of[k]] += by;
        unsettle(r, r->of[k]);
    }
    return fabsf(by) > 0;
}

static bool pass(refiner *r, bool single)
{
    bool moved = false;
    find_groups(r, single);
    uint8_t how = single ? SETTLED_SINGLE : SETTLED_GROUP;
    for (uint32_t x = 0; x < r->g->n && !is_cancelled(r->g->cancel); x++) {
        uint32_t n = r->first[x + 1] - r->first[x];
        if (n > 0 && !is_settled(r, x, how)) {
            moved = move_group(r, x) || moved;
        }
    }
    return moved;
}

void layered_refine(layered *g)
{
    int passes = g->n <= 4000 ? 12 : g->n <= 60000 ? 3 : 0;
    refiner r = {.g = g,
                 .group = mem_alloc((g->n + 1U) * sizeof(uint32_t)),
                 .first = mem_alloc((g->n + 2U) * sizeof(uint32_t)),
                 .of = mem_alloc((g->n + 1U) * sizeof(uint32_t)),
                 .settled = mem_calloc(g->n + 1U, 1)};
    bool moved = true;
    for (int i = 0; i < passes && moved && !is_cancelled(g->cancel); i++) {
        moved = pass(&r, false);
        moved = pass(&r, true) || moved;
    }
    float lo = FLT_MAX;
    for (uint32_t x = 0; x < g->n; x++) {
        lo = fminf(lo, g->v[x]);
    }
    for (uint32_t x = 0; x < g->n; x++) {
        g->v[x] -= lo;
    }
    free(r.group);
    free(r.first);
    free(r.of);
    free(r.settled);
    free(r.ask);
}
