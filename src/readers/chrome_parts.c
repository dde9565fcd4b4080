#include "readers/chrome_parts.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/thread.h"
#include "trace/builder_join.h"

enum {
    SIZES_MAX = 4,           /* parts of a fast thread are at most so many times as large as those of a slow one */
    ARGS_BYTES = 256 * 1024, /* of a chunk's arguments, at first */
    MARK_BYTES = 16 * 1024
};

/* One thread's. */
typedef struct hand {
    struct parts *all;
    trace_builder b;
    diag diag;
    chrome_notes notes;
    trace_join join;
    jstream_room room;
    trace_chunk *full; /* chunks of the part, before the builder's own */
    size_t n_full, cap_full;
    chrome_part part; /* the one at hand */
    size_t consumed;
    size_t part_bytes; /* of its next */
    bool holds;        /* the part was taken, and not dealt with */
    uint64_t n_correlated_before;
    marey_status status;
    chrome_reader c; /* last, for it is large, and cleared by itself */
} hand;

typedef struct parts {
    chrome_reader *c; /* the stream's */
    const chrome_parts_options *o;
    const char *file; /* for losses */
    bool bare;
    chrome_supply supply;
    /* taking what came of the parts, in order */
    pthread_mutex_t turn;
    pthread_cond_t changed;
    atomic_uint n_taken;
    atomic_bool is_correlated; /* c->n_correlated > 0 */
    atomic_bool stopped;       /* under `turn`: no more parts are taken */
    bool is_over;
    marey_status status;
    hand *hands[CHROME_PARTS_THREADS_MAX];
    unsigned n_hands;
} parts;

/* ---- a part ---- */

/* The builder's: a part may have more rows than a chunk. */
static marey_status keep_chunk(void *ctx, trace_chunk *chunk)
{
    hand *h = ctx;
    VEC_PUSH(h->full, h->n_full, h->cap_full, *chunk);
    *chunk = (trace_chunk){0};
    return MAREY_OK;
}

/* As trace_builder.mark. */
static void keep_mark(void *ctx, uint64_t at, uint64_t n_events)
{
    hand *h = ctx;
    if (n_events > 0) {
        VEC_PUSH(h->notes.marks, h->notes.n_marks, h->notes.cap_marks, ((chrome_mark){at, n_events}));
    }
    h->b.mark_from = at + MARK_BYTES;
}

static void free_chunks(hand *h)
{
    for (size_t i = 0; i < h->n_full; i++) {
        free(h->full[i].rows);
        free(h->full[i].args);
    }
    h->n_full = 0;
}

static void read_part(hand *h)
{
    parts *p = h->all;
    if (h->b.taker) {
        arg_taker_forget(h->b.taker); /* other text lies there now */
    }
    h->notes.n_halves = h->notes.n_namings = h->notes.n_tops = h->notes.n_marks = 0;
    h->b.mark_from = h->part.offset + MARK_BYTES;
    h->notes.n_early_flows = 0;
    h->n_correlated_before = h->c.n_correlated = atomic_load(&p->is_correlated) ? 1 : 0;
    jwalk_start_between(&h->c.walk, p->bare, h->part.offset);
    h->status = jstream_part(&h->c.walk, p->o->walk, &h->room, h->part.text, h->part.n, h->part.is_last, &h->consumed);
}

/* ---- taking what came of it ---- */

static marey_status take_half(hand *h, const chrome_half *in)
{
    chrome_half half = *in;
    half.half.thread = trace_join_id(&h->join.threads, half.half.thread);
    half.half.name = trace_join_id(&h->join.names, half.half.name);
    half.half.text = trace_join_id(&h->join.strings, half.half.text);
    return chrome_take_half(h->all->c, &half);
}

