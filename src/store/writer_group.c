/* Groups: events in, blocks and tiles out. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "store/writer.h"
#include "store/writer_block.h"

/* Calls that few events need stay out of the way of the others. */
#define RARE __attribute__((noinline))

/* An event that waits for its block, in order of arrival. */
typedef struct pending {
    pyramid_event e; /* its own byte: flags */
    uint32_t name, instance;
    const char *args; /* record */
    uint64_t tag;
    uint32_t args_len;
} pending;
_Static_assert(sizeof(pending) <= 56, "they go through the cache three times");

/* Events of a block on their way into the pyramid. */
enum { FEW_EVENTS = 4096, FEW_WEIGHT = 1, MANY_WEIGHT = 4, MOST_ENDING = 2 * MANY_WEIGHT };
enum { LOD_FEED = 4096, LOD_BATCHES = 2 * BLOCK_EVENTS / LOD_FEED, LOD_BLOCKS = 3 };
typedef struct lod_batch {
    pending *events;
    uint32_t n;
    pending *block; /* not NULL: they are the block's last, and this is what holds all of it */
} lod_batch;

/* Where there are workers, the pyramid is built beside the merge, one batch after the other. */
typedef struct lod_queue {
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t changed;
    lod_batch batches[LOD_BATCHES];
    unsigned n_put, n_done; /* ever */
    unsigned n_blocks;      /* whose last batch waits */
    bool is_running;
    bool ends; /* no more is put, and who empties the queue ends the group */
    pending *spare;
    marey_status status;
} lod_queue;

typedef struct group_track {
    uint32_t track;         /* in the model; NO_ID until its first event */
    uint32_t n;             /* events pending */
    uint32_t at;            /* where the next one of them goes in the block */
    uint32_t newest;        /* of the pending ones */
    uint32_t carry;         /* its open entry in the carry list, or NO_ID */
    int64_t pending_end_ns; /* end of the last event, pending ones included */
    store_carry last;       /* the last event of the blocks so far */
} group_track;

typedef struct carry_entry {
    store_carry event;
    uint32_t from, to;
} carry_entry;

struct store_group {
    store_writer *w;
    uint32_t id;
    store_group_params params;
    pyramid *lod;
    lod_queue queue;
    pending *events;     /* BLOCK_EVENTS */
    uint32_t n, n_fed;   /* the first n_fed are with the pyramid already */
    text_room *args;     /* records that were copied */
    size_t n_args;       /* bytes of all records */
    arg_taker *taker;    /* NULL until a text comes that is not taken apart */
    group_track *tracks; /* by track row */
    size_t n_tracks, cap_tracks;
    carry_entry *carries;
    size_t n_carries, cap_carries;
    int64_t t0_ns; /* of the next block */
    int64_t last_start_ns, last_end_ns;
    uint32_t *present; /* scratch: track rows of the block */
    size_t cap_present;
    uint32_t *block_tracks, *block_counts; /* all blocks of the group, for /blocks/tracks */
    size_t n_block_tracks, cap_block_tracks, cap_block_counts;
    uint32_t *blocks; /* ids, in the order of time */
    size_t n_blocks, cap_blocks;
    int64_t bin0_ns[LOD_R];
};

/* ------------------------------------------------------------------ begin */

/* Of what a group holds while its end is on its way. */
static unsigned weight_of(const store_group *g)
{
    return g->params.n_events > FEW_EVENTS ? MANY_WEIGHT : FEW_WEIGHT;
}

/* Groups whose end is still on its way hold memory. */
static void wait_for_ends(store_writer *w)
{
    (void)pthread_mutex_lock(&w->lock);
    while (w->ending >= MOST_ENDING) {
        (void)pthread_mutex_unlock(&w->lock);
        bool helped = writer_help(w);
        (void)pthread_mutex_lock(&w->lock);
        if (!helped && w->ending >= MOST_ENDING) {
            (void)pthread_cond_wait(&w->done, &w->lock);
        }
    }
    (void)pthread_mutex_unlock(&w->lock);
}

