#include "readers/pairs.h"

#include <stdlib.h>
#include <string.h>

#include "trace/model.h"

static void lose(pairs *p, marey_loss loss, const pair_half *h, const char *detail)
{
    diag_lose(p->diag, loss, p->file, h->offset, 1, detail);
}

static void drop_half(pairs *p, pair_half *h)
{
    p->n_halves--;
    p->args_bytes -= h->args ? h->args_len : 0;
    free(h->args);
    h->args = NULL;
}

/* Keep a half whose arguments are borrowed: copies them. @return false at the limit */
static bool keep_half(pairs *p, pair_half *h)
{
    if (p->n_halves >= PAIRS_HALVES_MAX) {
        lose(p, MAREY_LOSS_LIMIT, h, "begin and end events waiting for their partner");
        return false;
    }
    if (h->args && p->args_bytes + h->args_len > PAIRS_ARGS_MAX) {
        lose(p, MAREY_LOSS_LIMIT, h, "arguments of events waiting for their partner");
        h->args = NULL;
    }
    if (h->args) {
        h->args = mem_strndup(h->args, h->args_len);
        p->args_bytes += h->args_len;
    }
    p->n_halves++;
    return true;
}

static bool push_open(pairs *p, pair_lane *l, const pair_half *h)
{
    pair_half kept = *h;
    if (!keep_half(p, &kept)) {
        return false;
    }
    VEC_PUSH(l->open, l->n_open, l->cap_open, kept);
    return true;
}

static void push_late(pairs *p, pair_lane *l, const pair_half *h)
{
    pair_half kept = *h;
    if (keep_half(p, &kept)) {
        VEC_PUSH(l->late, l->n_late, l->cap_late, kept);
    }
}

/* The open begin that this end closes: the nearest of its name, else the top. */
static size_t find_begin(pairs *p, const pair_lane *l, const pair_half *end)
{
    size_t top = l->n_open - 1;
    if (end->text == NO_ID || l->open[top].text == end->text) {
        return top;
    }
    for (size_t i = top; i-- > 0 && top - i < 4096;) {
        if (l->open[i].text == end->text) {
            return i;
        }
    }
    lose(p, MAREY_LOSS_NAME_MISMATCH, end, NULL);
    return top;
}

static marey_status close_begin(pairs *p, pair_lane *l, const pair_half *end)
{
    size_t i = find_begin(p, l, end);
    pair_half begin = l->open[i];
    marey_status status = p->emit(p->ctx, &begin, end);
    drop_half(p, &begin);
    memmove(&l->open[i], &l->open[i + 1], (l->n_open - i - 1) * sizeof *l->open);
    l->n_open--;
    return status;
}

/* From now on this lane is collected; what is open goes along. */
static void become_disordered(pairs *p, pair_lane *l, const pair_half *h)
{
    lose(p, MAREY_LOSS_OUT_OF_ORDER, h, NULL);
    l->disordered = true;
    for (size_t i = 0; i < l->n_open; i++) {
        VEC_PUSH(l->late, l->n_late, l->cap_late, l->open[i]);
    }
    l->n_open = 0;
}

static marey_status add_to_lane(pairs *p, pair_lane *l, pair_half h)
{
    h.order = p->n_seen++;
    if (!l->disordered && l->any && h.ts_ns < l->last_ns) {
        become_disordered(p, l, &h);
    }
    l->any = true;
    l->last_ns = h.ts_ns;
    if (l->disordered) {
        push_late(p, l, &h);
    } else if (h.begin) {
        (void)push_open(p, l, &h);
    } else if (l->n_open == 0) {
        push_late(p, l, &h);
    } else {
        return close_begin(p, l, &h);
    }
    return MAREY_OK;
}

/* A lane that is empty again is used for another key: there may be millions of short operations. */
static size_t make_lane(pairs *p, bool async)
{
    if (async && p->n_idle > 0) {
        size_t i = p->idle[--p->n_idle];
        p->lanes[i].any = false;
        return i;
    }
    pair_lane lane = {.async = async};
    VEC_PUSH(p->lanes, p->n_lanes, p->cap_lanes, lane);
    return p->n_lanes - 1;
}

