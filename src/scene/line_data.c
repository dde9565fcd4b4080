#include "scene/line_data.h"

#include <ctype.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "store/query.h"

enum { MAX_SAMPLES = 1 << 22, KEPT_BYTES = 512 << 20 };
static const double MOST_RATE = 1e17; /* FLOP/s of one operator: more is an error of the input, and sums stay exact */

/* What the input states of one operator, on one rank or (rank NO_ID) on all: of the whole device, or of its parts. */
typedef enum device_part { PART_ALL, PART_CUBE, PART_VECTOR, PARTS } device_part;
typedef struct stated_sum {
    double sum;
    uint32_t n; /* the same operator may be stated several times */
} stated_sum;

typedef struct operator_rate {
    uint32_t rank;
    const char *name; /* lives as long as the file */
    stated_sum rate[PARTS], amount[PARTS];
    bool is_ambiguous; /* by its last name */
} operator_rate;

typedef enum line_state { LINE_ABSENT, LINE_QUEUED, LINE_READY } line_state;

typedef struct line_entry {
    rank_lines lines;
    uint8_t state;
    uint64_t used; /* frame */
} line_entry;

struct line_data {
    store_file *file;
    const trace_model *model;
    line_tracks tracks;
    pthread_t thread;
    bool is_started;
    uint64_t frame;
    cancel_flag cancel;

    /* the worker's own */
    operator_rate *operators;
    size_t n_operators, cap_operators;
    map64 by_name, by_last_name; /* -> index + 1 */
    bool has_operators_read;

    pthread_mutex_t lock; /* guards the rest */
    pthread_cond_t changed;
    line_entry *entries; /* [n_ranks] */
    uint32_t *queue;     /* [n_ranks] */
    size_t n_queue;
    bool is_working, stops;
    size_t bytes;
    void (*wake)(void *ctx);
    void *wake_ctx;
};

/* ------------------------------------------------------------------ memory */

static bool holds(const char *name, const char *word)
{
    for (const char *p = name; *p; p++) {
        size_t i = 0;
        while (word[i] && tolower((unsigned char)p[i]) == word[i]) {
            i++;
        }
        if (!word[i]) {
            return true;
        }
    }
    return false;
}

static bool ends_in(const char *name, const char *end)
{
    size_t n = strlen(name);
    size_t k = strlen(end);
    return n >= k && strcmp(name + n - k, end) == 0;
}

bool line_counter_is_memory(const char *name, double *unit)
{
    static const struct {
        const char *end;
        double bytes;
    } units[] = {{"/KB", 1024},     {"(KB)", 1024},      {"/MB", 1048576},
                 {"(MB)", 1048576}, {"/GB", 1073741824}, {"(GB)", 1073741824}};
    *unit = 1;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        *unit = ends_in(name, units[i].end) ? units[i].bytes : *unit;
    }
    return holds(name, "memory") || (*unit == 1024 && (holds(name, "hbm") || holds(name, "ddr")));
}

/* What is in use says more than what is reserved for it. */
static int preference(const char *name)
{
    return holds(name, "allocated") ? 3 : holds(name, "used") || holds(name, "active") ? 2 : holds(name, "memory");
}

static const trace_counter *choose_counter(const trace_model *m, uint32_t rank, uint32_t *index, double *unit)
{
    const trace_counter *best = NULL;
    for (uint32_t i = 0; i < m->n_counters; i++) {
        const trace_counter *c = &m->counters[i];
        double u = 1;
        if (c->rank != rank || c->n_samples == 0 || !line_counter_is_memory(c->name, &u)) {
            continue;
        }
        int better = best ? preference(c->name) - preference(best->name) : 1;
        if (better > 0 || (better == 0 && c->max * u > best->max * *unit)) {
            best = c;
            *index = i;
            *unit = u;
        }
    }
    return best;
}

static void make_memory(line_data *d, uint32_t rank, rank_lines *out)
{
    uint32_t index = 0;
    double unit = 1;
    const trace_counter *c = choose_counter(d->model, rank, &index, &unit);
    if (!c) {
        return;
    }
    out->memory_name = c->name;
    store_sample *samples = NULL;
    size_t n = 0;
    out->too_many[LINE_MEMORY] = c->n_samples > MAX_SAMPLES;
    if (out->too_many[LINE_MEMORY] || store_read_samples(d->file, index, &samples, &n, NULL) != MAREY_OK) {
        return; /* a line less; what is damaged is told where the file is opened */
    }
    int64_t *t = mem_alloc((n + 1) * sizeof *t);
    double *v = mem_alloc((n + 1) * sizeof *v);
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (isfinite(samples[i].value)) {
            t[kept] = samples[i].ts_ns;
            v[kept++] = samples[i].value * unit;
        }
    }
    free(samples);
    series_make(&out->of[LINE_MEMORY], t, v, kept);
}

