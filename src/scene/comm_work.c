/* The numbers of the communication layout, worked out beside the drawing: the run is read once; then each question is
 * answered from memory, the newest first. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "diagnose/instances.h"
#include "scene/comm_view.h"

struct comm_work {
    store_file *file;
    const diagnosis *given; /* read only; NULL: the run is read here */
    pthread_t thread;
    bool is_started;

    pthread_mutex_t lock;   /* guards all below */
    pthread_cond_t changed; /* a question came, an answer came, or the end */
    comm_query wanted;
    bool is_asked; /* `wanted` has not been taken up */
    bool is_busy;
    bool is_over;
    bool has_model;
    uint64_t n_answers;
    comm_sums *fresh; /* answered, not fetched */
    void (*wake)(void *ctx);
    void *wake_ctx;
    char error[256];

    /* the worker's own, then read only */
    diagnosis diagnosis;
    comm_model model;
    cancel_flag cancel;

    comm_sums *current; /* the drawing thread's */
    comm_query asked;   /* the last question */
    bool has_asked;
};

static bool read_run(comm_work *w, char *error, size_t cap)
{
    diag d;
    if (w->given) {
        return comm_model_make(&w->model, w->given, &w->cancel) == MAREY_OK;
    }
    diag_init(&d);
    diagnosis *g = &w->diagnosis;
    g->model = store_model(w->file);
    marey_status status = collect(w->file, 0, &w->cancel, NULL, &g->data, &d);
    if (status == MAREY_OK) {
        for (size_t i = 0; i < g->model->n_ranks; i++) {
            int64_t residual = g->model->ranks[i].clock_residual_ns;
            g->clock_residual_max_ns = residual > g->clock_residual_max_ns ? residual : g->clock_residual_max_ns;
        }
        instances_find(g);
        transfers_find(g);
        status = comm_model_make(&w->model, g, &w->cancel);
    } else if (status != MAREY_CANCELLED) {
        (void)snprintf(error, cap, "%s",
                       d.n_messages > 0 ? d.messages[0].text : "The run's communication can't be read.");
    }
    diag_deinit(&d);
    return status == MAREY_OK;
}

static void answer(comm_work *w, const comm_query *q)
{
    char error[sizeof w->error] = "";
    bool is_read = w->has_model || read_run(w, error, sizeof error);
    comm_sums *r = is_read ? comm_sum_up(&w->model, q, &w->cancel) : NULL;
    (void)pthread_mutex_lock(&w->lock);
    w->has_model = is_read;
    memcpy(w->error, error, sizeof error);
    comm_sums *old = w->fresh;
    if (r) {
        r->serial = ++w->n_answers;
        w->fresh = r;
    }
    w->is_busy = false;
    void (*wake)(void *) = w->wake;
    void *ctx = w->wake_ctx;
    (void)pthread_cond_broadcast(&w->changed);
    (void)pthread_mutex_unlock(&w->lock);
    if (r) {
        comm_sums_free(&old);
    }
    if (wake) {
        wake(ctx);
    }
}

static void *work(void *ctx)
{
    comm_work *w = ctx;
    for (;;) {
        (void)pthread_mutex_lock(&w->lock);
        while (!w->is_asked && !w->is_over) {
            (void)pthread_cond_wait(&w->changed, &w->lock);
        }
        bool over = w->is_over;
        comm_query q = w->wanted;
        w->is_asked = false;
        w->is_busy = !over;
        (void)pthread_mutex_unlock(&w->lock);
        if (over) {
            return NULL;
        }
        answer(w, &q);
    }
}

comm_work *comm_work_create(store_file *f, const diagnosis *given)
{
    comm_work *w = mem_calloc(1, sizeof *w);
    w->file = f;
    w->given = given;
    (void)pthread_mutex_init(&w->lock, NULL);
    (void)pthread_cond_init(&w->changed, NULL);
    return w;
}

void comm_work_destroy(comm_work **pw)
{
    comm_work *w = *pw;
    if (!w) {
        return;
    }
    if (w->is_started) {
        atomic_store(&w->cancel.set, true);
        (void)pthread_mutex_lock(&w->lock);
        w->is_over = true;
        (void)pthread_cond_broadcast(&w->changed);
        (void)pthread_mutex_unlock(&w->lock);
        (void)pthread_join(w->thread, NULL);
    }
    comm_sums_free(&w->fresh);
    comm_sums_free(&w->current);
    comm_model_free(&w->model);
    diagnose_free(&w->diagnosis);
    (void)pthread_cond_destroy(&w->changed);
    (void)pthread_mutex_destroy(&w->lock);
    free(w);
    *pw = NULL;
}

void comm_work_set_wake(comm_work *w, void (*wake)(void *ctx), void *ctx)
{
    (void)pthread_mutex_lock(&w->lock);
    w->wake = wake;
    w->wake_ctx = ctx;
    (void)pthread_mutex_unlock(&w->lock);
}

static bool same_query(const comm_query *a, const comm_query *b)
{
    return a->t0_ns == b->t0_ns && a->t1_ns == b->t1_ns && a->group == b->group && a->only_group == b->only_group &&
           a->sort == b->sort && a->descending == b->descending;
}

static void ask(comm_work *w, const comm_query *q)
{
    w->asked = *q;
    w->has_asked = true;
    w->wanted = *q;
    w->is_asked = true;
    if (!w->is_started) {
        w->is_started = pthread_create(&w->thread, NULL, work, w) == 0;
        if (!w->is_started) {
            (void)snprintf(w->error, sizeof w->error, "No thread could be started.");
            w->is_asked = false;
        }
    }
    (void)pthread_cond_broadcast(&w->changed);
}

const comm_sums *comm_work_ask(comm_work *w, const comm_query *wanted, const comm_model **model, bool *is_due)
{
    (void)pthread_mutex_lock(&w->lock);
    if (!w->error[0] && (!w->has_asked || !same_query(&w->asked, wanted))) {
        ask(w, wanted);
    }
    comm_sums *old = NULL;
    if (w->fresh) {
        old = w->current;
        w->current = w->fresh;
        w->fresh = NULL;
    }
    *is_due = w->is_asked || w->is_busy;
    *model = w->current ? &w->model : NULL;
    (void)pthread_mutex_unlock(&w->lock);
    comm_sums_free(&old);
    return w->current;
}

bool comm_work_settle(comm_work *w)
{
    (void)pthread_mutex_lock(&w->lock);
    bool was = w->is_asked || w->is_busy || w->fresh;
    while (w->is_asked || w->is_busy) {
        (void)pthread_cond_wait(&w->changed, &w->lock);
    }
    (void)pthread_mutex_unlock(&w->lock);
    return was;
}

const char *comm_work_error(comm_work *w)
{
    (void)pthread_mutex_lock(&w->lock);
    bool failed = w->error[0] != '\0'; /* once set, it stays */
    (void)pthread_mutex_unlock(&w->lock);
    return failed ? w->error : NULL;
}
