#include "readers/chrome_pipe.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/thread.h"
#include "parse/jscan.h"

enum {
    BATCHES = 8,
    BATCHES_LEFT = 4, /* a walker that slept goes on when so few are under way: waking it costs as much as a batch */
    BATCH_BYTES = 128 * 1024,
    BATCH_KEPT_BYTES = 1024 * 1024, /* a larger one held a huge event: its room is given back */
    ITEM_ALIGN = 16,
    ITEM_PAD = JWALK_PAD_BYTES, /* readable behind a batch */
    KEPT_TEXT_BYTES = 1024
};

/* In args_seen of an event on its way: its arguments were not looked into, and lie in arg[0]. */
static const uint32_t unseen_args = UINT32_C(1) << 31;

/* What events of one jevent.like do not share. */
static const uint32_t varying = 1U << JKEY_NAME | 1U << JKEY_TS | 1U << JKEY_DUR | 1U << JKEY_ID | 1U << JKEY_ARGS;

typedef enum item_kind { ITEM_PLAIN, ITEM_EVENT, ITEM_META, ITEM_LOSS } item_kind;

/* What a batch is made of, one behind the other at multiples of ITEM_ALIGN. */
typedef struct item {
    uint32_t kind; /* item_kind */
    uint32_t size; /* with all that belongs to it */
} item;

/* An interval like one that was sent whole: what it shares with that one is not sent again. Its name and arguments
 * follow. */
typedef struct plain_item {
    item head;
    uint64_t offset;
    uint32_t like;
    uint32_t n_name, n_args;
    uint8_t n_ts, n_dur, name_kind, args_kind;
    char ts[32], dur[16];
    bool args_skipped;
} plain_item;

/* Any event. The spans of its fields `sent` and of `args_seen` follow, then their texts. What is seen and not sent, the
 * other thread keeps. */
typedef struct event_item {
    item head;
    uint64_t offset;
    uint32_t like, seen, sent, args_seen;
    bool args_skipped, is_kept; /* is_kept: it is kept from now on */
} event_item;

/* A top-level value; its key and itself follow. */
typedef struct meta_item {
    item head;
    uint64_t offset;
    uint32_t n_key, n_value, key_kind, value_kind;
} meta_item;

/* What the walker lost; the detail follows. */
typedef struct loss_item {
    item head;
    uint64_t offset, count;
    uint32_t loss, n_detail; /* with its end; 0: none */
} loss_item;

typedef struct batch {
    char *bytes;
    size_t n, cap;
} batch;

/* The last event that was sent whole of those that share a place among CHROME_LIKES: what those like it share. */
typedef struct kept_event {
    jevent e;
    strbuf text;
} kept_event;

struct chrome_pipe {
    chrome_reader *c;
    batch batches[BATCHES];
    pthread_t thread;
    pthread_mutex_t lock; /* of the next block */
    pthread_cond_t changed;
    atomic_uint n_filled; /* ever; batch k is filled while n_taken <= k < n_filled */
    atomic_uint n_taken;  /* both change under the lock, and are looked at without it */
    bool ended;
    bool dropped; /* what is under way is not wanted any more */
    marey_status status;
    atomic_uint_fast64_t n_events;
    /* the walker's thread */
    jwalk_ops ops;       /* as they were */
    diag *told;          /* likewise */
    diag losses;         /* the walker's since the last item */
    marey_status failed; /* `status` when it was looked at last */
    struct {
        uint32_t like; /* of the event that the other thread keeps there; 0: none */
        bool is_plain;
    } kept_there[CHROME_LIKES];
    /* the other thread */
    kept_event *kept[CHROME_LIKES];
    jevent event;
    jwalk args_walk; /* for arguments that the reader does not know */
    jbits_fn bits;
    const char *end; /* of the batch at hand */
};

/* ------------------------------------------------------------------ the walker's thread */

static size_t aligned(size_t n)
{
    return (n + ITEM_ALIGN - 1) & ~(size_t)(ITEM_ALIGN - 1);
}

/* Room for an item of the batch to fill; `size` is a multiple of 8. */
static inline void *put_item(chrome_pipe *p, item_kind kind, size_t size)
{
    batch *b = &p->batches[p->n_filled % BATCHES];
    VEC_RESERVE(b->bytes, b->cap, b->n + size + ITEM_PAD);
    item *i = (item *)(void *)(b->bytes + b->n);
    *i = (item){kind, (uint32_t)size};
    b->n += size;
    return i;
}

