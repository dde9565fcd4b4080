/*
 * Exact answers by sweeping over events in the order of their start. A row is a union of tracks; the union so far is
 * one number (and one per key), because what comes later starts later.
 *
 * Rows inside one group are served together: each block is read once. A row over several groups merges one sorted batch
 * per group.
 */
#include "store/query.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "store/reader.h"

static const uint64_t MOST_CELLS = (uint64_t)1 << 24;
static const uint64_t MOST_SHARES = (uint64_t)1 << 27;

typedef struct hit {
    int64_t start_ns, dur_ns;
    uint64_t row;
    uint32_t key;
    uint8_t severity;
} hit;

/* The events of one row in one block, sorted by start. */
typedef struct batch {
    hit *hits;
    hit *other; /* for merging */
    size_t n, cap, cap_other;
    size_t *runs; /* where each sorted run begins */
    size_t n_runs, cap_runs;
} batch;

typedef struct sweep {
    const query_grid *q;
    query_result *out;
    size_t n_shares;
    int64_t until_ns;
    int64_t *key_until_ns;
    uint32_t *tracks; /* ascending, each once */
    size_t n_tracks;
    uint32_t group; /* NO_ID: several */
} sweep;

/* ------------------------------------------------------------------ bins */

static int64_t bound_ns(const query_grid *q, uint64_t k)
{
    uint64_t width = (uint64_t)q->t1_ns - (uint64_t)q->t0_ns;
    uint64_t whole = width / q->n_bins;
    uint64_t rest = width % q->n_bins; /* k * rest < 2^48 */
    return (int64_t)((uint64_t)q->t0_ns + k * whole + k * rest / q->n_bins);
}

/* The last bin whose bound is not behind t; t0 <= t < t1. */
static uint64_t bin_of(const query_grid *q, int64_t t_ns)
{
    uint64_t width = (uint64_t)q->t1_ns - (uint64_t)q->t0_ns;
    uint64_t in = (uint64_t)t_ns - (uint64_t)q->t0_ns;
    double guess = (double)in / (double)width * (double)q->n_bins;
    uint64_t k = guess >= (double)q->n_bins ? q->n_bins - 1 : (uint64_t)guess;
    while (k > 0 && bound_ns(q, k) > t_ns) {
        k--;
    }
    while (k + 1 < q->n_bins && bound_ns(q, k + 1) <= t_ns) {
        k++;
    }
    return k;
}

/* ------------------------------------------------------------------ one event */

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void touch(query_result *r, uint64_t k, const hit *h)
{
    r->count[k]++;
    r->severity[k] = r->severity[k] > h->severity ? r->severity[k] : h->severity;
    r->dominant[k] = r->dominant[k] < h->key ? r->dominant[k] : h->key;
    if (h->dur_ns > r->longest_ns[k] || (h->dur_ns == r->longest_ns[k] && h->row < r->longest_row[k])) {
        r->longest_ns[k] = h->dur_ns;
        r->longest_row[k] = h->row;
    }
}

static void sweep_add(sweep *s, const hit *h)
{
    const query_grid *q = s->q;
    query_result *r = s->out;
    int64_t end = h->start_ns + h->dur_ns;
    int64_t from = larger(h->start_ns, q->t0_ns);
    int64_t to = smaller(end, q->t1_ns);
    uint64_t k = bin_of(q, from);
    if (h->dur_ns == 0) {
        touch(r, k, h);
        return;
    }
    int64_t *key_until = &s->key_until_ns[h->key];
    int64_t busy_from = larger(from, s->until_ns);
    int64_t key_from = larger(from, *key_until);
    int64_t lo = bound_ns(q, k);
    for (; k < q->n_bins && lo < to; k++) {
        int64_t hi = bound_ns(q, k + 1);
        if (hi > lo) {
            touch(r, k, h);
            r->busy_ns[k] += larger(0, smaller(hi, to) - larger(lo, busy_from));
            r->share_ns[k * s->n_shares + h->key] += larger(0, smaller(hi, to) - larger(lo, key_from));
        }
        lo = hi;
    }
    s->until_ns = larger(s->until_ns, to);
    *key_until = larger(*key_until, to);
}

