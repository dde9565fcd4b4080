/*
 * Where lines begin and end on the sides of boxes. Closed boxes: lines come in spread about the middle in the order of
 * what they come from, and leave by one trunk; turned lines (which run back) have places of their own. Open modules:
 * at their ports. Once boxes are placed, ends slide along their side towards what they lead to.
 */
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "graph/layered.h"

enum { LEAST_STEP = 4, MOST_STEP = 12, END_MARGIN = 9, MOST_SLIDING = 16 };
#define KINK 5.0F

typedef struct end {
    uint32_t pos; /* of the other end in its layer */
    uint32_t link;
    bool turned;
} end;

static float side_of(const layered *g, uint32_t x)
{
    return layered_side_to(g, x) - layered_side_from(g, x);
}

static int compare_ends(const void *a, const void *b)
{
    const end *x = a;
    const end *y = b;
    if (x->pos != y->pos) {
        return x->pos < y->pos ? -1 : 1;
    }
    if (x->turned != y->turned) {
        return x->turned ? 1 : -1;
    }
    return (x->link > y->link) - (x->link < y->link);
}

static void sort_ends(end *e, uint32_t n)
{
    if (n > 32) {
        qsort(e, n, sizeof *e, compare_ends);
        return;
    }
    for (uint32_t i = 1; i < n; i++) {
        end x = e[i];
        uint32_t k = i;
        for (; k > 0 && compare_ends(&e[k - 1], &x) > 0; k--) {
            e[k] = e[k - 1];
        }
        e[k] = x;
    }
}

/* Between n ends on a side; 0: too many, they meet in the middle. */
static float step_of(float side, uint32_t n)
{
    float step = n > 1 ? (side - 2 * END_MARGIN) / (float)n : 0;
    return step > MOST_STEP ? MOST_STEP : step < LEAST_STEP ? 0 : step;
}

/* Ends at the left in order. */
static uint32_t list_in(const layered *g, uint32_t x, end *e)
{
    uint32_t n = g->up_first[x + 1] - g->up_first[x];
    for (uint32_t i = 0; i < n; i++) {
        uint32_t link = g->up_link[g->up_first[x] + i];
        e[i] = (end){g->pos[g->link_from[link]], link, g->link_turned[link] != 0};
    }
    sort_ends(e, n);
    return n;
}

static float room_on(float side, uint32_t n)
{
    float room = (side - 2 * END_MARGIN - (float)(n - 1) * step_of(side, n)) / 2;
    return n > 0 && n <= MOST_SLIDING && room > 0 ? room : 0;
}

static float clamped(float x, float lo, float hi)
{
    return x < lo ? lo : x > hi ? hi : x;
}

/* Each end has a place about the middle and can slide from there: until boxes are placed, as near to the middle as it
 * gets, so that boxes and not ends stand in rows. */
static void ends_in(layered *g, uint32_t x, end *e)
{
    uint32_t n = list_in(g, x, e);
    float step = step_of(side_of(g, x), n);
    float middle = layered_side_middle(g, x);
    float room = room_on(side_of(g, x), n);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t link = e[i].link;
        float place = middle + ((float)i - (float)(n - 1) / 2) * step;
        g->link_in[link] = g->in_at[x] >= 0 ? g->in_at[x] : clamped(middle, place - room, place + room);
        g->link_lo[link] = g->in_at[x] >= 0 ? 0 : g->link_in[link] - (place + room);
        g->link_hi[link] = g->in_at[x] >= 0 ? 0 : g->link_in[link] - (place - room);
    }
}

/* Ends at the right in order: turned lines, and the trunk of all others (its link: GRAPH_NONE). */
static uint32_t list_out(layered *g, uint32_t x, end *e)
{
    uint32_t n = 0;
    uint32_t n_forward = 0;
    double sum = 0;
    for (uint32_t k = g->down_first[x]; k < g->down_first[x + 1]; k++) {
        g->link_out[k] = g->out[x];
        if (g->link_turned[k]) {
            e[n++] = (end){g->pos[g->link_to[k]], k, true};
        } else {
            sum += g->pos[g->link_to[k]];
            n_forward++;
        }
    }
    if (n_forward > 0 && n > 0) { /* the trunk is one of them */
        e[n++] = (end){(uint32_t)(sum / n_forward), GRAPH_NONE, false};
        sort_ends(e, n);
    } else if (n_forward > 0) {
        e[n++] = (end){0, GRAPH_NONE, false};
    }
    return n;
}

