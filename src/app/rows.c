#include "app/rows.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* ---- which tracks a row unites ---- */

typedef struct track_set {
    uint32_t *items;
    size_t n, cap;
} track_set;

static void add_lane(track_set *t, const trace_lane *lane)
{
    for (uint32_t i = 0; i < lane->n_tracks; i++) {
        VEC_PUSH(t->items, t->n, t->cap, lane->first_track + i);
    }
}

static bool has_device(const trace_model *m, const trace_rank *r)
{
    for (uint32_t i = 0; i < r->n_lanes; i++) {
        if (kind_is_device(m->lanes[r->first_lane + i].kind)) {
            return true;
        }
    }
    return false;
}

static void add_rank(track_set *t, const trace_model *m, const trace_rank *r)
{
    bool device = has_device(m, r);
    for (uint32_t i = 0; i < r->n_lanes; i++) {
        const trace_lane *lane = &m->lanes[r->first_lane + i];
        if (device ? kind_is_device(lane->kind) : !kind_is_derived(lane->kind) && lane->kind != KIND_COUNTER) {
            add_lane(t, lane);
        }
    }
}

static void push(row_list *l, const char *name, uint32_t lane, int64_t rank, const track_set *t)
{
    uint32_t *tracks = arena_alloc(&l->mem, (t->n ? t->n : 1) * sizeof *tracks);
    if (t->n > 0) {
        memcpy(tracks, t->items, t->n * sizeof *tracks);
    }
    named_row row = {arena_strndup(&l->mem, name, strlen(name)), lane, rank, {tracks, t->n}};
    VEC_PUSH(l->items, l->n, l->cap, row);
}

static void push_lane(row_list *l, const trace_model *m, uint32_t id)
{
    const trace_lane *lane = &m->lanes[id];
    strbuf name = {0};
    track_set t = {0};
    strbuf_printf(&name, "%s/%s", m->ranks[lane->rank].label, lane->name);
    add_lane(&t, lane);
    push(l, name.s, id, m->ranks[lane->rank].rank, &t);
    free(t.items);
    strbuf_deinit(&name);
}

static void push_rank(row_list *l, const trace_model *m, size_t id)
{
    track_set t = {0};
    add_rank(&t, m, &m->ranks[id]);
    push(l, m->ranks[id].label, NO_ID, m->ranks[id].rank, &t);
    free(t.items);
}

/** @param stage  -1: all ranks */
static bool push_ranks_of(row_list *l, const trace_model *m, const char *name, int64_t stage)
{
    track_set t = {0};
    bool any = false;
    for (size_t i = 0; i < m->n_ranks; i++) {
        if (stage < 0 || m->ranks[i].stage == stage) {
            any = true;
            add_rank(&t, m, &m->ranks[i]);
        }
    }
    if (any) {
        push(l, name, NO_ID, -1, &t);
    }
    free(t.items);
    return any;
}

/* ---- one word of the spec ---- */

static bool parse_id(const char *text, int64_t *id)
{
    char *end = NULL;
    long long v = strtoll(text, &end, 10);
    *id = v;
    return end != text && *end == '\0' && v >= 0;
}

static bool push_stage(row_list *l, const trace_model *m, int64_t stage)
{
    char name[32];
    (void)snprintf(name, sizeof name, "stage %lld", (long long)stage);
    return push_ranks_of(l, m, name, stage);
}

static bool push_by_id(row_list *l, const trace_model *m, const char *kind, int64_t id)
{
    if (strcmp(kind, "lane") == 0) {
        if ((uint64_t)id >= m->n_lanes) {
            return false;
        }
        push_lane(l, m, (uint32_t)id);
        return true;
    }
    if (strcmp(kind, "stage") == 0) {
        return push_stage(l, m, id);
    }
    for (size_t i = 0; i < m->n_ranks; i++) {
        if (m->ranks[i].rank == id) {
            push_rank(l, m, i);
            return true;
        }
    }
    return false;
}

static bool matches(const char *pattern, const char *name)
{
    return fnmatch(pattern, name, FNM_PATHNAME | FNM_CASEFOLD | FNM_NOESCAPE) == 0;
}

static void push_matching_stages(row_list *l, const trace_model *m, const char *pattern)
{
    int32_t highest = -1;
    for (size_t i = 0; i < m->n_ranks; i++) {
        highest = m->ranks[i].stage > highest ? m->ranks[i].stage : highest;
    }
    for (int32_t stage = 0; stage <= highest; stage++) {
        char name[32];
        (void)snprintf(name, sizeof name, "stage %d", stage);
        if (matches(pattern, name)) {
            (void)push_stage(l, m, stage);
        }
    }
}

static bool push_matching(row_list *l, const trace_model *m, const char *pattern)
{
    size_t before = l->n;
    strbuf name = {0};
    push_matching_stages(l, m, pattern);
    for (size_t i = 0; i < m->n_ranks; i++) {
        const trace_rank *r = &m->ranks[i];
        if (matches(pattern, r->label)) {
            push_rank(l, m, i);
        }
        for (uint32_t k = 0; k < r->n_lanes; k++) {
            const trace_lane *lane = &m->lanes[r->first_lane + k];
            strbuf_clear(&name);
            strbuf_printf(&name, "%s/%s", r->label, lane->name);
            if (matches(pattern, strbuf_str(&name))) {
                push_lane(l, m, r->first_lane + k);
            }
        }
    }
    strbuf_deinit(&name);
    return l->n > before;
}

static marey_status find_word(row_list *l, const trace_model *m, const char *word, diag *d)
{
    static const char *const kinds[] = {"lane", "rank", "stage"};
    for (size_t i = 0; i < 3; i++) {
        size_t n = strlen(kinds[i]);
        int64_t id = 0;
        if (strncmp(word, kinds[i], n) != 0 || word[n] != ':') {
            continue;
        }
        if (!parse_id(word + n + 1, &id)) {
            return diag_error(d, MAREY_ARG, NULL, DIAG_NO_OFFSET, "\"%s\" wants a number after the colon.", word);
        }
        if (!push_by_id(l, m, kinds[i], id)) {
            return diag_error(d, MAREY_ARG, NULL, DIAG_NO_OFFSET, "The run has no %s %lld.", kinds[i], (long long)id);
        }
        return MAREY_OK;
    }
    if (strcmp(word, "all") == 0) {
        (void)push_ranks_of(l, m, "all", -1);
        return MAREY_OK;
    }
    if (!push_matching(l, m, word)) {
        return diag_error(
            d, MAREY_ARG, NULL, DIAG_NO_OFFSET,
            "No row is named \"%s\"; rows are all, lane:ID, rank:ID, stage:ID, or a pattern on their names.", word);
    }
    return MAREY_OK;
}

marey_status rows_find(row_list *l, const trace_model *m, const char *spec, diag *d)
{
    marey_status status = MAREY_OK;
    const char *p = spec;
    while (p && status == MAREY_OK) {
        const char *comma = strchr(p, ',');
        char *word = mem_strndup(p, comma ? (size_t)(comma - p) : strlen(p));
        if (word[0]) {
            status = find_word(l, m, word, d);
        }
        free(word);
        p = comma ? comma + 1 : NULL;
    }
    return status;
}

void rows_deinit(row_list *l)
{
    free(l->items);
    arena_deinit(&l->mem);
    *l = (row_list){0};
}
