/* The row tree, flattened: stages or hosts, ranks, lanes, tracks. Made anew when the view's settings change. */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "scene/heat.h"

/* ------------------------------------------------------------------ groups */

static const trace_rank *rank_at(const scene *s, uint32_t r)
{
    return &s->model->ranks[r];
}

static uint32_t group_for(row_tree *t, map64 *by_key, uint64_t key, const char *name, int64_t order)
{
    uint64_t *place = map64_put(by_key, key);
    if (*place == 0) {
        rank_group g = {mem_strdup(name), order, 0, 0};
        VEC_PUSH(t->groups, t->n_groups, t->cap_groups, g);
        *place = t->n_groups;
    }
    return (uint32_t)(*place - 1);
}

static uint32_t find_group(scene *s, map64 *by_key, uint32_t r)
{
    char name[64];
    const trace_rank *rank = rank_at(s, r);
    if (s->v.grouping == GROUP_BY_HOST) {
        const char *host = rank->host[0] ? rank->host : "unknown host";
        return group_for(&s->tree, by_key, hash_bytes(host, strlen(host)), host, (int64_t)r);
    }
    if (rank->stage < 0) {
        return group_for(&s->tree, by_key, UINT64_MAX, "No stage", INT64_MAX);
    }
    (void)snprintf(name, sizeof name, "Stage %d", (int)rank->stage);
    return group_for(&s->tree, by_key, (uint64_t)rank->stage, name, rank->stage);
}

static void clear_groups(row_tree *t)
{
    for (size_t i = 0; i < t->n_groups; i++) {
        free(t->groups[i].name);
    }
    t->n_groups = 0;
}

/* ------------------------------------------------------------------ order */

typedef struct order_key {
    int64_t group, first;
    const char *name;
    uint32_t rank;
} order_key;

static int by_order(const void *pa, const void *pb)
{
    const order_key *a = pa;
    const order_key *b = pb;
    if (a->group != b->group) {
        return a->group < b->group ? -1 : 1;
    }
    if (a->name && b->name) {
        int c = name_compare(a->name, b->name);
        if (c != 0) {
            return c;
        }
    }
    if (a->first != b->first) {
        return a->first < b->first ? -1 : 1;
    }
    return a->rank < b->rank ? -1 : a->rank > b->rank;
}

static int64_t busy_of(const scene *s, uint32_t r)
{
    int64_t busy = 0;
    for (uint32_t i = 0; i < rank_at(s, r)->n_lanes; i++) {
        const trace_lane *lane = &s->model->lanes[rank_at(s, r)->first_lane + i];
        busy += kind_is_device(lane->kind) ? lane->busy_ns : 0;
    }
    return busy;
}

static order_key order_of(const scene *s, uint32_t r)
{
    order_key k = {0, rank_at(s, r)->rank, NULL, r};
    const row_tree *t = &s->tree;
    k.group = t->grouped ? t->groups[t->rank_group[r]].order : 0;
    if (s->v.order == ORDER_BUSY) {
        k.first = -busy_of(s, r);
    } else if (s->v.order == ORDER_HEAT) {
        k.first = heat_order_key(s, r);
    } else if (s->v.order == ORDER_NAME) {
        k.name = rank_at(s, r)->label;
    }
    return k;
}

static int by_group_order(const void *pa, const void *pb)
{
    const rank_group *a = pa;
    const rank_group *b = pb;
    return a->order < b->order ? -1 : a->order > b->order;
}

/* Ranks by group, each group's in the view's order. */
static void sort_ranks(scene *s)
{
    row_tree *t = &s->tree;
    size_t n = s->model->n_ranks;
    order_key *keys = mem_alloc((n + 1) * sizeof *keys);
    for (uint32_t r = 0; r < n; r++) {
        keys[r] = order_of(s, r);
    }
    qsort(keys, n, sizeof *keys, by_order);
    if (t->n_groups > 1) {
        qsort(t->groups, t->n_groups, sizeof *t->groups, by_group_order);
    }
    uint32_t g = UINT32_MAX;
    for (uint32_t i = 0; i < n; i++) {
        t->group_ranks[i] = keys[i].rank;
        if (t->grouped && (i == 0 || keys[i].group != keys[i - 1].group)) {
            g++;
            t->groups[g].first = i;
            t->groups[g].n = 0;
        }
        t->rank_group[keys[i].rank] = t->grouped ? g : NO_ID;
        if (t->grouped) {
            t->groups[g].n++;
        }
    }
    free(keys);
}

