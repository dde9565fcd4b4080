/* Events that name their operator by a number, and what runs on devices on their behalf: a kernel belongs to the
 * innermost operator that was running on the thread when it was launched. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "scene/graph_joining.h"

#define JOIN_MAX_ARGS UINT64_C(4000000)

/* An event with a number that a node has. */
typedef struct numbered {
    uint64_t row;
    int64_t start_ns, end_ns;
    uint32_t node, rank, thread;
    bool is_named; /* its name is the node's, too */
    bool is_host;
} numbered;

typedef struct numbers {
    joining *w;
    map64 by_key;
    numbered *items;
    size_t n, cap;
    uint32_t *nodes; /* of the block that is read: per event, GRAPH_NONE: none */
} numbers;

/* The number behind "External id" or "Record function id" in the event's arguments; -1: none. */
static int64_t external_id(const char *s)
{
    const char *at = strstr(s, "\"External id\"");
    at = at ? at + 13 : (at = strstr(s, "\"Record function id\"")) ? at + 20 : NULL;
    if (!at) {
        return -1;
    }
    at += strspn(at, " :\"");
    char *end = NULL;
    long long v = strtoll(at, &end, 10);
    return end > at && v > 0 ? (int64_t)v : -1;
}

static bool take_number(void *ctx, uint32_t index, const char *text, size_t n)
{
    numbers *k = ctx;
    int64_t id = n > 0 && index < BLOCK_EVENTS ? external_id(text) : -1;
    const uint64_t *place = id > 0 ? map64_get(&k->by_key, (uint64_t)id) : NULL;
    if (place) {
        k->nodes[index] = (uint32_t)(*place - 1);
    }
    return true;
}

static void take_events(numbers *k, const store_block_info *b, const store_columns *c)
{
    const trace_model *m = store_model(k->w->file);
    const graph *g = k->w->g;
    for (uint32_t t = 0; t < b->n_tracks; t++) {
        const trace_lane *lane = &m->lanes[m->tracks[b->tracks[t]].lane];
        for (uint32_t i = b->offsets[t]; i < b->offsets[t + 1] && i < c->n; i++) {
            uint32_t node = k->nodes[i];
            if (node == GRAPH_NONE) {
                continue;
            }
            const char *name = c->name[i] < m->n_names ? m->names[c->name[i]].text : "";
            numbered e = {b->first_row + i, c->start_ns[i], c->start_ns[i] + c->dur_ns[i], node, lane->rank,
                          lane->thread,     false,          !kind_is_device(lane->kind)};
            e.is_named = strcmp(name, graph_string(g, g->node_name[node])) == 0 ||
                         strcmp(name, graph_string(g, g->node_op[node])) == 0;
            VEC_PUSH(k->items, k->n, k->cap, e);
        }
    }
}

static void read_numbers(numbers *k)
{
    store_file *f = k->w->file;
    uint64_t left = JOIN_MAX_ARGS;
    store_columns c = {0};
    k->nodes = mem_alloc(BLOCK_EVENTS * sizeof *k->nodes);
    for (size_t b = 0; b < store_n_blocks(f) && !is_cancelled(k->w->cancel); b++) {
        store_block_info info = store_block(f, (uint32_t)b);
        if (store_group_at(f, info.group).kind != GROUP_EVENTS || info.n > left || info.is_damaged) {
            continue;
        }
        left -= info.n;
        memset(k->nodes, 0xFF, BLOCK_EVENTS * sizeof *k->nodes);
        if (store_read_block_args(f, (uint32_t)b, take_number, k, NULL) == MAREY_OK &&
            store_read_block(f, (uint32_t)b, COL_START | COL_DUR | COL_NAME, &c, NULL) == MAREY_OK) {
            take_events(k, &info, &c);
        }
    }
    store_columns_free(&c);
    free(k->nodes);
}

/* Numbers are each rank's own. A graph was recorded on one: ranks whose events bear other names are not meant. And an
 * event whose name differs is launched by the operator at most; that is found by time. */
static void keep_matching(numbers *k)
{
    size_t n_ranks = store_model(k->w->file)->n_ranks;
    uint32_t *named = mem_calloc(n_ranks + 1, sizeof *named);
    uint32_t *host = mem_calloc(n_ranks + 1, sizeof *host);
    for (size_t i = 0; i < k->n; i++) {
        if (k->items[i].rank < n_ranks && k->items[i].is_host) {
            host[k->items[i].rank]++;
            named[k->items[i].rank] += k->items[i].is_named;
        }
    }
    size_t n = 0;
    for (size_t i = 0; i < k->n; i++) {
        uint32_t r = k->items[i].rank;
        if (r < n_ranks && 2 * named[r] > host[r] && k->items[i].is_named && k->items[i].is_host) {
            k->items[n++] = k->items[i];
        }
    }
    k->n = n;
    free(named);
    free(host);
}