/* The batch goes to the other thread, and the next one is waited for. */
static marey_status hand_over(chrome_pipe *p)
{
    unsigned n_taken = atomic_load(&p->n_taken);
    (void)pthread_mutex_lock(&p->lock);
    p->n_filled++;
    (void)pthread_cond_signal(&p->changed);
    (void)pthread_mutex_unlock(&p->lock);
    if (p->n_filled - n_taken >= BATCHES) {
        thread_spin(&p->n_taken, n_taken);
    }
    (void)pthread_mutex_lock(&p->lock);
    if (p->n_filled - p->n_taken == BATCHES) {
        while (p->n_filled - p->n_taken > BATCHES_LEFT && p->status == MAREY_OK) {
            (void)pthread_cond_wait(&p->changed, &p->lock);
        }
    }
    p->failed = p->status;
    (void)pthread_mutex_unlock(&p->lock);
    if (p->failed != MAREY_OK) {
        p->batches[p->n_filled % BATCHES].n = 0; /* nobody reads it any more */
    }
    return p->failed;
}

static void put_losses(chrome_pipe *p)
{
    for (size_t i = 0; i < p->losses.n_losses; i++) {
        const diag_loss *l = &p->losses.losses[i];
        size_t n = l->detail ? strlen(l->detail) + 1 : 0;
        loss_item *m = put_item(p, ITEM_LOSS, aligned(sizeof *m + n));
        m->offset = l->first_offset;
        m->count = l->count;
        m->loss = l->loss;
        m->n_detail = (uint32_t)n;
        if (n > 0) {
            memcpy(m + 1, l->detail, n);
        }
    }
    diag_deinit(&p->losses);
    diag_init(&p->losses);
}

static char *put_span(char *out, jspan s)
{
    if (s.n > 0) {
        memcpy(out, s.s, s.n);
    }
    return out + aligned(s.n);
}

/* As jwalk_ops.args: arguments without objects in them are left for the other thread to look into. Where they end is
 * where the walk would find it. */
static size_t skip_args(void *ctx, jevent *e, const char *text, size_t n)
{
    (void)ctx;
    const char *close = jscan_brace(text + 1, text + n);
    if (!close || *close != '}') {
        return 0;
    }
    size_t len = (size_t)(close - text) + 1;
    e->args_seen = unseen_args;
    e->arg[0] = (jspan){text, (uint32_t)len, JKIND_OBJECT};
    return len;
}

/* The other thread looks into the arguments that the field holds. Only where that key came twice, there are others. */
static inline bool has_other_args(const jevent *e)
{
    return e->args_seen != 0 && e->field[JKEY_ARGS].kind != JKIND_OBJECT;
}

/* Can it be sent as a plain item? The other thread keeps one that is like it. */
static inline bool is_plain(const jevent *e)
{
    jspan ts = e->field[JKEY_TS];
    jspan dur = e->field[JKEY_DUR];
    jspan name = e->field[JKEY_NAME];
    plain_item *m = NULL;
    return ts.kind == JKIND_SCALAR && ts.n <= sizeof m->ts && dur.kind == JKIND_SCALAR && dur.n <= sizeof m->dur &&
           (name.kind == JKIND_STRING || name.kind == JKIND_SCALAR) && name.n <= CHROME_NAME_BYTES_MAX &&
           !has_other_args(e);
}

static void put_plain(chrome_pipe *p, const jevent *e)
{
    jspan ts = e->field[JKEY_TS];
    jspan dur = e->field[JKEY_DUR];
    jspan name = e->field[JKEY_NAME];
    jspan args = jevent_field(e, JKEY_ARGS);
    size_t name_room = aligned(name.n);
    plain_item *m = put_item(p, ITEM_PLAIN, sizeof *m + name_room + aligned(args.n));
    m->offset = e->offset;
    m->like = e->like;
    m->n_name = name.n;
    m->n_args = args.n;
    m->n_ts = (uint8_t)ts.n;
    m->n_dur = (uint8_t)dur.n;
    m->name_kind = (uint8_t)name.kind;
    m->args_kind = (uint8_t)args.kind;
    m->args_skipped = e->args_skipped;
    memcpy(m->ts, ts.s, sizeof m->ts);
    memcpy(m->dur, dur.s, sizeof m->dur);
    arg_record_copy((char *)(m + 1), name.s, name.n);
    arg_record_copy((char *)(m + 1) + name_room, args.s, args.n);
}