/* The rows, and between them the halves that came between them. */
static marey_status take_rows(hand *h)
{
    parts *p = h->all;
    marey_status status = MAREY_OK;
    size_t half = 0;
    for (size_t i = 0; i <= h->n_full && status == MAREY_OK; i++) {
        const trace_chunk *chunk = i < h->n_full ? &h->full[i] : &h->b.chunk;
        uint64_t base = h->join.n_rows;
        for (size_t at = 0; at < chunk->n && status == MAREY_OK;) {
            uint64_t stop = half < h->notes.n_halves ? h->notes.halves[half].row - base : chunk->n;
            size_t end = stop < chunk->n ? (size_t)stop : chunk->n;
            status = trace_join_rows(&h->join, p->c->b, &h->b, chunk, at, end - at);
            at = end;
            while (status == MAREY_OK && half < h->notes.n_halves && h->notes.halves[half].row == base + at) {
                status = take_half(h, &h->notes.halves[half++]);
            }
        }
    }
    while (status == MAREY_OK && half < h->notes.n_halves) {
        status = take_half(h, &h->notes.halves[half++]);
    }
    return status;
}

static void take_namings(hand *h)
{
    for (size_t i = 0; i < h->notes.n_namings; i++) {
        chrome_naming n = h->notes.namings[i];
        bool is_thread = n.what == NAMING_THREAD_NAME || n.what == NAMING_THREAD_INDEX;
        n.id = trace_join_id(is_thread ? &h->join.threads : &h->join.processes, n.id);
        n.text = trace_join_id(&h->join.strings, n.text);
        chrome_take_naming(h->all->c, &n);
    }
}

/* Where each row that is to be taken comes from one record. */
static void take_marks(hand *h)
{
    trace_builder *to = h->all->c->b;
    uint64_t base = to->n_events;
    for (size_t i = 0; h->notes.n_halves == 0 && to->mark && i < h->notes.n_marks; i++) {
        to->mark(to->mark_ctx, h->notes.marks[i].at, base + h->notes.marks[i].n_events);
    }
}

static void take_losses(hand *h)
{
    trace_builder *to = h->all->c->b;
    if (h->diag.n_losses == 0 && h->diag.n_messages == 0) {
        return;
    }
    if (to->diag) {
        diag_merge(to->diag, &h->diag);
    }
    diag_deinit(&h->diag);
    diag_init(&h->diag);
    h->b.file = diag_file(&h->diag, h->all->file);
}

/* Into the stream's builder. */
static marey_status take_content(hand *h)
{
    chrome_reader *c = h->all->c;
    uint64_t at = c->b->at;
    if (c->b->taker) {
        arg_taker_forget(c->b->taker);
    }
    take_losses(h);
    trace_join_begin(&h->join, c->b, &h->b);
    take_namings(h);
    take_marks(h);
    marey_status status = take_rows(h);
    trace_join_end(&h->join, c->b, &h->b);
    free_chunks(h);
    for (size_t i = 0; i < h->notes.n_tops; i++) {
        chrome_take_top(c, &h->notes.tops[i]);
    }
    c->b->at = h->c.walk.n_events > 0 ? h->b.at : at;
    c->b->n_ac2g_flows += h->notes.n_early_flows;
    c->hints |= h->c.hints;
    c->n_correlated += h->c.n_correlated - h->n_correlated_before;
    atomic_store(&h->all->is_correlated, c->n_correlated > 0);
    return status;
}

/* Does it begin where the parts before have ended? Their text may have been another when they were read. */
static bool is_next(const hand *h)
{
    return !h->part.is_void && h->part.offset == h->all->c->walk.offset;
}

/* On its turn. @return may the next part be taken? */
static bool take_result(hand *h)
{
    parts *p = h->all;
    chrome_reader *c = p->c;
    chrome_part *part = &h->part;
    if (!is_next(h)) {
        return false;
    }
    p->status = h->status;
    if (h->status != MAREY_OK) {
        return false;
    }
    if (h->notes.n_early_flows > 0 && c->n_correlated == 0) {
        return false; /* those flows may matter: the stream's reader looks at it all */
    }
    p->status = take_content(h);
    if (p->o->n_parts) {
        ++*p->o->n_parts;
    }
    bool is_between = h->consumed == part->n && jwalk_is_between(&h->c.walk);
    jwalk_go_on(&c->walk, &h->c.walk);
    p->is_over = part->is_last;
    h->holds = !is_between && !part->is_last;
    part->text += h->consumed;
    part->n -= h->consumed;
    if (p->status == MAREY_OK && p->o->progress && !p->o->progress(p->o->text.ctx)) {
        p->status = MAREY_CANCELLED;
    }
    return is_between && !p->is_over && p->status == MAREY_OK;
}