static void choose_dominant(const sweep *s)
{
    query_result *r = s->out;
    for (uint64_t k = 0; k < s->q->n_bins; k++) {
        int64_t most = 0;
        for (size_t i = 0; i < s->n_shares; i++) {
            int64_t share = r->share_ns[k * s->n_shares + i];
            if (share > most) {
                most = share;
                r->dominant[k] = (uint32_t)i;
            }
        }
    }
}

/* ------------------------------------------------------------------ events of a row in a block */

static bool meets(const query_grid *q, int64_t start_ns, int64_t dur_ns)
{
    if (start_ns >= q->t1_ns) {
        return false;
    }
    return start_ns >= q->t0_ns || start_ns + dur_ns > q->t0_ns;
}

static uint32_t key_of(const store_file *f, const query_grid *q, uint32_t name, uint8_t klass)
{
    return q->key == KEY_CLASS ? klass : f->model.names[name].category;
}

static bool has_track(const sweep *s, uint32_t track)
{
    size_t lo = 0;
    size_t hi = s->n_tracks;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (s->tracks[mid] == track) {
            return true;
        }
        if (s->tracks[mid] < track) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return false;
}

static void begin_run(batch *b)
{
    VEC_PUSH(b->runs, b->n_runs, b->cap_runs, b->n);
}

static void gather_carry(const store_file *f, const sweep *s, const store_block_info *info, batch *b)
{
    for (uint32_t i = 0; i < info->n_carry; i++) {
        const store_carry *c = &info->carry[i];
        if (has_track(s, c->track) && meets(s->q, c->start_ns, c->dur_ns)) {
            begin_run(b);
            hit h = {c->start_ns, c->dur_ns, c->row, key_of(f, s->q, c->name, c->klass), c->flags & EVENT_SEVERITY};
            VEC_PUSH(b->hits, b->n, b->cap, h);
        }
    }
}

static void gather_track(const store_file *f, const sweep *s, const store_block_info *info, const store_columns *c,
                         uint32_t t, batch *b)
{
    begin_run(b);
    for (uint32_t i = info->offsets[t]; i < info->offsets[t + 1]; i++) {
        if (!meets(s->q, c->start_ns[i], c->dur_ns[i])) {
            continue;
        }
        hit h = {c->start_ns[i], c->dur_ns[i], info->first_row + i, key_of(f, s->q, c->name[i], c->klass[i]),
                 c->flags[i] & EVENT_SEVERITY};
        VEC_PUSH(b->hits, b->n, b->cap, h);
    }
}

/* Runs are sorted; merge neighbours until one is left. */
static void merge_runs(batch *b)
{
    VEC_RESERVE(b->other, b->cap_other, b->n + 1);
    while (b->n_runs > 1) {
        size_t kept = 0;
        for (size_t i = 0; i < b->n_runs; i += 2) {
            size_t x = b->runs[i];
            size_t mid = i + 1 < b->n_runs ? b->runs[i + 1] : b->n;
            size_t end = i + 2 < b->n_runs ? b->runs[i + 2] : b->n;
            size_t y = mid;
            b->runs[kept++] = x;
            for (size_t at = x; at < end; at++) {
                bool first = y >= end || (x < mid && b->hits[x].start_ns <= b->hits[y].start_ns);
                b->other[at] = first ? b->hits[x++] : b->hits[y++];
            }
        }
        b->n_runs = kept;
        hit *t = b->hits;
        b->hits = b->other;
        b->other = t;
        size_t cap = b->cap;
        b->cap = b->cap_other;
        b->cap_other = cap;
    }
}