marey_status store_group_begin(store_writer *w, store_group **out, const store_group_params *params, diag *d)
{
    *out = NULL;
    if (params->n_ranks > GROUP_RANKS || params->duration_ns < 0) {
        return diag_error(d, MAREY_ARG, w->path, DIAG_NO_OFFSET, "a group of %u ranks, or of a negative time",
                          params->n_ranks);
    }
    wait_for_ends(w);
    store_group *g = mem_calloc(1, sizeof *g);
    g->w = w;
    g->params = *params;
    g->events = mem_alloc(BLOCK_EVENTS * sizeof *g->events);
    (void)pthread_mutex_init(&g->queue.lock, NULL);
    (void)pthread_cond_init(&g->queue.changed, NULL);
    int64_t busy_ns = params->busy_rank_ns > 0 ? params->busy_rank_ns : params->duration_ns;
    pyramid_choose_bins(params->n_events, busy_ns, params->n_ranks, g->bin0_ns);
    out_group o = {.params = *params};
    memcpy(o.bin0_ns, g->bin0_ns, sizeof o.bin0_ns);
    (void)pthread_mutex_lock(&w->lock);
    g->id = (uint32_t)w->n_groups;
    VEC_PUSH(w->groups, w->n_groups, w->cap_groups, o);
    (void)pthread_mutex_unlock(&w->lock);
    pyramid_params p = {.group = g->id,
                        .n_ranks = params->kind == GROUP_EVENTS ? params->n_ranks : 0,
                        .duration_ns = params->duration_ns,
                        .emit = writer_take_tile,
                        .ctx = w};
    memcpy(p.bin0_ns, g->bin0_ns, sizeof p.bin0_ns);
    marey_status status = pyramid_create(&g->lod, &p);
    MAREY_ASSERT(status == MAREY_OK);
    *out = g;
    return MAREY_OK;
}

static void group_free(store_group *g)
{
    pyramid_destroy(&g->lod);
    free(g->events);
    free(g->queue.spare);
    (void)pthread_mutex_destroy(&g->queue.lock);
    (void)pthread_cond_destroy(&g->queue.changed);
    room_give(g->w, g->args);
    arg_taker_destroy(&g->taker);
    free(g->tracks);
    free(g->carries);
    free(g->present);
    free(g->block_tracks);
    free(g->block_counts);
    free(g->blocks);
    free(g);
}

/* ------------------------------------------------------------------ the pyramid */

static marey_status add_to_pyramid(store_group *g, const pending *events, uint32_t n)
{
    return pyramid_add(g->lod, &events->e, n, sizeof *events);
}

/* What is open of the pyramid, and what the file says of the group; the end of the group. */
static void end_group(store_group *g)
{
    store_writer *w = g->w;
    uint32_t n_levels[LOD_R];
    marey_status finished = pyramid_finish(g->lod, n_levels);
    marey_status status = g->queue.status == MAREY_OK ? finished : g->queue.status;
    if (status != MAREY_OK) {
        (void)writer_fail(w, status, "writing failed");
    }
    (void)pthread_mutex_lock(&w->lock);
    out_group *o = &w->groups[g->id];
    memcpy(o->n_levels, n_levels, sizeof o->n_levels);
    o->n_rows[R_TRACK] = (uint32_t)g->n_tracks;
    o->n_rows[R_RANK] = n_levels[R_RANK] > 0 ? g->params.n_ranks : 0;
    o->n_rows[R_EIGHT] = n_levels[R_EIGHT] > 0 ? (g->params.n_ranks + 7) / 8 : 0;
    (void)pthread_mutex_unlock(&w->lock);
    group_free(g);
}

/* All batches that wait; one thread at a time. */
static void run_pyramid(void *ctx)
{
    store_group *g = ctx;
    store_writer *w = g->w;
    lod_queue *q = &g->queue;
    (void)pthread_mutex_lock(&q->lock);
    while (q->n_done < q->n_put) {
        lod_batch b = q->batches[q->n_done % LOD_BATCHES];
        marey_status status = q->status;
        (void)pthread_mutex_unlock(&q->lock);
        status = status == MAREY_OK ? add_to_pyramid(g, b.events, b.n) : status;
        (void)pthread_mutex_lock(&q->lock);
        q->status = status;
        q->n_done++;
        if (b.block) {
            free(q->spare);
            q->spare = b.block;
            q->n_blocks--;
        }
        (void)pthread_cond_broadcast(&q->changed);
    }
    q->is_running = false;
    bool ends = q->ends;
    (void)pthread_mutex_unlock(&q->lock); /* from here on the group may be gone, where it does not end here */
    if (ends) {
        unsigned weight = weight_of(g);
        end_group(g);
        (void)pthread_mutex_lock(&w->lock);
        w->ending -= weight;
        (void)pthread_cond_broadcast(&w->done);
        (void)pthread_mutex_unlock(&w->lock);
    }
    writer_job_done(w, JOB_PYRAMID);
}