/* Processors are not equally fast at a time. Who had to wait takes larger parts, who had not takes smaller ones again:
 * so nobody waits for long. */
static void choose_size(hand *h, int64_t began_ns, int64_t read_ns, int64_t turn_ns)
{
    size_t least = h->all->o->part_bytes;
    size_t most = least * SIZES_MAX;
    int64_t waited = turn_ns - read_ns;
    int64_t busy = read_ns - began_ns + 1;
    size_t more =
        waited < busy ? (size_t)((double)h->part_bytes * (double)waited / (double)busy / 2) : h->part_bytes / 2;
    h->part_bytes = more > h->part_bytes / 32 ? h->part_bytes + more : h->part_bytes - h->part_bytes / 16;
    h->part_bytes = h->part_bytes < least ? least : h->part_bytes < most ? h->part_bytes : most;
}

/* @return false: the parts before it have ended otherwise than it began */
static bool wait_for_turn(hand *h)
{
    parts *p = h->all;
    unsigned n = atomic_load(&p->n_taken);
    while (n != h->part.number && !atomic_load(&p->stopped)) {
        thread_spin(&p->n_taken, n);
        (void)pthread_mutex_lock(&p->turn);
        while (atomic_load(&p->n_taken) == n && !atomic_load(&p->stopped)) {
            (void)pthread_cond_wait(&p->changed, &p->turn);
        }
        (void)pthread_mutex_unlock(&p->turn);
        n = atomic_load(&p->n_taken);
    }
    return n == h->part.number && !atomic_load(&p->stopped);
}

/* On the hand's own thread, as it takes a while. */
static void init_hand(hand *h)
{
    const parts *p = h->all;
    const trace_builder *to = p->c->b;
    diag_init(&h->diag);
    trace_builder_init(&h->b);
    h->b.diag = &h->diag;
    h->b.file = diag_file(&h->diag, p->file);
    h->b.flush = keep_chunk;
    h->b.flush_ctx = h;
    h->b.mark = keep_mark;
    h->b.mark_ctx = h;
    /* Most of a chunk's room stays untouched by a part: it had better not be in huge pages. */
    h->b.chunk.rows = mem_alloc(TRACE_CHUNK_EVENTS * sizeof *h->b.chunk.rows);
    h->b.chunk.args = mem_alloc(ARGS_BYTES);
    h->b.chunk.cap_args = ARGS_BYTES;
    h->b.taker = to->taker ? arg_taker_create(to->taker->shapes) : NULL;
    chrome_init(&h->c, &h->b);
    h->c.times_are_text = p->c->times_are_text;
    h->c.notes = &h->notes;
}

/* All but the part, which may be left over; on the hand's own thread, as that takes a while, too. */
static void release_hand(hand *h)
{
    chrome_deinit(&h->c);
    arg_taker_destroy(&h->b.taker);
    trace_builder_deinit(&h->b);
    diag_deinit(&h->diag);
    trace_join_deinit(&h->join);
    jstream_room_deinit(&h->room);
    free_chunks(h);
    free(h->full);
    free(h->notes.namings);
    free(h->notes.halves);
    free(h->notes.tops);
    free(h->notes.marks);
}

static bool take_part(hand *h)
{
    parts *p = h->all;
    h->holds = !atomic_load(&p->stopped) && chrome_supply_take(&p->supply, &h->part, h->part_bytes);
    return h->holds;
}

static void end_turn(parts *p, bool goes_on)
{
    (void)pthread_mutex_lock(&p->turn);
    atomic_store(&p->stopped, !goes_on); /* first: who sees its turn sees this */
    atomic_fetch_add(&p->n_taken, 1);
    (void)pthread_cond_broadcast(&p->changed);
    (void)pthread_mutex_unlock(&p->turn);
}