static void gather(const store_file *f, const sweep *s, const store_block_info *info, const store_columns *c,
                   bool is_first, batch *b)
{
    b->n = 0;
    b->n_runs = 0;
    if (is_first) {
        gather_carry(f, s, info, b);
    }
    uint32_t t = 0;
    for (size_t i = 0; i < s->n_tracks && t < info->n_tracks; i++) {
        uint32_t lo = t;
        uint32_t hi = info->n_tracks;
        while (lo < hi) {
            uint32_t mid = lo + (hi - lo) / 2;
            if (info->tracks[mid] < s->tracks[i]) {
                lo = mid + 1;
            } else {
                hi = mid;
            }
        }
        t = lo;
        if (t < info->n_tracks && info->tracks[t] == s->tracks[i]) {
            gather_track(f, s, info, c, t, b);
        }
    }
    merge_runs(b);
}

static void batch_free(batch *b)
{
    free(b->hits);
    free(b->other);
    free(b->runs);
}

/* ------------------------------------------------------------------ rows of one group */

enum { QUERY_COLUMNS = COL_START | COL_DUR | COL_NAME | COL_CLASS | COL_FLAGS };

static marey_status sweep_group(store_file *f, uint32_t group, sweep *rows, size_t n_rows, diag *d)
{
    const query_grid *q = rows[0].q;
    store_columns c = {0};
    batch b = {0};
    uint32_t first;
    uint32_t n;
    marey_status status = store_group_load(f, group, d);
    store_blocks_in(f, group, q->t0_ns, q->t1_ns, &first, &n);
    for (uint32_t i = 0; i < n && status == MAREY_OK; i++) {
        if (is_cancelled(q->cancel)) {
            status = diag_error(d, MAREY_CANCELLED, f->path, DIAG_NO_OFFSET, "the query was cancelled");
            break;
        }
        uint32_t block = f->groups.blocks[f->groups.first_block[group] + first + i];
        store_block_info info = store_block(f, block);
        status = store_read_block(f, block, QUERY_COLUMNS, &c, d);
        for (size_t r = 0; r < n_rows && status == MAREY_OK; r++) {
            if (rows[r].group != group) {
                continue;
            }
            gather(f, &rows[r], &info, &c, i == 0, &b);
            for (size_t h = 0; h < b.n; h++) {
                sweep_add(&rows[r], &b.hits[h]);
            }
        }
    }
    store_columns_free(&c);
    batch_free(&b);
    return status;
}

/* ------------------------------------------------------------------ rows over several groups */

typedef struct stream {
    uint32_t group, first, n, next; /* blocks of the window */
    batch b;
    size_t at;
} stream;

static marey_status stream_fill(store_file *f, const sweep *s, stream *t, store_columns *c, diag *d)
{
    while (t->at == t->b.n && t->next < t->n) {
        if (is_cancelled(s->q->cancel)) {
            return diag_error(d, MAREY_CANCELLED, f->path, DIAG_NO_OFFSET, "the query was cancelled");
        }
        uint32_t block = f->groups.blocks[f->groups.first_block[t->group] + t->first + t->next];
        store_block_info info = store_block(f, block);
        marey_status status = store_read_block(f, block, QUERY_COLUMNS, c, d);
        if (status != MAREY_OK) {
            return status;
        }
        gather(f, s, &info, c, t->next == 0, &t->b);
        t->at = 0;
        t->next++;
    }
    return MAREY_OK;
}

static int64_t stream_start(const stream *t)
{
    return t->at < t->b.n ? t->b.hits[t->at].start_ns : INT64_MAX;
}

/* Restore the heap below `i`: the stream with the earliest event on top. */
static void sift(stream **heap, size_t n, size_t i)
{
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= n) {
            return;
        }
        if (child + 1 < n && stream_start(heap[child + 1]) < stream_start(heap[child])) {
            child++;
        }
        if (stream_start(heap[i]) <= stream_start(heap[child])) {
            return;
        }
        stream *t = heap[i];
        heap[i] = heap[child];
        heap[child] = t;
        i = child;
    }
}