static bool has_room(const lod_queue *q)
{
    return q->n_put - q->n_done < LOD_BATCHES && q->n_blocks < LOD_BLOCKS;
}

/* Until the queue has room the caller does what else waits. With the queue's lock held. */
static void wait_for_room(store_group *g)
{
    lod_queue *q = &g->queue;
    while (!has_room(q)) {
        (void)pthread_mutex_unlock(&q->lock);
        bool helped = writer_help(g->w);
        (void)pthread_mutex_lock(&q->lock);
        if (!helped && !has_room(q)) {
            (void)pthread_cond_wait(&q->changed, &q->lock);
        }
    }
}

/* With the queue's lock held, which is given back. */
static void start_pyramid(store_group *g)
{
    lod_queue *q = &g->queue;
    bool starts = !q->is_running;
    q->is_running = true;
    (void)pthread_mutex_unlock(&q->lock);
    if (starts) {
        writer_run(g->w, JOB_PYRAMID, run_pyramid, g);
    }
}

/* What came of the block at hand since the last time goes to the pyramid. Where it is the block's end, g->events are
 * others then. */
static marey_status feed_pyramid(store_group *g, bool ends)
{
    lod_queue *q = &g->queue;
    lod_batch b = {g->events + g->n_fed, g->n - g->n_fed, ends ? g->events : NULL};
    g->n_fed = ends ? 0 : g->n;
    if (!g->w->options.workers) {
        return add_to_pyramid(g, b.events, b.n);
    }
    (void)pthread_mutex_lock(&q->lock);
    wait_for_room(g);
    q->batches[q->n_put++ % LOD_BATCHES] = b;
    if (ends) {
        q->n_blocks++;
        g->events = q->spare ? q->spare : mem_alloc(BLOCK_EVENTS * sizeof *g->events);
        q->spare = NULL;
    }
    marey_status status = q->status;
    start_pyramid(g);
    return status;
}

/* ------------------------------------------------------------------ blocks */

/* Lengthen the carry entries of what still runs at the begin of this block. */
static void carry_over(store_group *g, int64_t t0_ns, uint32_t index)
{
    for (size_t i = 0; i < g->n_tracks; i++) {
        group_track *t = &g->tracks[i];
        if (t->track == NO_ID || t->last.start_ns < 0 || t->last.start_ns + t->last.dur_ns <= t0_ns) {
            continue;
        }
        if (t->carry == NO_ID) {
            t->carry = (uint32_t)g->n_carries;
            carry_entry c = {t->last, index, index};
            VEC_PUSH(g->carries, g->n_carries, g->cap_carries, c);
        }
        g->carries[t->carry].to = index;
    }
}

static int compare_present(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* The block's tracks by id, with where their events go. @return how many */
static uint32_t place_tracks(store_group *g)
{
    uint64_t *order = mem_alloc((g->n_tracks ? g->n_tracks : 1) * sizeof *order);
    uint32_t n = 0;
    for (uint32_t row = 0; row < g->n_tracks; row++) {
        if (g->tracks[row].n > 0) {
            order[n++] = (uint64_t)g->tracks[row].track << 32 | row;
        }
    }
    qsort(order, n, sizeof *order, compare_present);
    VEC_RESERVE(g->present, g->cap_present, n);
    uint32_t at = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t row = (uint32_t)order[i];
        group_track *t = &g->tracks[row];
        g->present[i] = row;
        t->at = at;
        at += t->n;
        VEC_RESERVE(g->block_tracks, g->cap_block_tracks, g->n_block_tracks + 1);
        VEC_RESERVE(g->block_counts, g->cap_block_counts, g->n_block_tracks + 1);
        g->block_tracks[g->n_block_tracks] = t->track;
        g->block_counts[g->n_block_tracks++] = t->n;
    }
    free(order);
    return n;
}

static uint32_t new_block(store_group *g, int64_t t0_ns, int64_t t1_ns, uint32_t n_tracks)
{
    store_writer *w = g->w;
    out_block b = {.group = g->id, .n = g->n, .n_tracks = n_tracks, .t0_ns = t0_ns, .t1_ns = t1_ns};
    (void)pthread_mutex_lock(&w->lock);
    uint32_t id = (uint32_t)w->n_blocks;
    VEC_PUSH(w->blocks, w->n_blocks, w->cap_blocks, b);
    (void)pthread_mutex_unlock(&w->lock);
    VEC_PUSH(g->blocks, g->n_blocks, g->cap_blocks, id);
    return id;
}