static void make_groups(scene *s)
{
    row_tree *t = &s->tree;
    clear_groups(t);
    t->grouped = (s->v.grouping == GROUP_BY_STAGE && s->has_stages) || (s->v.grouping == GROUP_BY_HOST && s->has_hosts);
    if (t->grouped) {
        map64 by_key = {0};
        for (uint32_t r = 0; r < s->model->n_ranks; r++) {
            t->rank_group[r] = find_group(s, &by_key, r);
        }
        map64_deinit(&by_key);
    }
    sort_ranks(s);
    if (t->n_groups > t->cap_open_groups) {
        t->open_groups = mem_realloc_array(t->open_groups, t->n_groups, 1);
        memset(t->open_groups + t->cap_open_groups, OPEN_DEFAULT, t->n_groups - t->cap_open_groups);
        t->cap_open_groups = t->n_groups;
    }
}

/* ------------------------------------------------------------------ which are shown */

static bool lane_is_row(const scene *s, const trace_lane *lane, bool has_device)
{
    if (kind_is_derived(lane->kind) || lane->kind == KIND_COUNTER || lane->n_tracks == 0) {
        return false;
    }
    return kind_is_device(lane->kind) || !has_device || s->v.show_cpu;
}

static bool has_device(const scene *s, uint32_t r)
{
    for (uint32_t i = 0; i < rank_at(s, r)->n_lanes; i++) {
        if (kind_is_device(s->model->lanes[rank_at(s, r)->first_lane + i].kind)) {
            return true;
        }
    }
    return false;
}

/* One word of the pattern: "all", "rank:5", "stage:2", "lane:17", or a glob on labels; "rank 5/stream*": on a lane's
 * below that of its rank. */
static bool word_matches(const scene *s, const char *word, size_t n, uint32_t rank, uint32_t lane, const char *label)
{
    static const char *const prefixes[] = {"rank:", "stage:", "lane:"};
    if (n == 3 && memcmp(word, "all", 3) == 0) {
        return true;
    }
    for (int k = 0; k < 3; k++) {
        size_t len = strlen(prefixes[k]);
        if (n <= len || memcmp(word, prefixes[k], len) != 0) {
            continue;
        }
        long long number = strtoll(word + len, NULL, 10);
        int64_t is =
            k == 0 ? (lane == NO_ID ? rank_at(s, rank)->rank : -1)
                   : (k == 1 ? (lane == NO_ID ? rank_at(s, rank)->stage : -1) : (lane == NO_ID ? -1 : (int64_t)lane));
        return number == is;
    }
    const char *slash = lane == NO_ID ? NULL : memchr(word, '/', n);
    size_t before = slash ? (size_t)(slash - word) : 0;
    if (slash && glob_match(word, before, rank_at(s, rank)->label) && glob_match(slash + 1, n - before - 1, label)) {
        return true;
    }
    return glob_match(word, n, label);
}

static bool pattern_matches(const scene *s, uint32_t rank, uint32_t lane, const char *label)
{
    const char *p = s->v.rows_pattern;
    while (*p) {
        size_t n = strcspn(p, ",");
        const char *word = p;
        size_t len = n;
        while (len > 0 && *word == ' ') {
            word++;
            len--;
        }
        while (len > 0 && word[len - 1] == ' ') {
            len--;
        }
        if (len > 0 && word_matches(s, word, len, rank, lane, label)) {
            return true;
        }
        p += n + (p[n] == ',');
    }
    return false;
}