static marey_status merge_streams(store_file *f, sweep *s, stream **heap, size_t n, diag *d)
{
    store_columns c = {0};
    marey_status status = MAREY_OK;
    for (size_t i = 0; i < n; i++) {
        MAREY_TRY(stream_fill(f, s, heap[i], &c, d));
    }
    for (size_t i = n / 2; i > 0; i--) {
        sift(heap, n, i - 1);
    }
    while (n > 0 && heap[0]->at < heap[0]->b.n) {
        stream *t = heap[0];
        sweep_add(s, &t->b.hits[t->at++]);
        MAREY_TRY(stream_fill(f, s, t, &c, d));
        sift(heap, n, 0);
    }
fail:
    store_columns_free(&c);
    return status;
}

/* Groups that the row has tracks in, each once. @return how many */
static size_t groups_of(const store_file *f, const sweep *s, uint8_t *is_used)
{
    size_t n = 0;
    memset(is_used, 0, f->n_groups);
    for (size_t i = 0; i < s->n_tracks; i++) {
        uint32_t g = store_track_group(f, s->tracks[i]);
        if (g != NO_ID && !is_used[g]) {
            is_used[g] = 1;
            n++;
        }
    }
    return n;
}

static marey_status sweep_wide(store_file *f, sweep *s, uint8_t *is_used, diag *d)
{
    size_t n = groups_of(f, s, is_used);
    stream *streams = mem_calloc(n + 1, sizeof *streams);
    stream **heap = mem_alloc((n + 1) * sizeof *heap);
    size_t k = 0;
    marey_status status = MAREY_OK;
    for (uint32_t g = 0; g < f->n_groups; g++) {
        if (!is_used[g]) {
            continue;
        }
        MAREY_TRY(store_group_load(f, g, d));
        streams[k].group = g;
        store_blocks_in(f, g, s->q->t0_ns, s->q->t1_ns, &streams[k].first, &streams[k].n);
        heap[k] = &streams[k];
        k++;
    }
    MAREY_TRY(merge_streams(f, s, heap, k, d));
fail:
    for (size_t i = 0; i < n; i++) {
        batch_free(&streams[i].b);
    }
    free(streams);
    free((void *)heap);
    return status;
}

/* ------------------------------------------------------------------ the query */

static int compare_u32(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* Ascending, each once. @return how many */
static size_t sort_unique(uint32_t *t, size_t n)
{
    size_t kept = 0;
    if (n > 0) {
        qsort(t, n, sizeof *t, compare_u32);
    }
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || t[i] != t[i - 1]) {
            t[kept++] = t[i];
        }
    }
    return kept;
}

static bool result_alloc(query_result *r, uint64_t n_bins, size_t n_shares)
{
    size_t n = (size_t)n_bins;
    r->busy_ns = mem_try_realloc_array(NULL, n, sizeof *r->busy_ns);
    r->count = mem_try_realloc_array(NULL, n, sizeof *r->count);
    r->dominant = mem_try_realloc_array(NULL, n, sizeof *r->dominant);
    r->longest_ns = mem_try_realloc_array(NULL, n, sizeof *r->longest_ns);
    r->longest_row = mem_try_realloc_array(NULL, n, sizeof *r->longest_row);
    r->share_ns = mem_try_realloc_array(NULL, n * n_shares + 1, sizeof *r->share_ns);
    r->severity = mem_try_realloc_array(NULL, n, sizeof *r->severity);
    if (!r->busy_ns || !r->count || !r->dominant || !r->longest_ns || !r->longest_row || !r->share_ns || !r->severity) {
        return false;
    }
    memset(r->busy_ns, 0, n * sizeof *r->busy_ns);
    memset(r->count, 0, n * sizeof *r->count);
    memset(r->dominant, 0xff, n * sizeof *r->dominant);
    memset(r->longest_ns, 0xff, n * sizeof *r->longest_ns);
    memset(r->longest_row, 0xff, n * sizeof *r->longest_row);
    memset(r->share_ns, 0, n * n_shares * sizeof *r->share_ns);
    memset(r->severity, 0, n);
    return true;
}

void query_free(query_result *results, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        query_result *r = &results[i];
        free(r->busy_ns);
        free(r->count);
        free(r->dominant);
        free(r->longest_ns);
        free(r->longest_row);
        free(r->share_ns);
        free(r->severity);
        *r = (query_result){0};
    }
}