static void note_long(store_writer *w, uint64_t row, int64_t dur_ns)
{
    (void)pthread_mutex_lock(&w->lock);
    VEC_RESERVE(w->longs, w->cap_longs, w->n_longs + 1);
    w->longs[w->n_longs].row = row;
    w->longs[w->n_longs].dur_ns = dur_ns;
    w->n_longs++;
    (void)pthread_mutex_unlock(&w->lock);
}

/* What follows is written soon: too many places are written to in turn for the processor to see it by itself. */
static inline void fetch_behind(const void *p)
{
    enum { LINE = 64 };
    __builtin_prefetch((const char *)p + LINE, 1);
}

/* Events into columns, sorted by (track, start). */
static void fill_columns(store_group *g, block_job *j)
{
    const pending *events = g->events;
    const uint64_t first_row = (uint64_t)j->block * BLOCK_EVENTS;
    const bool tells = g->w->options.on_row != NULL;
    group_track *tracks = g->tracks;
    const char **args_at = j->args_at;
    uint32_t *args_len = j->args_len;
    for (uint32_t i = 0, n = g->n; i < n; i++) {
        const pending *p = &events[i];
        group_track *t = &tracks[p->e.track_row];
        uint32_t at = t->at++;
        t->newest = i;
        fetch_behind(&j->start_ns[at]);
        fetch_behind(&j->dur_ns[at]);
        fetch_behind(&j->name[at]);
        fetch_behind(&j->instance[at]);
        j->start_ns[at] = p->e.start_ns;
        j->dur_ns[at] = (uint32_t)p->e.dur_ns;
        j->name[at] = p->name;
        j->klass[at] = p->e.klass;
        j->flags[at] = p->e.own;
        j->instance[at] = p->instance;
        if (args_at) {
            fetch_behind((const void *)&args_at[at]);
            fetch_behind(&args_len[at]);
            args_at[at] = p->args;
            args_len[at] = p->args_len;
        }
        if (p->e.dur_ns >= UINT32_MAX) {
            j->dur_ns[at] = UINT32_MAX;
            note_long(g->w, first_row + at, p->e.dur_ns);
        }
        if (p->tag != 0 && tells) {
            g->w->options.on_row(g->w->options.on_row_ctx, p->tag, first_row + at);
        }
    }
}

/* The last event of each track of the block may reach into later ones. */
static void keep_last(store_group *g, uint32_t block, uint32_t n_tracks)
{
    for (uint32_t i = 0; i < n_tracks; i++) {
        group_track *t = &g->tracks[g->present[i]];
        const pending *p = &g->events[t->newest];
        uint64_t row = (uint64_t)block * BLOCK_EVENTS + t->at - 1;
        t->last = (store_carry){t->track, p->name, p->e.start_ns, p->e.dur_ns, row, p->instance, p->e.klass, p->e.own};
        t->carry = NO_ID;
        t->n = 0;
    }
}

static block_job *make_job(store_group *g, uint32_t block)
{
    block_job *j = spare_take(g->w, &g->w->spare_blocks, sizeof *j);
    j->w = g->w;
    j->block = block;
    j->n = g->n;
    j->args = g->args;
    j->args_at = NULL;
    j->args_len = NULL;
    if (g->n_args > 0) {
        j->args_at = (const char **)mem_alloc(g->n * sizeof *j->args_at);
        j->args_len = mem_alloc(g->n * sizeof *j->args_len);
    }
    g->args = NULL;
    g->n_args = 0;
    return j;
}

/* Close the block at hand. `next_ns`: start of the event behind it, or -1 at the group's end. */
RARE static marey_status flush(store_group *g, int64_t next_ns)
{
    if (g->n == 0) {
        return MAREY_OK;
    }
    /* Equal starts may fall into two blocks; the slices then share that nanosecond. */
    int64_t t1 = g->last_start_ns + 1;
    int64_t next_t0 = next_ns == g->last_start_ns ? next_ns : t1;
    if (next_ns < 0 && g->last_end_ns > t1) {
        t1 = g->last_end_ns; /* the last slice reaches to the end of all events, so that no window misses them */
    }
    carry_over(g, g->t0_ns, (uint32_t)g->n_blocks);
    uint32_t n_tracks = place_tracks(g);
    uint32_t block = new_block(g, g->t0_ns, t1, n_tracks);
    block_job *j = make_job(g, block);
    fill_columns(g, j);
    keep_last(g, block, n_tracks);
    g->t0_ns = next_t0;
    marey_status status = feed_pyramid(g, true);
    g->n = 0;
    block_job_start(j);
    return status;
}