/* Case-insensitive glob with '*' and '?'; steps back to the last star only, so the cost is bounded by n * m. */
bool glob_match(const char *pattern, size_t n, const char *text)
{
    size_t p = 0;
    size_t star = SIZE_MAX;
    const char *mark = text;
    while (*text) {
        char a = p < n ? pattern[p] : '\0';
        char low_a = (char)(a >= 'A' && a <= 'Z' ? a + 32 : a);
        char low_b = (char)(*text >= 'A' && *text <= 'Z' ? *text + 32 : *text);
        if (p < n && a == '*') {
            star = p++;
            mark = text;
        } else if (p < n && (a == '?' || low_a == low_b)) {
            p++;
            text++;
        } else if (star != SIZE_MAX) {
            p = star + 1;
            text = ++mark;
        } else {
            return false;
        }
    }
    while (p < n && pattern[p] == '*') {
        p++;
    }
    return p == n;
}

/* ------------------------------------------------------------------ flattening */

enum { SMALL_RUN_RANKS = 8, OPENED_ROWS = 56 };

static scene_row *push_row(row_tree *t, row_kind kind, uint32_t id, uint32_t rank, uint32_t group, uint8_t indent)
{
    scene_row row = {.kind = (uint8_t)kind, .indent = indent, .id = id, .rank = rank, .group = group};
    VEC_PUSH(t->rows, t->n_rows, t->cap_rows, row);
    return &t->rows[t->n_rows - 1];
}

static bool lane_is_open(const scene *s, uint32_t lane)
{
    uint8_t state = s->tree.open_lanes[lane];
    if (state != OPEN_DEFAULT) {
        return state == OPEN_YES;
    }
    const trace_lane *l = &s->model->lanes[lane];
    return s->model->n_ranks == 1 && s->tree.n_rows + l->n_tracks <= OPENED_ROWS;
}

static void push_lane(scene *s, uint32_t lane, uint32_t rank, uint8_t indent)
{
    const trace_lane *l = &s->model->lanes[lane];
    row_tree *t = &s->tree;
    bool open = l->n_tracks > 1 && lane_is_open(s, lane);
    scene_row *row = push_row(t, ROW_LANE, lane, rank, t->rank_group[rank], indent);
    row->has_children = l->n_tracks > 1;
    row->is_open = open;
    for (uint32_t k = 1; open && k < l->n_tracks; k++) {
        (void)push_row(t, ROW_TRACK, l->first_track + k, rank, t->rank_group[rank], (uint8_t)(indent + 1));
    }
}

/* Compute first, then what moves data, then the host. */
static int lane_place(trace_kind kind)
{
    static const int places[KIND_COUNT] = {
        [KIND_COMPUTE] = 0, [KIND_COMMUNICATION] = 1, [KIND_COPY] = 2, [KIND_ANNOTATION] = 4,
        [KIND_CPU] = 3,     [KIND_ASYNC] = 5,         [KIND_OTHER] = 6};
    return places[kind];
}

static void push_lanes(scene *s, uint32_t r, uint8_t indent, bool all)
{
    const trace_rank *rank = rank_at(s, r);
    bool device = has_device(s, r);
    for (int place = 0; place <= 6; place++) {
        for (uint32_t i = 0; i < rank->n_lanes; i++) {
            uint32_t lane = rank->first_lane + i;
            const trace_lane *l = &s->model->lanes[lane];
            if (lane_place(l->kind) == place && lane_is_row(s, l, device) &&
                (all || pattern_matches(s, r, lane, l->name))) {
                push_lane(s, lane, r, indent);
            }
        }
    }
    for (uint32_t i = s->rank_first_counter[r]; i < s->rank_first_counter[r + 1]; i++) {
        uint32_t c = s->rank_counters[i];
        if (all || pattern_matches(s, r, NO_ID, s->model->counters[c].name)) {
            (void)push_row(&s->tree, ROW_COUNTER, c, r, s->tree.rank_group[r], indent);
        }
    }
}

static bool has_counters(const scene *s, uint32_t r)
{
    return s->rank_first_counter[r] < s->rank_first_counter[r + 1];
}

