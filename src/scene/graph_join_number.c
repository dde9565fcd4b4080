/* Events that name their operator by a number, and what runs on devices on their behalf: a kernel belongs to the
 * innermost operator that was running on the thread when it was launched. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "scene/graph_joining.h"

#define JOIN_MAX_ARGS UINT64_C(4000000)

/* Where profilers write the number. Kineto's own index counts from one. */
enum { NUMBER_FIELDS = 3, NUMBER_WAYS = 5 };
static const char *const fields[NUMBER_FIELDS] = {"\"Record function id\"", "\"External id\"", "\"Ev Idx\""};
static const struct {
    uint8_t field;
    int8_t shift; /* from the event's number to the node's */
} ways[NUMBER_WAYS] = {{0, 0}, {1, 0}, {2, -1}, {1, -1}, {2, 0}};

/* A host event that bears a number. */
typedef struct numbered {
    uint64_t row;
    int64_t start_ns, end_ns;
    int64_t ids[NUMBER_FIELDS]; /* -1: none */
    uint32_t node, rank, thread, name;
} numbered;

typedef struct numbers {
    joining *w;
    map64 by_key;
    numbered *items;
    size_t n, cap;
    int64_t (*ids)[NUMBER_FIELDS]; /* of the events of the block that is read */
} numbers;

static int64_t number_behind(const char *s, const char *field)
{
    const char *at = strstr(s, field);
    if (!at) {
        return -1;
    }
    at += strlen(field);
    at += strspn(at, " :\"");
    char *end = NULL;
    long long v = strtoll(at, &end, 10);
    return end > at && v > 0 ? (int64_t)v : -1;
}

static bool take_number(void *ctx, uint32_t index, const char *text, size_t n)
{
    numbers *k = ctx;
    for (int f = 0; n > 0 && index < BLOCK_EVENTS && f < NUMBER_FIELDS; f++) {
        k->ids[index][f] = number_behind(text, fields[f]);
    }
    return true;
}

static void take_events(numbers *k, const store_block_info *b, const store_columns *c)
{
    const trace_model *m = store_model(k->w->file);
    for (uint32_t t = 0; t < b->n_tracks; t++) {
        const trace_lane *lane = &m->lanes[m->tracks[b->tracks[t]].lane];
        for (uint32_t i = b->offsets[t]; i < b->offsets[t + 1] && i < c->n && !kind_is_device(lane->kind); i++) {
            const int64_t *id = k->ids[i];
            if (id[0] >= 0 || id[1] >= 0 || id[2] >= 0) {
                numbered e = {.row = b->first_row + i, .start_ns = c->start_ns[i], .node = GRAPH_NONE};
                e.end_ns = c->start_ns[i] + c->dur_ns[i];
                memcpy(e.ids, id, sizeof e.ids);
                e.rank = lane->rank;
                e.thread = lane->thread;
                e.name = c->name[i];
                VEC_PUSH(k->items, k->n, k->cap, e);
            }
        }
    }
}

static void read_numbers(numbers *k)
{
    store_file *f = k->w->file;
    uint64_t left = JOIN_MAX_ARGS;
    store_columns c = {0};
    k->ids = mem_alloc(BLOCK_EVENTS * sizeof *k->ids);
    for (size_t b = 0; b < store_n_blocks(f) && !is_cancelled(k->w->cancel); b++) {
        store_block_info info = store_block(f, (uint32_t)b);
        if (store_group_at(f, info.group).kind != GROUP_EVENTS || info.n > left || info.is_damaged) {
            continue;
        }
        left -= info.n;
        memset(k->ids, 0xFF, BLOCK_EVENTS * sizeof *k->ids);
        if (store_read_block_args(f, (uint32_t)b, take_number, k, NULL) == MAREY_OK &&
            store_read_block(f, (uint32_t)b, COL_START | COL_DUR | COL_NAME, &c, NULL) == MAREY_OK) {
            take_events(k, &info, &c);
        }
    }
    store_columns_free(&c);
    free(k->ids);
}

/* The node that the event means by one way of counting: of the same name, or it is another one. */
static uint32_t node_by(const numbers *k, const numbered *e, int way)
{
    const trace_model *m = store_model(k->w->file);
    int64_t id = e->ids[ways[way].field];
    const uint64_t *place = id >= 0 ? map64_get(&k->by_key, (uint64_t)(id + ways[way].shift)) : NULL;
    uint32_t node = place ? (uint32_t)(*place - 1) : GRAPH_NONE;
    const char *name = e->name < m->n_names ? m->names[e->name].text : "";
    bool same = place && strcmp(name, graph_string(k->w->g, k->w->g->node_name[node])) == 0;
    return same ? node : GRAPH_NONE;
}

/* Each rank counts for itself. By the way that finds most of its numbered events under the names of their nodes; a rank
 * of which no way finds a half did something else than was recorded. Ranks that run the same program agree. */
static void choose_nodes(numbers *k)
{
    size_t n_ranks = store_model(k->w->file)->n_ranks;
    uint32_t(*found)[NUMBER_WAYS] = mem_calloc(n_ranks + 1, sizeof *found);
    for (size_t i = 0; i < k->n; i++) {
        for (int w = 0; w < NUMBER_WAYS && k->items[i].rank < n_ranks; w++) {
            found[k->items[i].rank][w] += node_by(k, &k->items[i], w) != GRAPH_NONE;
        }
    }
    size_t n = 0;
    for (size_t i = 0; i < k->n; i++) {
        uint32_t rank = k->items[i].rank;
        int best = 0;
        for (int w = 1; w < NUMBER_WAYS && rank < n_ranks; w++) {
            best = found[rank][w] > found[rank][best] ? w : best;
        }
        bool fits = rank < n_ranks && 2 * (uint64_t)found[rank][best] > k->by_key.n;
        k->items[i].node = fits ? node_by(k, &k->items[i], best) : GRAPH_NONE;
        if (k->items[i].node != GRAPH_NONE) {
            k->items[n++] = k->items[i];
        }
    }
    k->n = n;
    free(found);
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
        if (graph_key_of(g, i) > 0) {
            *map64_put(&k.by_key, (uint64_t)graph_key_of(g, i)) = (uint64_t)i + 1;
        }
    }
    if (k.by_key.n > 0) {
        read_numbers(&k);
        choose_nodes(&k);
        if (k.n > 0) {
            qsort(k.items, k.n, sizeof *k.items, by_thread_and_start);
            add_launched(&k);
            give_rows(&k);
        }
    }
    map64_deinit(&k.by_key);
    free(k.items);
}