/* ------------------------------------------------------------------ put */

static marey_status refuse(const store_group *g, const store_event *e, diag *d, const char *why)
{
    return diag_error(d, MAREY_ARG, g->w->path, DIAG_NO_OFFSET, "event at %lld ns on track %u: %s",
                      (long long)e->start_ns, e->track, why);
}

static const char *what_is_wrong(const store_group *g, const store_event *e)
{
    enum { MAX_TRACK_ROWS = 1 << 24 };
    if (e->track_row >= MAX_TRACK_ROWS) {
        return "its row is out of range";
    }
    if (e->start_ns < 0 || e->dur_ns < 0 || e->dur_ns > INT64_MAX - e->start_ns) {
        return "its time is out of range";
    }
    if (e->start_ns < g->last_start_ns) {
        return "it comes after a later one";
    }
    if (e->klass >= CLASS_COUNT || e->track == NO_ID || e->rank_row >= (int)g->params.n_ranks) {
        return "its class, track or rank is out of range";
    }
    return NULL;
}

static group_track *track_at(store_group *g, uint32_t row)
{
    while (g->n_tracks <= row) {
        group_track t = {.track = NO_ID, .carry = NO_ID, .last = {.start_ns = -1}};
        VEC_PUSH(g->tracks, g->n_tracks, g->cap_tracks, t);
    }
    return &g->tracks[row];
}

/* Room for a record of up to n bytes. */
static char *args_room(store_group *g, size_t n)
{
    n += ARG_RECORD_PAD_BYTES;
    if (!g->args || g->args->cap - g->args->n < n) {
        text_room *room = room_take(g->w, n);
        room->next = g->args;
        g->args = room;
    }
    return g->args->bytes + g->args->n;
}

RARE static void put_text(store_group *g, pending *p, const store_event *e)
{
    g->taker = g->taker ? g->taker : arg_taker_create(&g->w->shapes);
    char *to;
    if (arg_taker_take(g->taker, e->name, e->args, e->args_len)) {
        to = args_room(g, arg_taker_record_most(g->taker));
        p->args_len = (uint32_t)arg_taker_record(g->taker, to);
    } else {
        to = args_room(g, sizeof(uint32_t) + e->args_len);
        p->args_len = (uint32_t)sizeof(uint32_t) + e->args_len;
        arg_record_text(to, e->args, e->args_len);
    }
    g->args->n += p->args_len;
    p->args = to;
}

static void copy_record(store_group *g, pending *p, const store_event *e)
{
    char *to = args_room(g, e->args_len);
    arg_record_copy(to, e->args, e->args_len);
    g->args->n += e->args_len;
    p->args = to;
    p->args_len = e->args_len;
}

static inline void put_args(store_group *g, pending *p, const store_event *e)
{
    p->args = e->args;
    p->args_len = e->args ? e->args_len : 0;
    if (p->args_len == 0) {
        return;
    }
    if (!e->args_taken) {
        put_text(g, p, e);
    } else if (!e->args_stay) {
        copy_record(g, p, e);
    }
    g->n_args += p->args_len;
}

/* Is the event in order? It may be the first one of its track. */
RARE static marey_status admit(store_group *g, const store_event *e, diag *d)
{
    const char *wrong = what_is_wrong(g, e);
    if (wrong) {
        return refuse(g, e, d, wrong);
    }
    group_track *t = track_at(g, e->track_row);
    if (t->track == NO_ID) {
        t->track = e->track;
    }
    if (t->track != e->track || e->start_ns < t->pending_end_ns) {
        return refuse(g, e, d,
                      t->track != e->track ? "its row belongs to another track" : "it overlaps the one before");
    }
    return MAREY_OK;
}

