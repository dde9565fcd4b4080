#include "scene/insight.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/mem.h"

typedef enum insight_state { INSIGHT_IDLE, INSIGHT_RUNNING, INSIGHT_READY, INSIGHT_FAILED } insight_state;

struct insight {
    store_file *file;
    pthread_t thread, metrics_thread;
    bool is_started, is_metrics_started;
    cancel_flag cancel;

    pthread_mutex_t lock; /* guards the rest */
    pthread_cond_t changed;
    insight_state state, metrics_state;
    void (*wake)(void *ctx);
    void *wake_ctx;
    char error[256];
    diagnosis result;        /* the worker's until READY, then read only */
    stated_metrics *metrics; /* likewise */
};

static void finish(insight *w, marey_status status, const diag *d)
{
    (void)pthread_mutex_lock(&w->lock);
    w->state = status == MAREY_OK ? INSIGHT_READY : INSIGHT_FAILED;
    if (status != MAREY_OK && status != MAREY_CANCELLED) {
        (void)snprintf(w->error, sizeof w->error, "%s",
                       d->n_messages > 0 ? d->messages[0].text : "The run can't be read for a diagnosis.");
    }
    void (*wake)(void *) = w->wake;
    void *ctx = w->wake_ctx;
    (void)pthread_cond_broadcast(&w->changed);
    (void)pthread_mutex_unlock(&w->lock);
    if (wake && status != MAREY_CANCELLED) {
        wake(ctx);
    }
}

/* One thread: frames are drawn meanwhile and come first. */
static void *work(void *ctx)
{
    insight *w = ctx;
    diag d;
    diag_init(&d);
    diagnose_options options = {.jobs = 1, .cancel = &w->cancel};
    marey_status status = diagnose_run(w->file, &options, &w->result, &d);
    finish(w, status, &d);
    diag_deinit(&d);
    return NULL;
}

typedef struct mean {
    double sum;
    uint64_t n;
} mean;

static void add_kind(insight *w, trace_metric_kind kind, const map64 *by_rank, size_t n_ranks)
{
    store_metric *v = NULL;
    size_t n = 0;
    if (store_read_metrics(w->file, kind, &v, &n, NULL) != MAREY_OK) {
        return; /* a column less; what is damaged is told where the file is opened */
    }
    mean *means = mem_calloc(n_ranks + 1, sizeof *means);
    for (size_t i = 0; i < n; i++) {
        const uint64_t *place = v[i].rank < 0 ? NULL : map64_get(by_rank, (uint64_t)v[i].rank);
        if (!place || store_string(w->file, v[i].name)[0] != '\0') {
            continue; /* of one operator */
        }
        stated_metrics *m = &w->metrics[*place - 1];
        if (kind == METRIC_PEAK_MEMORY && !(v[i].value <= m->peak_memory)) {
            m->peak_memory = v[i].value;
        }
        means[*place - 1].sum += v[i].value;
        means[*place - 1].n++;
    }
    for (size_t r = 0; kind != METRIC_PEAK_MEMORY && r < n_ranks; r++) {
        double *to = kind == METRIC_FLOPS_RATE ? &w->metrics[r].flops_rate : &w->metrics[r].utilization;
        *to = means[r].n > 0 ? means[r].sum / (double)means[r].n : *to;
    }
    free(means);
    free(v);
}