/* ------------------------------------------------------------------ what is stated of operators */

static const char *last_name(const char *name)
{
    const char *slash = strrchr(name, '/');
    return slash ? slash + 1 : name;
}

static uint64_t name_key(uint32_t rank, const char *name)
{
    return hash_bytes(name, strlen(name)) ^ hash_u64(rank);
}

static operator_rate *operator_of(line_data *d, uint32_t rank, const char *name)
{
    uint64_t *place = map64_put(&d->by_name, name_key(rank, name));
    if (*place == 0) {
        operator_rate fresh = {.rank = rank, .name = name};
        VEC_PUSH(d->operators, d->n_operators, d->cap_operators, fresh);
        *place = d->n_operators;
        uint64_t *last = map64_put(&d->by_last_name, name_key(rank, last_name(name)));
        if (*last != 0) {
            d->operators[*last - 1].is_ambiguous = true;
        } else {
            *last = d->n_operators;
        }
    }
    operator_rate *o = &d->operators[*place - 1];
    return strcmp(o->name, name) == 0 ? o : NULL;
}

static device_part part_of(const char *tag)
{
    return strcmp(tag, "cube") == 0 ? PART_CUBE : strcmp(tag, "vector") == 0 ? PART_VECTOR : PART_ALL;
}

/* The mean of what is stated of the whole, else of its parts, added up; 0: nothing is. */
static double stated_value(const stated_sum *v)
{
    if (v[PART_ALL].n > 0) {
        return v[PART_ALL].sum / v[PART_ALL].n;
    }
    double sum = v[PART_CUBE].n > 0 ? v[PART_CUBE].sum / v[PART_CUBE].n : 0;
    return sum + (v[PART_VECTOR].n > 0 ? v[PART_VECTOR].sum / v[PART_VECTOR].n : 0);
}

static void read_kind(line_data *d, trace_metric_kind kind, const map64 *by_rank)
{
    store_metric *v = NULL;
    size_t n = 0;
    if (store_read_metrics(d->file, kind, &v, &n, NULL) != MAREY_OK) {
        return;
    }
    for (size_t i = 0; i < n && !is_cancelled(&d->cancel); i++) {
        const char *name = store_string(d->file, v[i].name);
        const uint64_t *place = v[i].rank < 0 ? NULL : map64_get(by_rank, (uint64_t)v[i].rank);
        if (name[0] == '\0' || !(v[i].value > 0) || (v[i].rank >= 0 && !place)) {
            continue; /* of the whole run, nothing, or of a rank that is not here */
        }
        operator_rate *o = operator_of(d, place ? (uint32_t)(*place - 1) : NO_ID, name);
        if (o) {
            device_part part = part_of(store_string(d->file, v[i].tag));
            stated_sum *to = kind == METRIC_FLOPS_RATE ? &o->rate[part] : &o->amount[part];
            to->sum += v[i].value;
            to->n++;
        }
    }
    free(v);
}

static void read_operators(line_data *d)
{
    map64 by_rank = {0};
    for (size_t r = 0; r < d->model->n_ranks; r++) {
        if (d->model->ranks[r].rank >= 0) {
            *map64_put(&by_rank, (uint64_t)d->model->ranks[r].rank) = r + 1;
        }
    }
    read_kind(d, METRIC_FLOPS_RATE, &by_rank);
    read_kind(d, METRIC_FLOPS, &by_rank);
    map64_deinit(&by_rank);
    d->has_operators_read = true;
}

static const operator_rate *look_up(const line_data *d, uint32_t rank, const char *name)
{
    const uint64_t *place = map64_get(&d->by_name, name_key(rank, name));
    if (place && strcmp(d->operators[*place - 1].name, name) == 0) {
        return &d->operators[*place - 1];
    }
    place = map64_get(&d->by_last_name, name_key(rank, last_name(name)));
    const operator_rate *o = place ? &d->operators[*place - 1] : NULL;
    bool one_is_short = o && (!strchr(name, '/') || !strchr(o->name, '/'));
    return one_is_short && !o->is_ambiguous && strcmp(last_name(o->name), last_name(name)) == 0 ? o : NULL;
}

