#include "scene/insight.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/mem.h"

typedef enum insight_state { INSIGHT_IDLE, INSIGHT_RUNNING, INSIGHT_READY, INSIGHT_FAILED } insight_state;

struct insight {
    store_file *file;
    pthread_t thread;
    bool is_started;
    cancel_flag cancel;

    pthread_mutex_t lock; /* guards the rest */
    pthread_cond_t changed;
    insight_state state;
    void (*wake)(void *ctx);
    void *wake_ctx;
    char error[256];
    diagnosis result; /* the worker's until READY, then read only */
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
    if (w->state == INSIGHT_READY) {
        diagnose_free(&w->result);
    }
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

bool insight_settle(insight *w)
{
    (void)pthread_mutex_lock(&w->lock);
    bool was = w->state == INSIGHT_RUNNING;
    while (w->state == INSIGHT_RUNNING) {
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