static void *read_metrics(void *ctx)
{
    insight *w = ctx;
    const trace_model *model = store_model(w->file);
    double nan = (double)NAN;
    map64 by_rank = {0};
    w->metrics = mem_calloc(model->n_ranks + 1, sizeof *w->metrics);
    for (size_t r = 0; r < model->n_ranks; r++) {
        w->metrics[r] = (stated_metrics){nan, nan, nan};
        if (model->ranks[r].rank >= 0) {
            *map64_put(&by_rank, (uint64_t)model->ranks[r].rank) = r + 1;
        }
    }
    static const trace_metric_kind kinds[] = {METRIC_FLOPS_RATE, METRIC_FLOPS_UTILIZATION, METRIC_PEAK_MEMORY};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        add_kind(w, kinds[k], &by_rank, model->n_ranks);
    }
    map64_deinit(&by_rank);
    (void)pthread_mutex_lock(&w->lock);
    w->metrics_state = INSIGHT_READY;
    void (*wake)(void *) = w->wake;
    void *wake_ctx = w->wake_ctx;
    (void)pthread_cond_broadcast(&w->changed);
    (void)pthread_mutex_unlock(&w->lock);
    if (wake) {
        wake(wake_ctx);
    }
    return NULL;
}

insight *insight_create(store_file *f)
{
    insight *w = mem_calloc(1, sizeof *w);
    w->file = f;
    (void)pthread_mutex_init(&w->lock, NULL);
    (void)pthread_cond_init(&w->changed, NULL);
    return w;
}

void insight_destroy(insight **pw)
{
    insight *w = *pw;
    if (!w) {
        return;
    }
    if (w->is_started) {
        atomic_store(&w->cancel.set, true);
        (void)pthread_join(w->thread, NULL);
    }
    if (w->is_metrics_started) {
        (void)pthread_join(w->metrics_thread, NULL);
    }
    if (w->state == INSIGHT_READY) {
        diagnose_free(&w->result);
    }
    free(w->metrics);
    (void)pthread_cond_destroy(&w->changed);
    (void)pthread_mutex_destroy(&w->lock);
    free(w);
    *pw = NULL;
}

void insight_set_wake(insight *w, void (*wake)(void *ctx), void *ctx)
{
    (void)pthread_mutex_lock(&w->lock);
    w->wake = wake;
    w->wake_ctx = ctx;
    (void)pthread_mutex_unlock(&w->lock);
}

static void start(insight *w)
{
    w->state = INSIGHT_RUNNING;
    w->is_started = pthread_create(&w->thread, NULL, work, w) == 0;
    if (!w->is_started) {
        w->state = INSIGHT_FAILED;
        (void)snprintf(w->error, sizeof w->error, "No thread could be started.");
    }
}

const diagnosis *insight_get(insight *w, bool *is_due)
{
    (void)pthread_mutex_lock(&w->lock);
    if (w->state == INSIGHT_IDLE) {
        start(w);
    }
    *is_due = w->state == INSIGHT_RUNNING;
    bool is_ready = w->state == INSIGHT_READY;
    (void)pthread_mutex_unlock(&w->lock);
    return is_ready ? &w->result : NULL;
}

const stated_metrics *insight_metrics(insight *w, bool *is_due)
{
    (void)pthread_mutex_lock(&w->lock);
    if (w->metrics_state == INSIGHT_IDLE) {
        w->is_metrics_started = pthread_create(&w->metrics_thread, NULL, read_metrics, w) == 0;
        w->metrics_state = w->is_metrics_started ? INSIGHT_RUNNING : INSIGHT_FAILED;
    }
    *is_due = w->metrics_state == INSIGHT_RUNNING;
    bool is_ready = w->metrics_state == INSIGHT_READY;
    (void)pthread_mutex_unlock(&w->lock);
    return is_ready ? w->metrics : NULL;
}

bool insight_settle(insight *w)
{
    (void)pthread_mutex_lock(&w->lock);
    bool was = w->state == INSIGHT_RUNNING || w->metrics_state == INSIGHT_RUNNING;
    while (w->state == INSIGHT_RUNNING || w->metrics_state == INSIGHT_RUNNING) {
        (void)pthread_cond_wait(&w->changed, &w->lock);
    }
    (void)pthread_mutex_unlock(&w->lock);
    return was;
}

const char *insight_error(insight *w)
{
    (void)pthread_mutex_lock(&w->lock);
    const char *error = w->error[0] ? w->error : NULL;
    (void)pthread_mutex_unlock(&w->lock);
    return error;
}