/* ------------------------------------------------------------------ what they launched */

typedef struct launch {
    uint64_t to_row;
    int64_t start_ns;
    uint32_t thread;
} launch;

static int by_thread_and_start(const void *pa, const void *pb)
{
    const numbered *a = pa;
    const numbered *b = pb;
    if (a->thread != b->thread) {
        return a->thread < b->thread ? -1 : 1;
    }
    if (a->start_ns != b->start_ns) {
        return a->start_ns < b->start_ns ? -1 : 1;
    }
    return (a->end_ns < b->end_ns) - (a->end_ns > b->end_ns); /* what is around comes first */
}

static int launch_order(const void *pa, const void *pb)
{
    const launch *a = pa;
    const launch *b = pb;
    if (a->thread != b->thread) {
        return a->thread < b->thread ? -1 : 1;
    }
    return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

static launch *read_launches(joining *w, size_t *n)
{
    const trace_model *m = store_model(w->file);
    uint64_t *from = NULL;
    uint64_t *to = NULL;
    size_t count = 0;
    *n = 0;
    if (m->n_links == 0 || m->n_links > JOIN_MAX_ARGS ||
        store_read_launches(w->file, &from, &to, &count, NULL) != MAREY_OK) {
        return NULL;
    }
    launch *list = mem_alloc((count + 1) * sizeof *list);
    for (size_t i = 0; i < count && !is_cancelled(w->cancel); i++) {
        store_event_info e;
        if (store_read_event(w->file, from[i], &e, NULL) == MAREY_OK && e.track < m->n_tracks) {
            list[(*n)++] = (launch){to[i], e.start_ns, m->lanes[m->tracks[e.track].lane].thread};
        }
    }
    free(from);
    free(to);
    return list;
}

/* Both lists by thread and time; what is open lies on a stack. */
static void add_launched(numbers *k)
{
    size_t n_launches = 0;
    launch *list = read_launches(k->w, &n_launches);
    if (list) {
        qsort(list, n_launches, sizeof *list, launch_order);
    }
    size_t n = k->n;
    uint32_t *stack = mem_alloc((n + 1) * sizeof *stack);
    size_t depth = 0;
    size_t next = 0;
    for (size_t i = 0; i < n_launches; i++) {
        const launch *l = &list[i];
        while (next < n && (k->items[next].thread < l->thread ||
                            (k->items[next].thread == l->thread && k->items[next].start_ns <= l->start_ns))) {
            stack[depth++] = (uint32_t)next++;
        }
        while (depth > 0 &&
               (k->items[stack[depth - 1]].thread != l->thread || k->items[stack[depth - 1]].end_ns <= l->start_ns)) {
            depth--;
        }
        if (depth > 0) {
            numbered e = {.row = l->to_row, .node = k->items[stack[depth - 1]].node};
            VEC_PUSH(k->items, k->n, k->cap, e);
        }
    }
    free(stack);
    free(list);
}

static int by_row(const void *pa, const void *pb)
{
    const numbered *a = pa;
    const numbered *b = pb;
    return (a->row > b->row) - (a->row < b->row);
}

static void give_rows(numbers *k)
{
    graph_join *j = k->w->j;
    qsort(k->items, k->n, sizeof *k->items, by_row);
    j->rows = mem_alloc((k->n + 1) * sizeof *j->rows);
    j->row_node = mem_alloc((k->n + 1) * sizeof *j->row_node);
    for (size_t i = 0; i < k->n; i++) {
        if (j->n_rows == 0 || j->rows[j->n_rows - 1] != k->items[i].row) {
            j->rows[j->n_rows] = k->items[i].row;
            j->row_node[j->n_rows++] = k->items[i].node;
        }
    }
}

void graph_join_numbers(joining *w)
{
    const graph *g = w->g;
    numbers k = {.w = w};
    if (strcmp(graph_string(g, g->format), "execution-trace") != 0) {
        return;
    }
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        if (g->node_key[i] > 0) {
            *map64_put(&k.by_key, (uint64_t)g->node_key[i]) = (uint64_t)i + 1;
        }
    }
    if (k.by_key.n > 0) {
        read_numbers(&k);
        keep_matching(&k);
        if (k.n > 0) {
            qsort(k.items, k.n, sizeof *k.items, by_thread_and_start);
            add_launched(&k);
            give_rows(&k);
        }
    }
    map64_deinit(&k.by_key);
    free(k.items);
}