static void ends_out(layered *g, uint32_t x, end *e)
{
    uint32_t n = list_out(g, x, e);
    float step = step_of(side_of(g, x), n);
    float middle = (float)(n - 1) / 2;
    for (uint32_t i = 0; i < n; i++) { /* the trunk stays in the middle */
        middle = e[i].link == GRAPH_NONE ? (float)i : middle;
    }
    float most = middle > (float)(n - 1) - middle ? middle : (float)(n - 1) - middle;
    if (most * step > side_of(g, x) / 2 - END_MARGIN) {
        step = (side_of(g, x) / 2 - END_MARGIN) / most;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (e[i].link != GRAPH_NONE) {
            g->link_out[e[i].link] = g->out[x] + ((float)i - middle) * step;
        }
    }
    if (g->in_at[x] < 0 && n == 1 && g->down_first[x] + 1 == g->down_first[x + 1]) { /* trunks of several lines stay */
        g->link_lo[g->down_first[x]] -= room_on(side_of(g, x), 1);
        g->link_hi[g->down_first[x]] += room_on(side_of(g, x), 1);
    }
}

static uint32_t most_ends(const layered *g)
{
    uint32_t most = 0;
    for (uint32_t x = 0; x < g->n_real; x++) {
        uint32_t in = g->up_first[x + 1] - g->up_first[x];
        uint32_t out = g->down_first[x + 1] - g->down_first[x];
        most = in > most ? in : most;
        most = out > most ? out : most;
    }
    return most;
}

void layered_ends(layered *g)
{
    end *e = mem_alloc((most_ends(g) + 2U) * sizeof *e);
    for (uint32_t x = 0; x < g->n_real; x++) {
        g->out[x] = g->in_at[x] < 0 ? layered_side_middle(g, x) : g->out[x];
        ends_in(g, x, e);
    }
    for (uint32_t x = 0; x < g->n_real; x++) {
        ends_out(g, x, e);
    }
    free(e);
}

/* ------------------------------------------------------------------ sliding */

enum { SLIDE_PASSES = 3 };

typedef struct slider {
    layered *g;
    end *e;
    float *wish, *q;  /* [most ends] */
    uint8_t *low_end; /* [n_real] an outer line comes in low at the left */
} slider;

static int compare_floats(const void *a, const void *b)
{
    float x = *(const float *)a;
    float y = *(const float *)b;
    return (x > y) - (x < y);
}

/* The median of a[] that is nearest to x. */
static float median_near(float *a, uint32_t n, float x)
{
    if (n > 1) {
        qsort(a, n, sizeof *a, compare_floats);
    }
    return clamped(x, a[(n - 1) / 2], a[n / 2]);
}

/* As near to the wishes as their order, the step between them and the side allow: neighbours that want the same place
 * stand about the median of what they want. wish[] becomes the places. */
static void settle(float *wish, float *q, uint32_t n, float lo, float hi, float step)
{
    uint32_t size[MOST_SLIDING];
    float at[MOST_SLIDING];
    uint32_t blocks = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t last = i + 1;
        size[blocks] = 1;
        at[blocks++] = wish[i] - (float)i * step;
        while (blocks > 1 && at[blocks - 2] > at[blocks - 1]) {
            blocks--;
            size[blocks - 1] += size[blocks];
            for (uint32_t k = 0; k < size[blocks - 1]; k++) {
                uint32_t j = last - size[blocks - 1] + k;
                q[k] = wish[j] - (float)j * step;
            }
            qsort(q, size[blocks - 1], sizeof *q, compare_floats);
            at[blocks - 1] = q[(size[blocks - 1] - 1) / 2];
        }
    }
    float before = lo - KINK;
    for (uint32_t b = 0, i = 0; b < blocks; b++) {
        float place = clamped(at[b], lo, hi - (float)(n - 1) * step);
        place = fabsf(place - at[b]) <= KINK ? at[b] : place; /* rather nearer to the corner than a small kink */
        place = fmaxf(place, before);
        before = place;
        for (uint32_t k = 0; k < size[b]; k++, i++) {
            wish[i] = place + (float)i * step;
        }
    }
}

static float start_at(const layered *g, uint32_t link)
{
    return g->v[g->link_from[link]] + g->link_out[link];
}