static size_t lane_of(pairs *p, map64 *map, uint64_t key, bool async)
{
    uint64_t *place = map64_put(map, key);
    if (*place == 0) {
        *place = make_lane(p, async) + 1;
    }
    return (size_t)(*place - 1);
}

marey_status pairs_add(pairs *p, const pair_half *half)
{
    size_t i = lane_of(p, &p->threads, half->thread, false);
    return add_to_lane(p, &p->lanes[i], *half);
}

marey_status pairs_add_async(pairs *p, uint64_t key, const pair_half *half)
{
    size_t i = lane_of(p, &p->asyncs, key, true);
    pair_lane *l = &p->lanes[i];
    marey_status status = add_to_lane(p, l, *half);
    if (l->n_open == 0 && l->n_late == 0 && !l->disordered) {
        (void)map64_remove(&p->asyncs, key);
        VEC_PUSH(p->idle, p->n_idle, p->cap_idle, i);
    }
    return status;
}

static int compare_halves(const void *a, const void *b)
{
    const pair_half *x = a;
    const pair_half *y = b;
    if (x->ts_ns != y->ts_ns) {
        return x->ts_ns < y->ts_ns ? -1 : 1;
    }
    return x->order < y->order ? -1 : x->order > y->order;
}

static void lose_end(pairs *p, const pair_lane *l, const pair_half *h)
{
    lose(p, l->async ? MAREY_LOSS_ASYNC_UNMATCHED : MAREY_LOSS_UNMATCHED_END, h, NULL);
}

static marey_status pair_late(pairs *p, pair_lane *l)
{
    marey_status status = MAREY_OK;
    qsort(l->late, l->n_late, sizeof *l->late, compare_halves);
    for (size_t i = 0; i < l->n_late; i++) {
        pair_half *h = &l->late[i];
        if (h->begin) {
            VEC_PUSH(l->open, l->n_open, l->cap_open, *h);
            continue;
        }
        if (l->n_open > 0 && status == MAREY_OK) {
            status = close_begin(p, l, h);
        } else if (l->n_open == 0) {
            lose_end(p, l, h);
        }
        drop_half(p, h);
    }
    l->n_late = 0;
    return status;
}

static marey_status finish_lane(pairs *p, pair_lane *l)
{
    marey_status status = MAREY_OK;
    if (l->disordered) {
        status = pair_late(p, l);
    }
    for (size_t i = 0; i < l->n_late; i++) {
        lose_end(p, l, &l->late[i]);
        drop_half(p, &l->late[i]);
    }
    for (size_t i = 0; i < l->n_open; i++) {
        lose(p, l->async ? MAREY_LOSS_ASYNC_UNMATCHED : MAREY_LOSS_UNMATCHED_BEGIN, &l->open[i], NULL);
        if (status == MAREY_OK) {
            status = p->emit(p->ctx, &l->open[i], NULL);
        }
        drop_half(p, &l->open[i]);
    }
    l->n_late = 0;
    l->n_open = 0;
    return status;
}

marey_status pairs_finish(pairs *p)
{
    marey_status status = MAREY_OK;
    for (size_t i = 0; i < p->n_lanes && status == MAREY_OK; i++) {
        status = finish_lane(p, &p->lanes[i]);
    }
    return status;
}

void pairs_deinit(pairs *p)
{
    for (size_t i = 0; i < p->n_lanes; i++) {
        for (size_t k = 0; k < p->lanes[i].n_open; k++) {
            free(p->lanes[i].open[k].args);
        }
        for (size_t k = 0; k < p->lanes[i].n_late; k++) {
            free(p->lanes[i].late[k].args);
        }
        free(p->lanes[i].open);
        free(p->lanes[i].late);
    }
    free(p->lanes);
    free(p->idle);
    map64_deinit(&p->threads);
    map64_deinit(&p->asyncs);
    memset(p, 0, sizeof *p);
}