/* The spans that are sent. @return how many bytes they and their texts take */
static size_t spans_of(const jevent *e, uint32_t sent, jspan *spans, size_t *n_spans)
{
    jspan *s = spans;
    size_t n = 0;
    for (uint32_t left = sent; left; left &= left - 1) {
        *s++ = jevent_field(e, (jkey)__builtin_ctz(left));
    }
    if (has_other_args(e) && e->args_seen == unseen_args) {
        *s++ = e->arg[0];
    } else if (has_other_args(e)) {
        for (uint32_t left = e->args_seen; left; left &= left - 1) {
            *s++ = e->arg[__builtin_ctz(left)];
        }
    }
    *n_spans = (size_t)(s - spans);
    for (size_t i = 0; i < *n_spans; i++) {
        n += sizeof *s + aligned(spans[i].n);
    }
    return n;
}

/* Does the other thread keep it for those like it? */
static bool is_to_keep(const jevent *e)
{
    size_t n = 0;
    for (uint32_t left = e->seen & ~varying; left; left &= left - 1) {
        n += jevent_field(e, (jkey)__builtin_ctz(left)).n;
    }
    return e->like != 0 && n <= KEPT_TEXT_BYTES;
}

static void put_event(chrome_pipe *p, const jevent *e, bool is_kept)
{
    jspan spans[JKEY_COUNT + JARG_COUNT];
    size_t n_spans;
    uint32_t sent = is_kept ? e->seen & varying : e->seen;
    size_t n = spans_of(e, sent, spans, &n_spans);
    event_item *m = put_item(p, ITEM_EVENT, sizeof *m + n);
    m->offset = e->offset;
    m->like = e->like;
    m->seen = e->seen;
    m->sent = sent;
    m->args_seen = has_other_args(e) ? e->args_seen : 0;
    m->args_skipped = e->args_skipped;
    m->is_kept = !is_kept && is_to_keep(e);
    if (m->is_kept) {
        p->kept_there[e->like % CHROME_LIKES].like = e->like;
        p->kept_there[e->like % CHROME_LIKES].is_plain = chrome_is_plain(e);
    }
    memcpy(m + 1, spans, n_spans * sizeof *spans);
    char *out = (char *)(m + 1) + n_spans * sizeof *spans;
    for (size_t i = 0; i < n_spans; i++) {
        out = put_span(out, spans[i]);
    }
}

static marey_status take_event(void *ctx, const jevent *e)
{
    chrome_reader *c = ctx;
    chrome_pipe *p = c->pipe;
    if (p->losses.n_losses > 0) {
        put_losses(p);
    }
    unsigned place = e->like % CHROME_LIKES;
    bool is_kept = e->like && p->kept_there[place].like == e->like;
    if (is_kept && p->kept_there[place].is_plain && is_plain(e)) {
        put_plain(p, e);
    } else {
        put_event(p, e, is_kept);
    }
    return p->batches[p->n_filled % BATCHES].n >= BATCH_BYTES ? hand_over(p) : p->failed;
}

static void take_meta(void *ctx, jspan key, jspan value)
{
    chrome_reader *c = ctx;
    chrome_pipe *p = c->pipe;
    put_losses(p);
    meta_item *m = put_item(p, ITEM_META, aligned(sizeof *m) + aligned(key.n) + aligned(value.n));
    m->offset = c->walk.meta_offset;
    m->n_key = key.n;
    m->n_value = value.n;
    m->key_kind = key.kind;
    m->value_kind = value.kind;
    (void)put_span(put_span((char *)m + aligned(sizeof *m), key), value);
    if (p->batches[p->n_filled % BATCHES].n >= BATCH_BYTES) {
        (void)hand_over(p); /* the next event tells how that went */
    }
}

/* ------------------------------------------------------------------ the other thread */

/* What a walk over the event would have found in its arguments. */
static void look_into(chrome_pipe *p, jevent *e, jspan args)
{
    size_t known = chrome_args_follow(p->c, e, args.s, (size_t)(p->end - args.s));
    if (known != args.n) {
        jwalk_args(&p->args_walk, e, args.s, args.n, p->bits);
        p->c->args_known = false;
    }
}