/* ------------------------------------------------------------------ FLOP/s over time */

typedef struct rate_edge {
    int64_t t_ns, change;
} rate_edge;

typedef struct rate_sweep {
    line_data *d;
    uint32_t rank;
    uint32_t *of_name; /* [n_names] index + 2; 1: nothing is stated; 0: not looked up yet */
    rate_edge *edges;
    size_t n, cap;
    bool too_many;
} rate_sweep;

static const operator_rate *stated_of(rate_sweep *k, uint32_t name)
{
    uint32_t *at = &k->of_name[name];
    if (*at == 0) {
        const char *text = k->d->model->names[name].text;
        const operator_rate *o = look_up(k->d, k->rank, text);
        o = o ? o : look_up(k->d, NO_ID, text);
        *at = o ? (uint32_t)(o - k->d->operators) + 2 : 1;
    }
    return *at > 1 ? &k->d->operators[*at - 2] : NULL;
}

static bool visit_operator(void *ctx, const store_event_info *e)
{
    rate_sweep *k = ctx;
    const operator_rate *o = e->name < k->d->model->n_names && e->dur_ns > 0 ? stated_of(k, e->name) : NULL;
    if (!o) {
        return !is_cancelled(&k->d->cancel);
    }
    double rate = stated_value(o->rate);
    rate = rate > 0 ? rate : stated_value(o->amount) * 1e9 / (double)e->dur_ns;
    if (!(rate >= 1 && rate <= MOST_RATE)) {
        return true;
    }
    k->too_many = k->n + 2 > MAX_SAMPLES;
    if (k->too_many) {
        return false;
    }
    rate_edge begin = {e->start_ns, (int64_t)rate};
    rate_edge end = {e->start_ns + e->dur_ns, -(int64_t)rate};
    VEC_PUSH(k->edges, k->n, k->cap, begin);
    VEC_PUSH(k->edges, k->n, k->cap, end);
    return !is_cancelled(&k->d->cancel);
}

static int by_time(const void *pa, const void *pb)
{
    const rate_edge *a = pa;
    const rate_edge *b = pb;
    return a->t_ns < b->t_ns ? -1 : a->t_ns > b->t_ns;
}

static void series_of_edges(rate_sweep *k, step_series *out)
{
    int64_t *t = mem_alloc((k->n + 1) * sizeof *t);
    double *v = mem_alloc((k->n + 1) * sizeof *v);
    size_t n = 0;
    int64_t now = 0;
    qsort(k->edges, k->n, sizeof *k->edges, by_time);
    for (size_t i = 0; i < k->n;) {
        int64_t at = k->edges[i].t_ns;
        for (; i < k->n && k->edges[i].t_ns == at; i++) {
            now += k->edges[i].change;
        }
        if (n == 0 || v[n - 1] != (double)now) {
            t[n] = at;
            v[n++] = (double)now;
        }
    }
    series_make(out, t, v, n);
}

static void make_flops(line_data *d, uint32_t rank, rank_lines *out)
{
    uint32_t first = d->tracks.first[rank];
    query_row row = {d->tracks.tracks + first, d->tracks.first[rank + 1] - first};
    if (!d->has_operators_read) {
        read_operators(d);
    }
    if (d->n_operators == 0 || row.n_tracks == 0) {
        return;
    }
    rate_sweep k = {.d = d, .rank = rank, .of_name = mem_calloc(d->model->n_names + 1, sizeof *k.of_name)};
    (void)store_visit(d->file, &row, 0, d->model->duration_ns + 1, visit_operator, &k, NULL);
    out->too_many[LINE_FLOPS] = k.too_many;
    if (k.n > 0 && !k.too_many) {
        series_of_edges(&k, &out->of[LINE_FLOPS]);
    }
    free(k.edges);
    free(k.of_name);
}

/* ------------------------------------------------------------------ the worker */

static size_t bytes_of(const rank_lines *l)
{
    return series_bytes(&l->of[LINE_MEMORY]) + series_bytes(&l->of[LINE_FLOPS]);
}