static marey_status check_grid(const store_file *f, const query_grid *q, size_t n_shares, diag *d)
{
    if (q->t1_ns <= q->t0_ns || q->n_bins == 0 || q->n_bins > MOST_CELLS ||
        (q->n_rows > 0 && q->n_bins > MOST_CELLS / q->n_rows) ||
        (q->n_rows > 0 && n_shares > 0 && q->n_bins * q->n_rows > MOST_SHARES / n_shares)) {
        return diag_error(d, MAREY_RANGE, f->path, DIAG_NO_OFFSET,
                          "the grid is empty or has too many cells (%zu rows, %llu bins)", q->n_rows,
                          (unsigned long long)q->n_bins);
    }
    for (size_t r = 0; r < q->n_rows; r++) {
        for (size_t i = 0; i < q->rows[r].n_tracks; i++) {
            if (q->rows[r].tracks[i] >= f->model.n_tracks) {
                return diag_error(d, MAREY_RANGE, f->path, DIAG_NO_OFFSET, "there is no track %u",
                                  q->rows[r].tracks[i]);
            }
        }
    }
    return MAREY_OK;
}

static marey_status sweep_init(sweep *s, const store_file *f, const query_grid *q, size_t r, query_result *out, diag *d,
                               uint8_t *is_used)
{
    *s = (sweep){.q = q, .out = out, .until_ns = INT64_MIN, .group = NO_ID};
    s->n_shares = q->key == KEY_CLASS ? CLASS_COUNT : f->model.n_categories;
    if (!result_alloc(out, q->n_bins, s->n_shares)) {
        return diag_error(d, MAREY_NOMEM, f->path, DIAG_NO_OFFSET, "there is no memory for the answer");
    }
    s->key_until_ns = mem_alloc((s->n_shares + 1) * sizeof *s->key_until_ns);
    for (size_t k = 0; k < s->n_shares; k++) {
        s->key_until_ns[k] = INT64_MIN;
    }
    size_t n = q->rows[r].n_tracks;
    s->tracks = mem_alloc((n + 1) * sizeof *s->tracks);
    if (n > 0) {
        memcpy(s->tracks, q->rows[r].tracks, n * sizeof *s->tracks);
    }
    s->n_tracks = sort_unique(s->tracks, n);
    if (groups_of(f, s, is_used) == 1) {
        s->group = (uint32_t)((uint8_t *)memchr(is_used, 1, f->n_groups) - is_used);
    }
    return MAREY_OK;
}

static marey_status sweep_all(store_file *f, sweep *rows, size_t n_rows, uint8_t *is_used, diag *d)
{
    uint8_t *is_done = mem_calloc(f->n_groups + 1, 1);
    marey_status status = MAREY_OK;
    for (size_t r = 0; r < n_rows && status == MAREY_OK; r++) {
        if (rows[r].group == NO_ID) {
            status = sweep_wide(f, &rows[r], is_used, d);
        } else if (!is_done[rows[r].group]) {
            is_done[rows[r].group] = 1;
            status = sweep_group(f, rows[r].group, rows, n_rows, d);
        }
    }
    free(is_done);
    return status;
}

marey_status store_query(store_file *f, const query_grid *q, query_result *results, diag *d)
{
    size_t n_shares = q->key == KEY_CLASS ? CLASS_COUNT : f->model.n_categories;
    marey_status status = check_grid(f, q, n_shares, d);
    if (status != MAREY_OK) {
        return status;
    }
    sweep *rows = mem_calloc(q->n_rows + 1, sizeof *rows);
    uint8_t *is_used = mem_calloc(f->n_groups + 1, 1);
    for (size_t r = 0; r < q->n_rows; r++) {
        MAREY_TRY(sweep_init(&rows[r], f, q, r, &results[r], d, is_used));
    }
    MAREY_TRY(sweep_all(f, rows, q->n_rows, is_used, d));
    for (size_t r = 0; r < q->n_rows; r++) {
        choose_dominant(&rows[r]);
    }
fail:
    for (size_t r = 0; r < q->n_rows; r++) {
        free(rows[r].key_until_ns);
        free(rows[r].tracks);
    }
    free(rows);
    free(is_used);
    if (status != MAREY_OK) {
        query_free(results, q->n_rows);
    }
    return status;
}