RARE static void put_one(store_group *g, const store_event *e)
{
    group_track *t = &g->tracks[e->track_row];
    pending *p = &g->events[g->n++];
    p->e.start_ns = e->start_ns;
    p->e.dur_ns = e->dur_ns;
    p->e.track_row = e->track_row;
    p->e.rank = g->params.kind == GROUP_EVENTS && e->rank_row >= 0 ? (int8_t)e->rank_row : -1;
    p->e.klass = e->klass;
    p->e.severity = e->flags & EVENT_SEVERITY;
    p->name = e->name;
    p->instance = e->instance;
    p->tag = e->tag;
    p->e.own = e->flags;
    put_args(g, p, e);
    t->n++;
    t->pending_end_ns = e->start_ns + e->dur_ns;
    g->last_start_ns = e->start_ns;
    g->last_end_ns = t->pending_end_ns > g->last_end_ns ? t->pending_end_ns : g->last_end_ns;
}

/* What is usual of an event may be said at once: that it isn't is rare, whatever the reason. */
static inline bool goes_on(const store_group *g, const group_track *t, const store_event *e, int64_t last_start_ns)
{
    int64_t end_ns = (int64_t)((uint64_t)e->start_ns + (uint64_t)e->dur_ns);
    bool is_late =
        ((e->start_ns | e->dur_ns | end_ns) >= 0) & (e->start_ns >= last_start_ns) & (e->start_ns >= t->pending_end_ns);
    bool is_known = (e->track == t->track) & (e->track != NO_ID) & (e->klass < CLASS_COUNT) &
                    (e->rank_row < (int)g->params.n_ranks);
    return is_late & is_known & ((e->args_len == 0) | (e->args_taken & e->args_stay));
}

/* Events up to the first that is not usual, at most n, for which there is room; it is known of the group's state while
 * they go in. @return how many */
static size_t put_usual(store_group *g, const store_event *e, size_t n)
{
    const bool counts = g->params.kind == GROUP_EVENTS;
    group_track *const tracks = g->tracks;
    const size_t n_tracks = g->n_tracks;
    pending *p = g->events + g->n;
    int64_t last_start_ns = g->last_start_ns;
    int64_t last_end_ns = g->last_end_ns;
    size_t n_args = g->n_args;
    size_t i = 0;
    for (; i < n && e->track_row < n_tracks && n_args <= ARGS_BLOCK_LIMIT; i++, e++, p++) {
        group_track *t = &tracks[e->track_row];
        if (!goes_on(g, t, e, last_start_ns)) {
            break;
        }
        *p = (pending){.e = {.start_ns = e->start_ns,
                             .dur_ns = e->dur_ns,
                             .track_row = e->track_row,
                             .rank = (int8_t)(counts && e->rank_row >= 0 ? e->rank_row : -1),
                             .klass = e->klass,
                             .severity = e->flags & EVENT_SEVERITY,
                             .own = e->flags},
                       .name = e->name,
                       .instance = e->instance,
                       .args = e->args,
                       .tag = e->tag,
                       .args_len = e->args ? e->args_len : 0};
        n_args += p->args_len;
        t->n++;
        t->pending_end_ns = e->start_ns + e->dur_ns;
        last_start_ns = e->start_ns;
        last_end_ns = t->pending_end_ns > last_end_ns ? t->pending_end_ns : last_end_ns;
    }
    g->n += (uint32_t)i;
    g->n_args = n_args;
    g->last_start_ns = last_start_ns;
    g->last_end_ns = last_end_ns;
    return i;
}

/* An event of any kind. */
static marey_status put_other(store_group *g, const store_event *e, diag *d)
{
    marey_status status = admit(g, e, d);
    if (status != MAREY_OK) {
        return status;
    }
    if (g->n == BLOCK_EVENTS || g->n_args > ARGS_BLOCK_LIMIT) {
        status = flush(g, e->start_ns);
    }
    put_one(g, e);
    return status == MAREY_OK ? status : writer_report(g->w, status, d);
}

/* Until the block, or what is fed to the pyramid at a time, is full. */
static inline size_t room_of(const store_group *g)
{
    uint32_t block = BLOCK_EVENTS - g->n;
    uint32_t feed = LOD_FEED - (g->n - g->n_fed);
    return block < feed ? block : feed;
}