static marey_status on_plain_item(chrome_pipe *p, const plain_item *m)
{
    jevent *e = &p->kept[m->like % CHROME_LIKES]->e;
    const char *name = (const char *)(m + 1);
    e->offset = m->offset;
    e->args_seen = 0;
    e->args_skipped = m->args_skipped;
    e->field[JKEY_NAME] = (jspan){name, m->n_name, m->name_kind};
    e->field[JKEY_TS] = (jspan){m->ts, m->n_ts, JKIND_SCALAR};
    e->field[JKEY_DUR] = (jspan){m->dur, m->n_dur, JKIND_SCALAR};
    e->field[JKEY_ARGS] = (jspan){name + aligned(m->n_name), m->n_args, m->args_kind};
    if (m->args_kind == JKIND_OBJECT) {
        look_into(p, e, e->field[JKEY_ARGS]);
    }
    return chrome_event(p->c, e);
}

/* A copy of what it shares with those like it. */
static void keep_event(chrome_pipe *p, const jevent *e)
{
    kept_event **place = &p->kept[e->like % CHROME_LIKES];
    if (!*place) {
        *place = mem_calloc(1, sizeof **place);
    }
    kept_event *k = *place;
    const uint32_t shared = e->seen & ~varying;
    k->e = *e;
    k->e.steady = k->e.field;
    strbuf_clear(&k->text);
    for (uint32_t left = shared; left; left &= left - 1) {
        jspan s = jevent_field(e, (jkey)__builtin_ctz(left));
        strbuf_add(&k->text, s.s, s.n);
    }
    const char *text = strbuf_str(&k->text);
    for (uint32_t left = shared; left; left &= left - 1) {
        jspan *s = &k->e.field[__builtin_ctz(left)];
        s->s = text;
        text += s->n;
    }
}

/* The arguments of an event whose field does not hold them. */
static void take_other_args(chrome_pipe *p, jevent *e, uint32_t seen, const jspan *spans, const char *text)
{
    if (seen == unseen_args) {
        look_into(p, e, (jspan){text, spans->n, spans->kind});
        return;
    }
    e->args_seen = seen;
    for (uint32_t left = seen; left; left &= left - 1, spans++) {
        e->arg[__builtin_ctz(left)] = (jspan){text, spans->n, spans->kind};
        text += aligned(spans->n);
    }
}

static marey_status on_event_item(chrome_pipe *p, const event_item *m)
{
    const jspan *spans = (const jspan *)(const void *)(m + 1);
    unsigned n_args = m->args_seen == unseen_args ? 1 : (unsigned)__builtin_popcount(m->args_seen);
    const char *text = (const char *)(spans + (unsigned)__builtin_popcount(m->sent) + n_args);
    bool is_whole = !(m->seen & ~m->sent);
    jevent *e = is_whole ? &p->event : &p->kept[m->like % CHROME_LIKES]->e;
    e->seen = m->seen;
    e->args_seen = 0;
    e->args_skipped = m->args_skipped;
    e->like = m->like;
    e->offset = m->offset;
    e->steady = e->field;
    for (uint32_t left = m->sent; left; left &= left - 1, spans++) {
        e->field[__builtin_ctz(left)] = (jspan){text, spans->n, spans->kind};
        text += aligned(spans->n);
    }
    if (m->is_kept) {
        keep_event(p, e);
    }
    if (m->args_seen) {
        take_other_args(p, e, m->args_seen, spans, text);
    } else if (e->seen >> JKEY_ARGS & 1 && e->field[JKEY_ARGS].kind == JKIND_OBJECT) {
        look_into(p, e, e->field[JKEY_ARGS]);
    }
    return chrome_event(p->c, e);
}

static void on_meta_item(chrome_pipe *p, const meta_item *m)
{
    const char *key = (const char *)m + aligned(sizeof *m);
    const char *value = key + aligned(m->n_key);
    p->c->meta_offset = m->offset;
    chrome_meta(p->c, (jspan){key, m->n_key, m->key_kind}, (jspan){value, m->n_value, m->value_kind});
}

static marey_status on_item(chrome_pipe *p, const item *i)
{
    switch (i->kind) {
    case ITEM_PLAIN:
        return on_plain_item(p, (const plain_item *)(const void *)i);
    case ITEM_EVENT:
        return on_event_item(p, (const event_item *)(const void *)i);
    case ITEM_META:
        on_meta_item(p, (const meta_item *)(const void *)i);
        return MAREY_OK;
    default: {
        const loss_item *m = (const loss_item *)(const void *)i;
        const char *detail = m->n_detail ? (const char *)(m + 1) : NULL;
        diag_lose(p->c->b->diag, (marey_loss)m->loss, p->c->b->file, m->offset, m->count, detail);
        return MAREY_OK;
    }
    }
}