/* Of the rank's lanes and counters. */
static bool any_lane_matches(const scene *s, uint32_t r)
{
    const trace_rank *rank = rank_at(s, r);
    bool device = has_device(s, r);
    for (uint32_t i = 0; i < rank->n_lanes; i++) {
        const trace_lane *l = &s->model->lanes[rank->first_lane + i];
        if (lane_is_row(s, l, device) && pattern_matches(s, r, rank->first_lane + i, l->name)) {
            return true;
        }
    }
    for (uint32_t i = s->rank_first_counter[r]; i < s->rank_first_counter[r + 1]; i++) {
        if (pattern_matches(s, r, NO_ID, s->model->counters[s->rank_counters[i]].name)) {
            return true;
        }
    }
    return false;
}

static bool rank_is_open(const scene *s, uint32_t r)
{
    uint8_t state = s->tree.open_ranks[r];
    if (state != OPEN_DEFAULT) {
        return state == OPEN_YES;
    }
    if (s->v.layout == LAYOUT_MAREY || s->v.layout == LAYOUT_STEPS) {
        return false; /* bands join ranks that are neighbours on screen */
    }
    return s->model->n_ranks <= SMALL_RUN_RANKS && !s->tree.grouped;
}

static void push_rank(scene *s, uint32_t r, uint8_t indent, bool whole)
{
    row_tree *t = &s->tree;
    scene_row *row = push_row(t, ROW_RANK, r, r, t->rank_group[r], indent);
    row->has_children = rank_at(s, r)->n_lanes > 0 || has_counters(s, r);
    row->is_open = row->has_children && (!whole || rank_is_open(s, r));
    if (row->is_open) {
        push_lanes(s, r, (uint8_t)(indent + 1), whole);
    }
}

/* 0: not shown; 1: only matching lanes; 2: whole. */
static int rank_shown(const scene *s, uint32_t r)
{
    if (s->v.rows_pattern[0] == '\0') {
        return 2;
    }
    const row_tree *t = &s->tree;
    if (pattern_matches(s, r, NO_ID, rank_at(s, r)->label) ||
        (t->grouped && pattern_matches(s, r, NO_ID, t->groups[t->rank_group[r]].name))) {
        return 2;
    }
    return any_lane_matches(s, r) ? 1 : 0;
}

static void push_group(scene *s, uint32_t g)
{
    row_tree *t = &s->tree;
    const rank_group *group = &t->groups[g];
    size_t at = SIZE_MAX;
    for (uint32_t i = 0; i < group->n; i++) {
        uint32_t r = t->group_ranks[group->first + i];
        int shown = rank_shown(s, r);
        if (shown == 0) {
            continue;
        }
        if (at == SIZE_MAX) {
            scene_row *row = push_row(t, ROW_GROUP, g, NO_ID, g, 0);
            row->has_children = true;
            row->is_open = t->open_groups[g] != OPEN_NO;
            at = t->n_rows - 1;
        }
        if (t->rows[at].is_open) {
            push_rank(s, r, 1, shown == 2);
        }
    }
}

static void make_rows(scene *s)
{
    row_tree *t = &s->tree;
    t->n_rows = 0;
    if (t->grouped) {
        for (uint32_t g = 0; g < t->n_groups; g++) {
            push_group(s, g);
        }
        return;
    }
    for (uint32_t i = 0; i < s->model->n_ranks; i++) {
        uint32_t r = t->group_ranks[i];
        int shown = rank_shown(s, r);
        if (shown != 0) {
            push_rank(s, r, 0, shown == 2);
        }
    }
}

void tree_init(scene *s)
{
    row_tree *t = &s->tree;
    t->group_ranks = mem_calloc(s->model->n_ranks + 1, sizeof *t->group_ranks);
    t->rank_group = mem_calloc(s->model->n_ranks + 1, sizeof *t->rank_group);
    t->open_ranks = mem_calloc(s->model->n_ranks + 1, 1);
    t->open_lanes = mem_calloc(s->model->n_lanes + 1, 1);
}

