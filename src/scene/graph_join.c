/* Which events of a run are which operator of a graph. */
#include "scene/graph_join.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "scene/graph_joining.h"

enum { KEY_CAP = 512 };
#define JOIN_MAX_EVENTS UINT64_C(60000000)

/* ------------------------------------------------------------------ by name */

/* What names are compared by, when they are not equal as they stand: without the sign before HLO names, without what
 * stands before the scope, with one kind of separator, in lower case. */
static size_t normal_name(const char *s, char *out, size_t cap)
{
    static const char *const before[] = {"Default/", "default/", "Gradients/", "kernel_graph/"};
    s += *s == '%' || *s == '/';
    for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
        size_t n = strlen(before[i]);
        s += strncmp(s, before[i], n) == 0 ? n : 0;
    }
    size_t n = 0;
    for (; *s && n + 1 < cap; s++) {
        char c = *s == '.' || *s == ':' ? '/' : (char)tolower((unsigned char)*s);
        if (c != '/' || (n > 0 && out[n - 1] != '/')) {
            out[n++] = c;
        }
    }
    out[n] = '\0';
    return n;
}

static const char *last_part(const char *s)
{
    const char *slash = strrchr(s, '/');
    return slash && slash[1] ? slash + 1 : s;
}

/* A name that several nodes have tells nothing: its place is taken by TWICE. */
#define TWICE (UINT64_MAX)

static void put_key(map64 *m, const char *s, size_t n, uint32_t node)
{
    if (n == 0) {
        return;
    }
    uint64_t *place = map64_put(m, hash_bytes(s, n));
    if (*place == 0) {
        *place = (uint64_t)node + 1;
    } else if (*place != (uint64_t)node + 1) {
        *place = TWICE;
    }
}

static uint32_t find_key(const map64 *m, const char *s, size_t n)
{
    const uint64_t *place = n > 0 ? map64_get(m, hash_bytes(s, n)) : NULL;
    return place && *place != TWICE ? (uint32_t)(*place - 1) : GRAPH_NONE;
}

/* Full names as they are; normalised, with their scope; and their last parts where those are unique. */
typedef struct name_maps {
    map64 exact, normal, last;
} name_maps;

static bool tells_instance(const char *s)
{
    for (; *s; s++) {
        if (isdigit((unsigned char)*s)) {
            return true; /* "MatMul-op12", "fusion.3": more than a type */
        }
    }
    return false;
}

static void put_names(name_maps *m, const graph *g, uint32_t node, const char *name)
{
    char key[KEY_CAP];
    put_key(&m->exact, name, strlen(name), node);
    put_key(&m->normal, key, normal_name(name, key, sizeof key), node);
    const char *last = last_part(name);
    if (tells_instance(last)) {
        put_key(&m->last, key, normal_name(last, key, sizeof key), node);
    }
    strbuf path = {0};
    graph_scope_path(g, g->node_scope[node], &path);
    if (path.n > 0) {
        strbuf_printf(&path, "/%s", last);
        put_key(&m->normal, key, normal_name(path.s, key, sizeof key), node);
    }
    strbuf_deinit(&path);
}

static void make_names(const graph *g, name_maps *m, cancel_flag *cancel)
{
    memset(m, 0, sizeof *m);
    for (uint32_t i = 0; i < g->n_nodes && !((i & 1023) == 0 && is_cancelled(cancel)); i++) {
        if (g->node_role[i] != GRAPH_OPERATOR) {
            continue;
        }
        const char *name = graph_string(g, g->node_name[i]);
        if (name[0]) {
            put_names(m, g, i, name);
        }
        const char *op_name = graph_attr(g, i, "op_name");
        if (op_name && op_name[0]) {
            put_key(&m->exact, op_name, strlen(op_name), i);
        }
    }
}

static uint32_t node_by_name(const name_maps *m, const char *name)
{
    char key[KEY_CAP];
    uint32_t node = find_key(&m->exact, name, strlen(name));
    if (node == GRAPH_NONE) {
        node = find_key(&m->normal, key, normal_name(name, key, sizeof key));
    }
    const char *last = last_part(name);
    if (node == GRAPH_NONE && tells_instance(last)) {
        node = find_key(&m->last, key, normal_name(last, key, sizeof key));
    }
    return node;
}

