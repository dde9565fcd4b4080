/* Pieces of a frame's work on several threads. Who does which piece is left to chance, what comes out is not: each
 * piece writes its own place, from what the drawing thread looked up before. */
#include <stdlib.h>

#include "scene/internal.h"

typedef struct team_call {
    scene *s;
    team_fn fn;
    void *ctx;
} team_call;

static void call_piece(void *ctx, size_t i, unsigned worker)
{
    const team_call *c = ctx;
    c->fn(c->s, c->ctx, i, &c->s->team.work[worker]);
}

static pool *pool_of(work_team *t)
{
    unsigned n = t->n_threads > 0 ? t->n_threads : thread_cores();
    n = n < MAX_WORKERS ? n : MAX_WORKERS;
    if (!t->pool && n > 1) {
        t->pool = pool_create(n - 1);
    }
    return t->pool;
}

void team_each(scene *s, size_t n, size_t least_for_threads, team_fn fn, void *ctx)
{
    team_call c = {s, fn, ctx};
    pool_each(n < least_for_threads ? NULL : pool_of(&s->team), n, call_piece, &c);
}

void team_deinit(work_team *t)
{
    pool_destroy(&t->pool);
    for (int i = 0; i < MAX_WORKERS; i++) {
        raster_work *w = &t->work[i];
        accumulator_deinit(&w->acc);
        arena_deinit(&w->scratch);
        free(w->gather);
        free(w->coarse);
        free(w->mixed);
        free(w->present);
        free(w->hard);
    }
}