/* ------------------------------------------------------------------ visiting */

typedef struct visitor {
    const sweep *row;
    query_visit visit;
    void *ctx;
} visitor;

static bool visit_carry(const visitor *v, const store_block_info *info)
{
    for (uint32_t i = 0; i < info->n_carry; i++) {
        const store_carry *c = &info->carry[i];
        store_event_info e = {c->row, c->track, c->name, c->instance, c->start_ns, c->dur_ns, c->klass, c->flags};
        if (has_track(v->row, c->track) && meets(v->row->q, c->start_ns, c->dur_ns) && !v->visit(v->ctx, &e)) {
            return false;
        }
    }
    return true;
}

static bool visit_track(const visitor *v, const store_block_info *info, const store_columns *c, uint32_t t)
{
    for (uint32_t i = info->offsets[t]; i < info->offsets[t + 1]; i++) {
        if (!meets(v->row->q, c->start_ns[i], c->dur_ns[i])) {
            continue;
        }
        store_event_info e = {info->first_row + i, info->tracks[t], c->name[i],  c->instance[i],
                              c->start_ns[i],      c->dur_ns[i],    c->klass[i], c->flags[i]};
        if (!v->visit(v->ctx, &e)) {
            return false;
        }
    }
    return true;
}

/* @return false when the visitor stopped */
static bool visit_block(const visitor *v, const store_block_info *info, const store_columns *c, bool is_first)
{
    if (is_first && !visit_carry(v, info)) {
        return false;
    }
    for (uint32_t t = 0; t < info->n_tracks; t++) {
        if (has_track(v->row, info->tracks[t]) && !visit_track(v, info, c, t)) {
            return false;
        }
    }
    return true;
}

static marey_status visit_group(store_file *f, const visitor *v, uint32_t group, store_columns *c, bool *goes_on,
                                diag *d)
{
    uint32_t first;
    uint32_t n;
    marey_status status = store_group_load(f, group, d);
    store_blocks_in(f, group, v->row->q->t0_ns, v->row->q->t1_ns, &first, &n);
    for (uint32_t i = 0; i < n && status == MAREY_OK && *goes_on; i++) {
        uint32_t block = f->groups.blocks[f->groups.first_block[group] + first + i];
        store_block_info info = store_block(f, block);
        status = store_read_block(f, block, COL_ALL, c, d);
        *goes_on = status == MAREY_OK && visit_block(v, &info, c, i == 0);
    }
    return status;
}

marey_status store_visit(store_file *f, const query_row *row, int64_t t0_ns, int64_t t1_ns, query_visit visit,
                         void *ctx, diag *d)
{
    query_grid q = {.t0_ns = t0_ns, .t1_ns = t1_ns, .n_bins = 1, .rows = row, .n_rows = 1};
    marey_status status = check_grid(f, &q, 0, d);
    if (status != MAREY_OK) {
        return status;
    }
    uint8_t *is_used = mem_calloc(f->n_groups + 1, 1);
    sweep s = {.q = &q, .tracks = mem_alloc((row->n_tracks + 1) * sizeof(uint32_t))};
    if (row->n_tracks > 0) {
        memcpy(s.tracks, row->tracks, row->n_tracks * sizeof *s.tracks);
    }
    s.n_tracks = sort_unique(s.tracks, row->n_tracks);
    (void)groups_of(f, &s, is_used);
    store_columns c = {0};
    visitor v = {&s, visit, ctx};
    bool goes_on = true;
    for (uint32_t g = 0; g < f->n_groups && status == MAREY_OK && goes_on; g++) {
        if (is_used[g]) {
            status = visit_group(f, &v, g, &c, &goes_on, d);
        }
    }
    store_columns_free(&c);
    free(s.tracks);
    free(is_used);
    return status;
}