void tree_deinit(scene *s)
{
    row_tree *t = &s->tree;
    clear_groups(t);
    free(t->groups);
    free(t->group_ranks);
    free(t->rank_group);
    free(t->open_groups);
    free(t->open_ranks);
    free(t->open_lanes);
    free(t->rows);
}

void tree_update(scene *s)
{
    row_tree *t = &s->tree;
    const view *v = &s->v;
    uint64_t sorting = heat_sorting(s);
    bool regroup = !t->made || t->grouping != v->grouping || t->order != v->order || t->sorting != sorting;
    if (regroup) {
        make_groups(s);
    } else if (t->layout == v->layout && t->show_cpu == v->show_cpu && strcmp(t->pattern, v->rows_pattern) == 0) {
        return;
    }
    make_rows(s);
    t->made = true;
    t->grouping = v->grouping;
    t->order = v->order;
    t->sorting = sorting;
    t->layout = v->layout;
    t->show_cpu = v->show_cpu;
    memcpy(t->pattern, v->rows_pattern, sizeof t->pattern);
}

const uint32_t *row_tracks(const scene *s, const scene_row *row, uint32_t *n, uint32_t *scratch_first)
{
    *n = 0;
    if (row->kind == ROW_RANK) {
        *n = s->rank_first_track[row->id + 1] - s->rank_first_track[row->id];
        return s->device_tracks + s->rank_first_track[row->id];
    }
    if (row->kind == ROW_TRACK) {
        *scratch_first = row->id;
        *n = 1;
        return scratch_first;
    }
    if (row->kind != ROW_LANE) {
        return NULL;
    }
    const trace_lane *lane = &s->model->lanes[row->id];
    uint32_t count = row->is_open ? 1 : lane->n_tracks;
    uint32_t *list = scratch_first;
    if (count > 1) {
        list = arena_alloc((arena *)(uintptr_t)&s->scratch, count * sizeof *list);
    }
    for (uint32_t i = 0; i < count; i++) {
        list[i] = lane->first_track + i;
    }
    *n = count;
    return list;
}

/* ------------------------------------------------------------------ opening and closing */

bool scene_toggle_row(scene *s, uint32_t row)
{
    row_tree *t = &s->tree;
    if (row >= t->n_rows || !t->rows[row].has_children) {
        return false;
    }
    uint8_t *state = t->rows[row].kind == ROW_GROUP ? t->open_groups : t->open_ranks;
    state = t->rows[row].kind == ROW_LANE ? t->open_lanes : state;
    state[t->rows[row].id] = t->rows[row].is_open ? OPEN_NO : OPEN_YES;
    make_rows(s);
    return true;
}

void scene_reveal_rank(scene *s, uint32_t rank)
{
    row_tree *t = &s->tree;
    if (!t->made || !t->grouped || rank >= s->model->n_ranks || t->rank_group[rank] >= t->n_groups) {
        return;
    }
    t->open_groups[t->rank_group[rank]] = OPEN_YES;
    make_rows(s);
}

bool scene_rank_place(const scene *s, uint32_t rank, double *y_px, double *h_px)
{
    double scale = s->in.scale > 0 ? s->in.scale : 1;
    for (size_t i = 0; i < s->tree.n_rows; i++) {
        const scene_row *row = &s->tree.rows[i];
        if (row->kind == ROW_RANK && row->id == rank) {
            *y_px = row->y / scale;
            *h_px = row->h / scale;
            return true;
        }
    }
    return false;
}

void scene_open_all(scene *s, int depth)
{
    row_tree *t = &s->tree;
    if (!t->made) {
        tree_update(s);
    }
    if (t->cap_open_groups > 0) {
        memset(t->open_groups, depth >= 1 ? OPEN_YES : OPEN_NO, t->cap_open_groups);
    }
    memset(t->open_ranks, depth >= 2 ? OPEN_YES : OPEN_NO, s->model->n_ranks);
    memset(t->open_lanes, depth >= 3 ? OPEN_YES : OPEN_NO, s->model->n_lanes);
    make_rows(s);
}

size_t scene_row_count(const scene *s)
{
    return s->tree.n_rows;
}