static void work(void *ctx, size_t i, unsigned worker)
{
    hand *h = ((parts *)ctx)->hands[i];
    parts *p = h->all;
    (void)worker;
    h->part_bytes = p->o->part_bytes;
    if (!take_part(h)) {
        return;
    }
    init_hand(h);
    bool goes_on = true;
    do {
        int64_t began_ns = clock_now_ns();
        if (!h->part.is_void) {
            read_part(h);
        }
        int64_t read_ns = clock_now_ns();
        if (!wait_for_turn(h)) {
            break; /* what it holds is left for the caller */
        }
        choose_size(h, began_ns, read_ns, clock_now_ns());
        uint64_t begin = h->part.offset;
        size_t n = h->part.n;
        goes_on = take_result(h);
        end_turn(p, goes_on);
        if (p->o->text.held) {
            p->o->text.look_away(p->o->text.ctx, (size_t)begin, n);
        }
        if (p->c->b->after_flush) {
            p->c->b->after_flush(p->c->b->flush_ctx);
        }
    } while (goes_on && take_part(h));
    release_hand(h);
}

/* ---- life ---- */

static hand *make_hand(parts *p)
{
    hand *h = mem_alloc(sizeof *h);
    memset(h, 0, offsetof(hand, c));
    h->all = p;
    return h;
}

/* What lies with the hands, in the order of the stream, and what no part was made of. */
static void gather_left(const parts *p, strbuf *left)
{
    for (unsigned number = 0; number < p->supply.n_given; number++) {
        for (unsigned i = 0; i < p->n_hands; i++) {
            const hand *h = p->hands[i];
            if (h->holds && h->part.number == number) {
                strbuf_add(left, h->part.text, h->part.n);
            }
        }
    }
    if (p->supply.carry.n > 0) {
        strbuf_add(left, p->supply.carry.s, p->supply.carry.n);
    }
}

bool chrome_parts_can_begin(const chrome_reader *c, const char *rest, size_t n)
{
    bool is_usual = !c->hook && c->walk.ops.event == chrome_event; /* who listens in has to hear of all */
    return is_usual && jwalk_is_between(&c->walk) && chrome_lead(rest, n) > 0;
}

marey_status chrome_parts_run(chrome_reader *c, const chrome_parts_options *o, const char *rest, size_t n, strbuf *left,
                              bool *is_over)
{
    parts p = {.c = c, .o = o, .bare = c->walk.bare};
    p.supply = (chrome_supply){.text = &o->text, .least_bytes = o->part_bytes};
    const diag *d = c->b->diag;
    p.file = d && c->b->file < d->n_files ? d->files[c->b->file] : "";
    chrome_supply_init(&p.supply, c->walk.offset, rest, n);
    (void)pthread_mutex_init(&p.turn, NULL);
    (void)pthread_cond_init(&p.changed, NULL);
    atomic_init(&p.is_correlated, c->n_correlated > 0);
    unsigned n_threads = o->n_threads < CHROME_PARTS_THREADS_MAX ? o->n_threads : CHROME_PARTS_THREADS_MAX;
    while (p.n_hands < n_threads) {
        p.hands[p.n_hands++] = make_hand(&p);
    }
    pool *made = !o->workers && n_threads > 1 ? pool_create(n_threads - 1) : NULL;
    c->b->by_turns = true;
    pool_each(made ? made : o->workers, n_threads, work, &p);
    c->b->by_turns = false;
    pool_destroy(&made);
    if (!p.is_over && !o->text.read_at) {
        gather_left(&p, left);
    }
    *is_over = p.is_over;
    for (unsigned i = 0; i < p.n_hands; i++) {
        chrome_part_deinit(&p.hands[i]->part);
        free(p.hands[i]);
    }
    chrome_supply_deinit(&p.supply);
    (void)pthread_mutex_destroy(&p.turn);
    (void)pthread_cond_destroy(&p.changed);
    return p.status;
}