static float end_at(const layered *g, uint32_t link)
{
    return g->v[g->link_to[link]] + g->link_in[link];
}

static void slide_in(slider *s, uint32_t x)
{
    layered *g = s->g;
    uint32_t n = list_in(g, x, s->e);
    float step = step_of(side_of(g, x), n);
    float low = s->low_end[x] ? MOST_STEP : END_MARGIN;
    float from = layered_side_from(g, x) + END_MARGIN;
    float to = layered_side_to(g, x);
    float least = END_MARGIN + low + (float)(n - 1) * step;
    if (g->in_at[x] >= 0 || n == 0 || (n > MOST_SLIDING && step > 0)) {
        return;
    }
    if (side_of(g, x) < least) { /* no room below: as they stand about the middle */
        for (uint32_t i = 0; i < n; i++) {
            g->link_in[s->e[i].link] = layered_side_middle(g, x) + ((float)i - (float)(n - 1) / 2) * step;
        }
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t link = s->e[i].link;
        s->wish[i] = g->link_loose[link] ? g->link_in[link] : start_at(g, link) - g->v[x];
    }
    if (step > 0 || n == 1) {
        settle(s->wish, s->q, n, from, to - low, step);
    } else {
        s->wish[0] = clamped(median_near(s->wish, n, g->link_in[s->e[0].link]), from, to - low);
    }
    for (uint32_t i = 0; i < n; i++) {
        g->link_in[s->e[i].link] = s->wish[step > 0 ? i : 0];
    }
}

/* Where the trunk wants to leave. */
static float trunk_wish(slider *s, uint32_t x)
{
    const layered *g = s->g;
    uint32_t n = 0;
    for (uint32_t k = g->down_first[x]; k < g->down_first[x + 1]; k++) {
        if (!g->link_turned[k] && !g->link_loose[k]) {
            s->q[n++] = end_at(g, k) - g->v[x];
        }
    }
    return n ? median_near(s->q, n, g->out[x]) : g->out[x];
}

/* part: how much of the way to go; both ends of a line meet half-way. */
static void slide_out(slider *s, uint32_t x, float part)
{
    layered *g = s->g;
    uint32_t n = list_out(g, x, s->e);
    float step = step_of(side_of(g, x), n);
    if (g->in_at[x] >= 0 || n == 0 || n > MOST_SLIDING || side_of(g, x) < 2 * END_MARGIN + (float)(n - 1) * step) {
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t link = s->e[i].link;
        float now = link == GRAPH_NONE ? g->out[x] : g->link_out[link];
        float wish = link == GRAPH_NONE ? trunk_wish(s, x) : g->link_loose[link] ? now : end_at(g, link) - g->v[x];
        s->wish[i] = now + part * (wish - now);
    }
    settle(s->wish, s->q, n, layered_side_from(g, x) + END_MARGIN, layered_side_to(g, x) - END_MARGIN, step);
    for (uint32_t i = 0; i < n; i++) {
        if (s->e[i].link == GRAPH_NONE) {
            g->out[x] = s->wish[i];
        } else {
            g->link_out[s->e[i].link] = s->wish[i];
        }
    }
    for (uint32_t k = g->down_first[x]; k < g->down_first[x + 1]; k++) {
        g->link_out[k] = g->link_turned[k] ? g->link_out[k] : g->out[x];
    }
}

void layered_slide_ends(layered *g)
{
    size_t most = most_ends(g) + 2U;
    slider s = {.g = g,
                .e = mem_alloc(most * sizeof *s.e),
                .wish = mem_alloc(most * sizeof *s.wish),
                .q = mem_alloc((most + MOST_SLIDING) * sizeof *s.q),
                .low_end = mem_calloc(g->n_real + 1U, 1)};
    for (uint32_t i = 0; i < g->n_lines; i++) {
        s.low_end[g->lines[i].to] |= g->lines[i].outer != OUTER_NONE;
    }
    for (int pass = 0; pass < SLIDE_PASSES && !is_cancelled(g->cancel); pass++) {
        for (uint32_t x = 0; x < g->n_real; x++) {
            slide_out(&s, x, pass == 0 ? 0.5F : 1);
        }
        for (uint32_t x = 0; x < g->n_real; x++) {
            slide_in(&s, x);
        }
    }
    free(s.e);
    free(s.wish);
    free(s.q);
    free(s.low_end);
}