static size_t join_names(joining *w)
{
    name_maps m;
    const trace_model *t = store_model(w->file);
    make_names(w->g, &m, w->cancel);
    size_t n = 0;
    w->j->n_names = t->n_names;
    w->j->node_of_name = mem_alloc((t->n_names + 1) * sizeof *w->j->node_of_name);
    for (size_t i = 0; i < t->n_names; i++) {
        w->j->node_of_name[i] = node_by_name(&m, t->names[i].text);
        n += w->j->node_of_name[i] != GRAPH_NONE;
    }
    map64_deinit(&m.exact);
    map64_deinit(&m.normal);
    map64_deinit(&m.last);
    return n;
}

/* ------------------------------------------------------------------ times */

uint32_t graph_join_node(const graph_join *j, uint64_t row, uint32_t name)
{
    size_t low = 0;
    size_t high = j->n_rows;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (j->rows[middle] < row) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low < j->n_rows && j->rows[low] == row) {
        return j->row_node[low];
    }
    return name < j->n_names ? j->node_of_name[name] : GRAPH_NONE;
}

static void add_time(joining *w, uint32_t node, const trace_lane *lane, uint64_t row, int64_t start, int64_t dur,
                     int64_t *earliest)
{
    node_time *t = &w->j->times[node];
    bool device = kind_is_device(lane->kind);
    if (device && !w->has_device[node]) { /* what the host does for it does not count any more */
        *t = (node_time){0};
        w->has_device[node] = 1;
    } else if (!device && w->has_device[node]) {
        return;
    }
    if (t->n == 0 || start < earliest[node]) {
        earliest[node] = start;
        t->first_row = row;
    }
    if (t->n == 0 || dur > t->max_ns) {
        t->max_ns = dur;
        t->max_row = row;
        t->max_rank = lane->rank;
    }
    t->min_ns = t->n == 0 || dur < t->min_ns ? dur : t->min_ns;
    t->sum_ns += dur;
    t->n++;
}

static void add_block(joining *w, const store_block_info *b, const store_columns *c, int64_t *earliest)
{
    const trace_model *m = store_model(w->file);
    for (uint32_t k = 0; k < b->n_tracks; k++) {
        const trace_lane *lane = &m->lanes[m->tracks[b->tracks[k]].lane];
        for (uint32_t i = b->offsets[k]; i < b->offsets[k + 1] && i < c->n; i++) {
            uint32_t node = graph_join_node(w->j, b->first_row + i, c->name[i]);
            if (node < w->j->n_nodes) {
                add_time(w, node, lane, b->first_row + i, c->start_ns[i], c->dur_ns[i], earliest);
            }
        }
    }
}

static void add_times(joining *w)
{
    graph_join *j = w->j;
    store_columns c = {0};
    int64_t *earliest = mem_calloc(j->n_nodes + 1, sizeof *earliest);
    uint64_t left = JOIN_MAX_EVENTS;
    for (size_t b = 0; b < store_n_blocks(w->file) && !is_cancelled(w->cancel); b++) {
        store_block_info info = store_block(w->file, (uint32_t)b);
        bool wanted = store_group_at(w->file, info.group).kind == GROUP_EVENTS && info.n <= left;
        if (wanted && store_group_load(w->file, info.group, NULL) == MAREY_OK) {
            info = store_block(w->file, (uint32_t)b);
            wanted = !info.is_damaged;
        }
        if (wanted && store_read_block(w->file, (uint32_t)b, COL_START | COL_DUR | COL_NAME, &c, NULL) == MAREY_OK) {
            left -= info.n;
            add_block(w, &info, &c, earliest);
        }
    }
    for (size_t i = 0; i < j->n_nodes; i++) {
        j->n_joined_nodes += j->times[i].n > 0;
        j->n_joined_events += j->times[i].n;
    }
    store_columns_free(&c);
    free(earliest);
}

/* A number for each node that the run states by its name. */
static void add_flops(joining *w)
{
    store_metric *list = NULL;
    size_t n = 0;
    if (store_model(w->file)->n_metrics == 0 ||
        store_read_metrics(w->file, METRIC_FLOPS, &list, &n, NULL) != MAREY_OK || n == 0) {
        free(list);
        return;
    }
    name_maps m;
    make_names(w->g, &m, w->cancel);
    for (size_t i = 0; i < n; i++) {
        uint32_t node = list[i].name == NO_ID ? GRAPH_NONE : node_by_name(&m, store_string(w->file, list[i].name));
        if (node != GRAPH_NONE) {
            w->j->flops = w->j->flops ? w->j->flops : mem_calloc(w->g->n_nodes + 1, sizeof *w->j->flops);
            w->j->flops[node] = fmax(w->j->flops[node], list[i].value);
        }
    }
    map64_deinit(&m.exact);
    map64_deinit(&m.normal);
    map64_deinit(&m.last);
    free(list);
}

