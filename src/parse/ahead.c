#include "parse/ahead.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { SLOTS = 4, SLOT_BYTES = 256 * 1024 };

typedef struct slot {
    char *room;    /* owned; AHEAD_FRONT_BYTES, SLOT_BYTES, AHEAD_PAD_BYTES */
    uint8_t *data; /* in it */
    size_t n;      /* 0: the end of the stream */
    uint64_t bytes_in;
} slot;

struct ahead {
    source *source;
    pthread_t thread;
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t changed;
    slot slots[SLOTS];
    unsigned n_filled; /* ever; slot k is filled while n_taken <= k < n_filled */
    unsigned n_taken;
    bool stop;
    /* the caller's */
    size_t at;         /* in the slot being read */
    bool ended, holds; /* holds: the slot was given out whole */
    uint64_t bytes_in;
};

/* @return false when the caller has had enough */
static bool wait_for_room(ahead *a)
{
    (void)pthread_mutex_lock(&a->lock);
    while (a->n_filled - a->n_taken == SLOTS && !a->stop) {
        (void)pthread_cond_wait(&a->changed, &a->lock);
    }
    bool go_on = !a->stop;
    (void)pthread_mutex_unlock(&a->lock);
    return go_on;
}

static void publish(ahead *a)
{
    (void)pthread_mutex_lock(&a->lock);
    a->n_filled++;
    (void)pthread_cond_signal(&a->changed);
    (void)pthread_mutex_unlock(&a->lock);
}

static void *work(void *ctx)
{
    ahead *a = ctx;
    for (unsigned k = 0; wait_for_room(a); k++) {
        slot *s = &a->slots[k % SLOTS];
        s->n = 0;
        for (size_t got = 1; got > 0 && s->n < SLOT_BYTES;) {
            got = source_read(a->source, s->data + s->n, SLOT_BYTES - s->n);
            s->n += got;
        }
        s->bytes_in = source_bytes_in(a->source);
        bool end = s->n == 0;
        publish(a);
        if (end) {
            break;
        }
    }
    return NULL;
}

static void free_all(ahead *a)
{
    (void)pthread_mutex_destroy(&a->lock);
    (void)pthread_cond_destroy(&a->changed);
    for (int i = 0; i < SLOTS; i++) {
        free(a->slots[i].room);
    }
    free(a);
}

ahead *ahead_start(source *s)
{
    ahead *a = mem_calloc(1, sizeof *a);
    a->source = s;
    (void)pthread_mutex_init(&a->lock, NULL);
    (void)pthread_cond_init(&a->changed, NULL);
    for (int i = 0; i < SLOTS; i++) {
        a->slots[i].room = mem_alloc(AHEAD_FRONT_BYTES + SLOT_BYTES + AHEAD_PAD_BYTES);
        a->slots[i].data = (uint8_t *)a->slots[i].room + AHEAD_FRONT_BYTES;
    }
    if (pthread_create(&a->thread, NULL, work, a) != 0) {
        free_all(a);
        return NULL;
    }
    return a;
}

static const slot *current_slot(ahead *a)
{
    (void)pthread_mutex_lock(&a->lock);
    while (a->n_filled == a->n_taken) {
        (void)pthread_cond_wait(&a->changed, &a->lock);
    }
    const slot *s = &a->slots[a->n_taken % SLOTS];
    (void)pthread_mutex_unlock(&a->lock);
    return s;
}

static void release_slot(ahead *a)
{
    (void)pthread_mutex_lock(&a->lock);
    a->n_taken++;
    (void)pthread_cond_signal(&a->changed);
    (void)pthread_mutex_unlock(&a->lock);
}

static void end_hold(ahead *a)
{
    if (a->holds) {
        a->holds = false;
        a->at = 0;
        release_slot(a);
    }
}

size_t ahead_take(ahead *a, char **text)
{
    end_hold(a);
    if (a->ended) {
        return 0;
    }
    const slot *s = current_slot(a);
    a->bytes_in = s->bytes_in;
    a->ended = s->n == 0;
    a->holds = s->n > 0;
    *text = s->room + AHEAD_FRONT_BYTES + a->at;
    return s->n - a->at;
}

size_t ahead_read(ahead *a, void *dst, size_t cap)
{
    end_hold(a);
    if (a->ended || cap == 0) {
        return 0;
    }
    const slot *s = current_slot(a);
    size_t left = s->n - a->at;
    size_t n = left < cap ? left : cap;
    a->bytes_in = s->bytes_in;
    a->ended = s->n == 0;
    memcpy(dst, s->data + a->at, n);
    a->at += n;
    if (a->at == s->n) {
        a->at = 0;
        release_slot(a);
    }
    return n;
}

uint64_t ahead_bytes_in(ahead *a)
{
    return a->bytes_in;
}

void ahead_stop(ahead **pa)
{
    ahead *a = *pa;
    if (!a) {
        return;
    }
    (void)pthread_mutex_lock(&a->lock);
    a->stop = true;
    (void)pthread_cond_signal(&a->changed);
    (void)pthread_mutex_unlock(&a->lock);
    (void)pthread_join(a->thread, NULL);
    free_all(a);
    *pa = NULL;
}