marey_status store_group_put_all(store_group *g, const store_event *events, size_t n, diag *d)
{
    marey_status status = MAREY_OK;
    const store_event *const end = events + n;
    while (events < end && status == MAREY_OK) {
        size_t room = room_of(g);
        size_t most = (size_t)(end - events) < room ? (size_t)(end - events) : room;
        size_t done = put_usual(g, events, most);
        events += done;
        if (done == 0) {
            status = put_other(g, events++, d);
        }
        if (status == MAREY_OK && g->n - g->n_fed == LOD_FEED) {
            status = feed_pyramid(g, false);
            status = status == MAREY_OK ? status : writer_report(g->w, status, d);
        }
    }
    return status;
}

/* ------------------------------------------------------------------ end */

#define CARRY_COLUMN(g, id, type, field)                                                                               \
    do {                                                                                                               \
        type *column_ = mem_alloc(((g)->n_carries ? (g)->n_carries : 1) * sizeof(type));                               \
        for (size_t i_ = 0; i_ < (g)->n_carries; i_++) {                                                               \
            column_[i_] = (g)->carries[i_].field;                                                                      \
        }                                                                                                              \
        marey_status status_ = out_append((g)->w, id, column_, (g)->n_carries);                                        \
        free(column_);                                                                                                 \
        if (status_ != MAREY_OK) {                                                                                     \
            return status_;                                                                                            \
        }                                                                                                              \
    } while (0)

/* One group at a time, so that its rows lie together in every column. */
static marey_status put_carries(store_group *g)
{
    CARRY_COLUMN(g, S_CARRY_ROW, uint64_t, event.row);
    CARRY_COLUMN(g, S_CARRY_FROM, uint32_t, from);
    CARRY_COLUMN(g, S_CARRY_TO, uint32_t, to);
    CARRY_COLUMN(g, S_CARRY_TRACK, uint32_t, event.track);
    CARRY_COLUMN(g, S_CARRY_NAME, uint32_t, event.name);
    CARRY_COLUMN(g, S_CARRY_START, int64_t, event.start_ns);
    CARRY_COLUMN(g, S_CARRY_DUR, int64_t, event.dur_ns);
    CARRY_COLUMN(g, S_CARRY_INSTANCE, uint32_t, event.instance);
    CARRY_COLUMN(g, S_CARRY_CLASS, uint8_t, event.klass);
    CARRY_COLUMN(g, S_CARRY_FLAGS, uint8_t, event.flags);
    return MAREY_OK;
}

static marey_status put_directory(store_group *g)
{
    store_writer *w = g->w;
    (void)pthread_mutex_lock(&w->directory);
    uint64_t first_carry = w->out[S_CARRY_ROW].n;
    uint64_t first_track = w->out[S_TRACKS_TRACK].n;
    marey_status status = put_carries(g);
    if (status == MAREY_OK) {
        status = out_append(w, S_TRACKS_TRACK, g->block_tracks, g->n_block_tracks);
    }
    if (status == MAREY_OK) {
        status = out_append(w, S_TRACKS_N, g->block_counts, g->n_block_tracks);
    }
    (void)pthread_mutex_lock(&w->lock);
    out_group *o = &w->groups[g->id];
    o->first_carry = first_carry;
    o->n_carry = (uint32_t)g->n_carries;
    o->blocks = g->blocks;
    o->n_blocks = g->n_blocks;
    for (size_t i = 0; i < g->n_blocks; i++) {
        out_block *b = &w->blocks[g->blocks[i]];
        b->track_first = first_track;
        first_track += b->n_tracks;
    }
    g->blocks = NULL;
    (void)pthread_mutex_unlock(&w->lock);
    (void)pthread_mutex_unlock(&w->directory);
    return status;
}

marey_status store_group_end(store_group **gg, diag *d)
{
    store_group *g = *gg;
    store_writer *w = g->w;
    *gg = NULL;
    marey_status status = flush(g, -1);
    if (status == MAREY_OK) {
        status = put_directory(g);
    }
    if (w->options.workers) { /* the pyramid goes on beside the caller */
        (void)pthread_mutex_lock(&w->lock);
        w->ending += weight_of(g);
        (void)pthread_mutex_unlock(&w->lock);
        (void)pthread_mutex_lock(&g->queue.lock);
        g->queue.ends = true;
        start_pyramid(g);
    } else {
        end_group(g);
    }
    (void)pthread_mutex_lock(&w->lock);
    status = status == MAREY_OK ? w->failed : status;
    (void)pthread_mutex_unlock(&w->lock);
    if (status != MAREY_OK) {
        return writer_report(w, status, d);
    }
    return MAREY_OK;
}