int32_t *graph_join_stages(const graph *g, const trace_model *m)
{
    map64 stages = {0}; /* rank -> stage + 2 */
    for (size_t i = 0; i < g->n_stages; i++) {
        for (uint32_t k = 0; k < g->stages[i].n_ranks; k++) {
            *map64_put(&stages, g->stage_ranks[g->stages[i].first_rank + k]) = (uint64_t)(g->stages[i].stage + 2);
        }
    }
    int32_t *list = mem_alloc((m->n_ranks + 1) * sizeof *list);
    for (size_t i = 0; i < m->n_ranks; i++) {
        const uint64_t *stage = map64_get(&stages, (uint64_t)m->ranks[i].rank);
        list[i] = stage ? (int32_t)*stage - 2 : m->ranks[i].stage;
    }
    map64_deinit(&stages);
    return list;
}

/* An operator of a stage runs on the ranks of that stage only. */
static void add_stage_runs(joining *w)
{
    const trace_model *m = store_model(w->file);
    const graph *g = w->g;
    double *runs = mem_calloc(g->n_stages + 1, sizeof *runs);
    size_t *steps = mem_calloc(m->n_ranks + 1, sizeof *steps);
    for (size_t i = 0; i < m->n_steps; i++) {
        steps[m->steps[i].rank]++;
    }
    int32_t *stages = graph_join_stages(g, m);
    for (size_t i = 0; i < m->n_ranks; i++) {
        for (size_t k = 0; k < g->n_stages; k++) {
            runs[k] += g->stages[k].stage != stages[i] ? 0 : m->n_steps > 0 ? (double)steps[i] : 1;
        }
    }
    free(stages);
    free(steps);
    w->j->stage_runs = runs;
    w->j->n_stages = g->n_stages;
    if (g->node_stage) {
        w->j->node_stage = mem_alloc((g->n_nodes + 1) * sizeof *w->j->node_stage);
        memcpy(w->j->node_stage, g->node_stage, g->n_nodes * sizeof *w->j->node_stage);
    }
}

/* One rank's step: its mean over all, and how many there are. */
static void add_steps(joining *w)
{
    const trace_model *m = store_model(w->file);
    double sum = 0;
    size_t n = 0;
    w->j->step = m->n_steps > 0 ? m->steps[0].index : -1;
    for (size_t i = 0; i < m->n_steps; i++) {
        const trace_step *s = &m->steps[i];
        bool device = s->device_end_ns > s->device_start_ns;
        sum += (double)(device ? s->device_end_ns - s->device_start_ns : s->end_ns - s->start_ns);
        n++;
        w->j->step = s->index == m->steps[0].index ? w->j->step : -1;
    }
    w->j->step_ns = n > 0 ? sum / (double)n : (double)m->duration_ns;
    w->j->n_runs = fmax(n > 0 ? (double)n : (double)m->n_ranks, 1);
}

graph_join *graph_join_make(store_file *f, const graph *g, cancel_flag *cancel)
{
    if (!f || store_model(f)->n_events == 0) {
        return NULL;
    }
    graph_join *j = mem_calloc(1, sizeof *j);
    joining w = {f, g, j, cancel, mem_calloc(g->n_nodes + 1, 1)};
    j->n_nodes = g->n_nodes;
    j->times = mem_calloc(g->n_nodes + 1, sizeof *j->times);
    size_t n = join_names(&w);
    graph_join_numbers(&w);
    if (n == 0 && j->n_rows == 0) {
        graph_join_places(&w);
    }
    if ((n > 0 || j->n_rows > 0) && !is_cancelled(cancel)) {
        add_times(&w);
        add_flops(&w);
        add_steps(&w);
        add_stage_runs(&w);
    }
    free(w.has_device);
    if (j->n_joined_nodes == 0 || is_cancelled(cancel)) {
        graph_join_free(&j);
    }
    return j;
}

void graph_join_free(graph_join **pj)
{
    graph_join *j = *pj;
    if (j) {
        free(j->times);
        free(j->node_of_name);
        free(j->rows);
        free(j->row_node);
        free(j->flops);
        free(j->stage_runs);
        free(j->node_stage);
        free(j);
        *pj = NULL;
    }
}