static marey_status on_batch(chrome_pipe *p, batch *b)
{
    marey_status status = MAREY_OK;
    p->end = b->bytes + b->n;
    for (size_t at = 0; at < b->n && status == MAREY_OK;) {
        const item *i = (const item *)(const void *)(b->bytes + at);
        status = on_item(p, i);
        at += i->size;
    }
    b->n = 0;
    if (p->c->b->taker) {
        arg_taker_forget(p->c->b->taker);
    }
    if (b->cap > BATCH_KEPT_BYTES) {
        free(b->bytes);
        *b = (batch){0};
    }
    atomic_store_explicit(&p->n_events, p->c->b->n_events, memory_order_relaxed);
    return status;
}

/* The next batch; NULL: there is none, and none will come. */
static batch *wait_for_batch(chrome_pipe *p)
{
    unsigned n_taken = p->n_taken;
    if (p->n_filled == n_taken) {
        thread_spin(&p->n_filled, n_taken);
    }
    (void)pthread_mutex_lock(&p->lock);
    while (p->n_filled == p->n_taken && !p->ended) {
        (void)pthread_cond_wait(&p->changed, &p->lock);
    }
    bool wanted = p->n_filled != p->n_taken && !p->dropped && p->status == MAREY_OK;
    batch *b = wanted ? &p->batches[p->n_taken % BATCHES] : NULL;
    (void)pthread_mutex_unlock(&p->lock);
    return b;
}

static void *work(void *ctx)
{
    chrome_pipe *p = ctx;
    for (batch *b = wait_for_batch(p); b; b = wait_for_batch(p)) {
        marey_status status = on_batch(p, b);
        (void)pthread_mutex_lock(&p->lock);
        p->n_taken++;
        p->status = status;
        if (p->n_filled - p->n_taken <= BATCHES_LEFT || status != MAREY_OK) {
            (void)pthread_cond_signal(&p->changed);
        }
        (void)pthread_mutex_unlock(&p->lock);
    }
    return NULL;
}

/* ------------------------------------------------------------------ life */

static void free_all(chrome_pipe *p)
{
    for (unsigned i = 0; i < BATCHES; i++) {
        free(p->batches[i].bytes);
    }
    for (unsigned i = 0; i < CHROME_LIKES; i++) {
        if (p->kept[i]) {
            strbuf_deinit(&p->kept[i]->text);
            free(p->kept[i]);
        }
    }
    diag_deinit(&p->losses);
    (void)pthread_mutex_destroy(&p->lock);
    (void)pthread_cond_destroy(&p->changed);
    free(p);
}

chrome_pipe *chrome_pipe_start(chrome_reader *c)
{
    chrome_pipe *p = mem_calloc(1, sizeof *p);
    p->c = c;
    (void)pthread_mutex_init(&p->lock, NULL);
    (void)pthread_cond_init(&p->changed, NULL);
    diag_init(&p->losses);
    atomic_init(&p->n_events, c->b->n_events);
    jwalk_ops none = {0};
    jwalk_init(&p->args_walk, &none, NULL, NULL, 0);
    p->bits = jbits;
    p->ops = c->walk.ops;
    p->told = c->walk.diag;
    c->walk.ops.event = take_event;
    c->walk.ops.args = skip_args;
    c->walk.ops.meta = take_meta;
    c->walk.diag = p->told ? &p->losses : NULL;
    c->pipe = p;
    if (pthread_create(&p->thread, NULL, work, p) != 0) {
        c->walk.ops = p->ops;
        c->walk.diag = p->told;
        c->pipe = NULL;
        free_all(p);
        return NULL;
    }
    return p;
}

marey_status chrome_pipe_end(chrome_pipe **pp, marey_status status)
{
    chrome_pipe *p = *pp;
    if (!p) {
        return status;
    }
    put_losses(p);
    (void)pthread_mutex_lock(&p->lock);
    p->n_filled++;
    p->ended = true;
    p->dropped = status != MAREY_OK;
    (void)pthread_cond_signal(&p->changed);
    (void)pthread_mutex_unlock(&p->lock);
    (void)pthread_join(p->thread, NULL);
    chrome_reader *c = p->c;
    c->walk.ops = p->ops;
    c->walk.diag = p->told;
    c->pipe = NULL;
    marey_status worked = p->status;
    free_all(p);
    *pp = NULL;
    return worked != MAREY_OK ? worked : status;
}

uint64_t chrome_pipe_events(const chrome_pipe *p)
{
    return atomic_load_explicit(&p->n_events, memory_order_relaxed);
}