static void *work(void *ctx)
{
    line_data *d = ctx;
    (void)pthread_mutex_lock(&d->lock);
    while (!d->stops) {
        if (d->n_queue == 0) {
            (void)pthread_cond_wait(&d->changed, &d->lock);
            continue;
        }
        uint32_t rank = d->queue[--d->n_queue];
        d->is_working = true;
        (void)pthread_mutex_unlock(&d->lock);
        rank_lines made = {0};
        make_memory(d, rank, &made);
        make_flops(d, rank, &made);
        (void)pthread_mutex_lock(&d->lock);
        d->entries[rank].lines = made;
        d->entries[rank].state = LINE_READY;
        d->bytes += bytes_of(&made);
        d->is_working = false;
        void (*wake)(void *) = d->n_queue == 0 && !d->stops ? d->wake : NULL;
        void *wake_ctx = d->wake_ctx;
        (void)pthread_cond_broadcast(&d->changed);
        if (wake) {
            (void)pthread_mutex_unlock(&d->lock);
            wake(wake_ctx);
            (void)pthread_mutex_lock(&d->lock);
        }
    }
    (void)pthread_mutex_unlock(&d->lock);
    return NULL;
}

line_data *line_data_create(store_file *f, line_tracks tracks)
{
    line_data *d = mem_calloc(1, sizeof *d);
    d->file = f;
    d->model = store_model(f);
    d->tracks = tracks;
    d->entries = mem_calloc(d->model->n_ranks + 1, sizeof *d->entries);
    d->queue = mem_calloc(d->model->n_ranks + 1, sizeof *d->queue);
    (void)pthread_mutex_init(&d->lock, NULL);
    (void)pthread_cond_init(&d->changed, NULL);
    return d;
}

void line_data_destroy(line_data **pd)
{
    line_data *d = *pd;
    if (!d) {
        return;
    }
    (void)pthread_mutex_lock(&d->lock);
    d->stops = true;
    atomic_store(&d->cancel.set, true);
    (void)pthread_cond_broadcast(&d->changed);
    (void)pthread_mutex_unlock(&d->lock);
    if (d->is_started) {
        (void)pthread_join(d->thread, NULL);
    }
    for (size_t i = 0; i < d->model->n_ranks; i++) {
        for (int k = 0; k < LINE_KINDS; k++) {
            series_deinit(&d->entries[i].lines.of[k]);
        }
    }
    map64_deinit(&d->by_name);
    map64_deinit(&d->by_last_name);
    free(d->operators);
    free(d->entries);
    free(d->queue);
    (void)pthread_cond_destroy(&d->changed);
    (void)pthread_mutex_destroy(&d->lock);
    free(d);
    *pd = NULL;
}

void line_data_set_wake(line_data *d, void (*wake)(void *ctx), void *ctx)
{
    (void)pthread_mutex_lock(&d->lock);
    d->wake = wake;
    d->wake_ctx = ctx;
    (void)pthread_mutex_unlock(&d->lock);
}

void line_data_frame(line_data *d)
{
    (void)pthread_mutex_lock(&d->lock);
    d->frame++;
    for (size_t i = 0; d->bytes > KEPT_BYTES && i < d->model->n_ranks; i++) {
        line_entry *e = &d->entries[i];
        if (e->state == LINE_READY && e->used + 2 < d->frame) {
            d->bytes -= bytes_of(&e->lines);
            series_deinit(&e->lines.of[LINE_MEMORY]);
            series_deinit(&e->lines.of[LINE_FLOPS]);
            e->state = LINE_ABSENT;
        }
    }
    (void)pthread_mutex_unlock(&d->lock);
}

const rank_lines *line_data_get(line_data *d, uint32_t rank, bool *is_due)
{
    (void)pthread_mutex_lock(&d->lock);
    line_entry *e = &d->entries[rank];
    e->used = d->frame;
    if (!d->is_started) {
        d->is_started = pthread_create(&d->thread, NULL, work, d) == 0;
    }
    if (e->state == LINE_ABSENT && d->is_started) {
        e->state = LINE_QUEUED;
        d->queue[d->n_queue++] = rank;
        (void)pthread_cond_broadcast(&d->changed);
    }
    *is_due = *is_due || e->state == LINE_QUEUED;
    const rank_lines *lines = e->state == LINE_READY ? &e->lines : NULL;
    (void)pthread_mutex_unlock(&d->lock);
    return lines;
}

bool line_data_settle(line_data *d)
{
    (void)pthread_mutex_lock(&d->lock);
    bool was = d->n_queue > 0 || d->is_working;
    while (d->n_queue > 0 || d->is_working) {
        (void)pthread_cond_wait(&d->changed, &d->lock);
    }
    (void)pthread_mutex_unlock(&d->lock);
    return was;
}
