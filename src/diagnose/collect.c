#include "diagnose/collect.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "diagnose/collect_steps.h"

/* LINK_LIMIT keeps the table of launches within 256 MB; KEPT_BLOCKS are those whose starts launches are looked up in.
 */
enum { LINK_LIMIT = 16 << 20, KEPT_BLOCKS = 8, READ_PIECE = 65536, MAX_NAMES_HASHED = 4 << 20 };

typedef struct coll_row {
    uint64_t row;
    int64_t bytes, seq;
    uint32_t group, what;
} coll_row;

/* What all groups share, read only. */
typedef struct shared {
    store_file *f;
    collected *out;
    coll_row *rows;
    size_t n_rows;
    uint64_t *launch_from, *launch_to;
    size_t n_launches;
    cancel_flag *cancel;
    collect_progress *progress;
} shared;

/* A device event of the block at hand. */
typedef struct item {
    int64_t start_ns, end_ns;
    uint32_t i; /* in the block */
    uint32_t lane;
    uint8_t klass; /* BUSY_* */
} item;

/* Places in the job's comm. */
typedef struct running_list {
    size_t *at, n, cap;
} running_list;

typedef struct group_job {
    const shared *s;
    uint32_t group;
    store_group_info info;
    sweep *sweeps;         /* [n_ranks] */
    running_list *running; /* [n_ranks] */
    item *items;
    size_t n_items, cap_items;
    store_columns columns;
    int64_t *kept[KEPT_BLOCKS]; /* starts of recent blocks */
    uint64_t kept_row[KEPT_BLOCKS];
    uint32_t kept_n[KEPT_BLOCKS];
    unsigned next_kept;
    comm_event *comm;
    size_t n_comm, cap_comm;
    map64 operator_keys;
    operator_sum *operators;
    size_t n_operators, cap_operators;
    uint64_t n_damaged;
    marey_status status;
    diag diag;
} group_job;

/* ------------------------------------------------------------------ side tables */

static size_t lower_row(const coll_row *r, size_t n, uint64_t row)
{
    size_t lo = 0;
    size_t hi = n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (r[mid].row < row) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo;
}

static size_t lower_u64(const uint64_t *v, size_t n, uint64_t key)
{
    size_t lo = 0;
    size_t hi = n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (v[mid] < key) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo;
}

static marey_status read_collectives(shared *s, diag *d)
{
    uint64_t n = store_model(s->f)->n_collectives;
    store_collective *piece = mem_alloc(READ_PIECE * sizeof *piece);
    marey_status status = MAREY_OK;
    size_t cap = 0;
    for (uint64_t first = 0; first < n && status == MAREY_OK; first += READ_PIECE) {
        size_t count = n - first < READ_PIECE ? (size_t)(n - first) : READ_PIECE;
        status = store_read_collectives(s->f, first, count, piece, d);
        for (size_t i = 0; i < count && status == MAREY_OK; i++) {
            coll_row r = {piece[i].row, piece[i].bytes, piece[i].seq, piece[i].group, piece[i].what};
            VEC_PUSH(s->rows, s->n_rows, cap, r);
        }
    }
    free(piece);
    return status;
}

static marey_status read_side(shared *s, diag *d)
{
    const trace_model *m = store_model(s->f);
    marey_status status = read_collectives(s, d);
    if (status == MAREY_OK && m->n_links > 0 && m->n_links <= LINK_LIMIT) {
        status = store_read_launches(s->f, &s->launch_from, &s->launch_to, &s->n_launches, d);
    }
    s->out->has_launches = s->n_launches > 0;
    return status;
}

/* ------------------------------------------------------------------ one block */

static unsigned busy_class(trace_kind kind, uint8_t klass)
{
    switch (kind) {
    case KIND_COMPUTE:
        return BUSY_COMPUTE;
    case KIND_COPY:
        return BUSY_COPY;
    default:
        return klass == CLASS_SEND || klass == CLASS_RECEIVE ? BUSY_P2P : BUSY_COLLECTIVE;
    }
}

static int by_start(const void *pa, const void *pb)
{
    const item *a = pa;
    const item *b = pb;
    if (a->start_ns != b->start_ns) {
        return a->start_ns < b->start_ns ? -1 : 1;
    }
    if (a->end_ns != b->end_ns) {
        return a->end_ns > b->end_ns ? -1 : 1;
    }
    return a->i < b->i ? -1 : a->i > b->i;
}

static void keep_starts(group_job *j, uint64_t first_row, const store_columns *c)
{
    unsigned k = j->next_kept++ % KEPT_BLOCKS;
    if (!j->kept[k]) {
        j->kept[k] = mem_alloc(BLOCK_EVENTS * sizeof **j->kept);
    }
    memcpy(j->kept[k], c->start_ns, c->n * sizeof **j->kept);
    j->kept_row[k] = first_row;
    j->kept_n[k] = c->n;
}

/* A launch so far back that its block is not kept came long before the kernel: INT64_MIN + 1 says "early". */
static int64_t launch_of(const group_job *j, uint64_t row)
{
    const shared *s = j->s;
    size_t at = lower_u64(s->launch_to, s->n_launches, row);
    if (at == s->n_launches || s->launch_to[at] != row) {
        return LAUNCH_UNKNOWN;
    }
    uint64_t from = s->launch_from[at];
    for (unsigned k = 0; k < KEPT_BLOCKS; k++) {
        if (j->kept[k] && from >= j->kept_row[k] && from - j->kept_row[k] < j->kept_n[k]) {
            return j->kept[k][from - j->kept_row[k]];
        }
    }
    return INT64_MIN + 1;
}

static uint32_t step_at(const collected *c, size_t rank, int64_t ns)
{
    size_t lo = 0;
    size_t hi = c->n_steps;
    const rank_step *w = collected_cell(c, rank, 0);
    while (lo < hi) { /* windows ascend; a step that the rank lacks is empty and stands between its neighbours */
        size_t mid = lo + (hi - lo) / 2;
        if (w[mid].start_ns <= ns) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    while (lo > 0 && w[lo - 1].end_ns <= w[lo - 1].start_ns) {
        lo--;
    }
    return lo > 0 && ns < w[lo - 1].end_ns ? (uint32_t)(lo - 1) : NO_STEP;
}

/* Collectives without a communicator belong to the rank's own pipeline stage, as far as that is known. */
static uint32_t peers_of(const trace_model *m, uint32_t rank, uint32_t group)
{
    return group == NO_ID ? (uint32_t)(m->ranks[rank].stage + 1) : 0;
}

/* Communications that run: what the rank has computed when they end is not known yet. */
static void settle_ended(group_job *j, uint32_t rank, int64_t now_ns)
{
    running_list *p = &j->running[rank - j->info.first_rank];
    sweep *sw = &j->sweeps[rank - j->info.first_rank];
    while (p->n > 0) {
        size_t first = 0;
        for (size_t i = 1; i < p->n; i++) {
            first = j->comm[p->at[i]].end_ns < j->comm[p->at[first]].end_ns ? i : first;
        }
        comm_event *e = &j->comm[p->at[first]];
        if (e->end_ns > now_ns) {
            return;
        }
        sweep_to(sw, e->end_ns);
        e->compute_end_ns = sw->compute_ns;
        p->at[first] = p->at[--p->n];
    }
}

static void add_comm(group_job *j, uint32_t rank, const item *it, uint64_t row, int64_t ready_ns)
{
    const sweep *sw = &j->sweeps[rank - j->info.first_rank];
    const shared *s = j->s;
    size_t at = lower_row(s->rows, s->n_rows, row);
    bool known = at < s->n_rows && s->rows[at].row == row;
    uint8_t klass = j->columns.klass[it->i];
    comm_event e = {.start_ns = it->start_ns,
                    .end_ns = it->end_ns,
                    .bytes = known ? s->rows[at].bytes : -1,
                    .seq = known ? s->rows[at].seq : -1,
                    .ready_ns = ready_ns,
                    .compute_ns = sw->compute_ns,
                    .rank = rank,
                    .group = known ? s->rows[at].group : NO_ID,
                    .what = known ? s->rows[at].what : NO_ID,
                    .lane = it->lane,
                    .step = step_at(s->out, rank, it->start_ns),
                    .op = OP_OTHER};
    e.peers = peers_of(store_model(s->f), rank, e.group);
    if (klass == CLASS_SEND || klass == CLASS_RECEIVE) {
        e.op = klass == CLASS_SEND ? OP_SEND : OP_RECEIVE;
    } else if (known) {
        e.op = (uint8_t)comm_op_of(store_string(s->f, e.what));
    }
    running_list *p = &j->running[rank - j->info.first_rank];
    VEC_PUSH(p->at, p->n, p->cap, j->n_comm);
    VEC_PUSH(j->comm, j->n_comm, j->cap_comm, e);
}

static void add_operator(group_job *j, uint32_t rank, uint32_t name, const item *it)
{
    uint64_t *at = map64_put(&j->operator_keys, (uint64_t)rank << 32 | name);
    if (*at == 0) {
        if (j->n_operators == MAX_NAMES_HASHED) {
            return;
        }
        VEC_PUSH(j->operators, j->n_operators, j->cap_operators, ((operator_sum){.rank = rank, .name = name}));
        *at = j->n_operators;
    }
    operator_sum *o = &j->operators[*at - 1];
    o->n++;
    o->sum_ns += it->end_ns - it->start_ns;
    if (it->end_ns - it->start_ns > o->max_ns) {
        o->max_ns = it->end_ns - it->start_ns;
        o->max_at_ns = it->start_ns;
    }
}

static void gather_items(group_job *j, const store_block_info *b, uint32_t k)
{
    const trace_model *m = store_model(j->s->f);
    uint32_t lane = m->tracks[b->tracks[k]].lane;
    trace_kind kind = m->lanes[lane].kind;
    for (uint32_t i = b->offsets[k]; i < b->offsets[k + 1]; i++) {
        int64_t start = j->columns.start_ns[i];
        item it = {start, start + j->columns.dur_ns[i], i, lane, (uint8_t)busy_class(kind, j->columns.klass[i])};
        VEC_PUSH(j->items, j->n_items, j->cap_items, it);
    }
}

/* The events of one rank in this block, in order of start. */
static void run_items(group_job *j, const store_block_info *b, uint32_t rank)
{
    if (j->n_items == 0) {
        return;
    }
    sweep *sw = &j->sweeps[rank - j->info.first_rank];
    qsort(j->items, j->n_items, sizeof *j->items, by_start);
    for (size_t i = 0; i < j->n_items; i++) {
        const item *it = &j->items[i];
        settle_ended(j, rank, it->start_ns);
        int64_t ready_ns = it->klass == BUSY_P2P ? sweep_free_since(sw, it->start_ns) : it->start_ns;
        bool opens = sw->idle_from_ns != INT64_MAX || it->start_ns > sw->now_ns;
        int64_t launch = opens && j->s->n_launches > 0 ? launch_of(j, b->first_row + it->i) : LAUNCH_UNKNOWN;
        sweep_put(sw, it->klass, it->start_ns, it->end_ns, launch);
        if (it->klass & (BUSY_COLLECTIVE | BUSY_P2P)) {
            add_comm(j, rank, it, b->first_row + it->i, ready_ns);
        } else if (it->klass == BUSY_COMPUTE) {
            add_operator(j, rank, j->columns.name[it->i], it);
        }
    }
    j->n_items = 0;
}

/* Tracks ascend, and with them lanes and ranks. */
static void run_block(group_job *j, const store_block_info *b)
{
    const trace_model *m = store_model(j->s->f);
    uint32_t rank = NO_ID;
    if (j->s->n_launches > 0) {
        keep_starts(j, b->first_row, &j->columns);
    }
    for (uint32_t k = 0; k < b->n_tracks; k++) {
        const trace_lane *l = &m->lanes[m->tracks[b->tracks[k]].lane];
        if (!kind_is_device(l->kind)) {
            continue;
        }
        if (l->rank != rank && rank != NO_ID) {
            run_items(j, b, rank);
        }
        rank = l->rank;
        gather_items(j, b, k);
    }
    if (rank != NO_ID) {
        run_items(j, b, rank);
    }
}

/* ------------------------------------------------------------------ one group */

static void run_group(void *ctx)
{
    group_job *j = ctx;
    const shared *s = j->s;
    unsigned columns = COL_START | COL_DUR | COL_NAME | COL_CLASS;
    j->sweeps = mem_calloc(j->info.n_ranks, sizeof *j->sweeps);
    j->running = mem_calloc(j->info.n_ranks, sizeof *j->running);
    for (uint32_t r = 0; r < j->info.n_ranks; r++) {
        sweep_begin(&j->sweeps[r], collected_cell(s->out, j->info.first_rank + r, 0), s->out->n_steps);
    }
    for (uint32_t i = 0; i < j->info.n_blocks; i++) {
        if (is_cancelled(s->cancel)) {
            j->status = MAREY_CANCELLED;
            break;
        }
        if (s->progress) {
            atomic_fetch_add_explicit(&s->progress->done, 1, memory_order_relaxed);
        }
        store_block_info b = store_block(s->f, j->info.blocks[i]);
        marey_status status =
            b.is_damaged ? MAREY_FORMAT : store_read_block(s->f, j->info.blocks[i], columns, &j->columns, &j->diag);
        if (status != MAREY_OK) {
            j->n_damaged++;
            continue;
        }
        run_block(j, &b);
    }
    for (uint32_t r = 0; r < j->info.n_ranks; r++) {
        settle_ended(j, j->info.first_rank + r, INT64_MAX);
        sweep_end(&j->sweeps[r]);
        free(j->running[r].at);
    }
    free(j->running);
    free(j->sweeps);
    free(j->items);
    store_columns_free(&j->columns);
    for (unsigned k = 0; k < KEPT_BLOCKS; k++) {
        free(j->kept[k]);
    }
    map64_deinit(&j->operator_keys);
}

static void join_groups(collected *out, group_job *jobs, size_t n)
{
    size_t n_comm = 0;
    size_t n_operators = 0;
    for (size_t i = 0; i < n; i++) {
        n_comm += jobs[i].n_comm;
        n_operators += jobs[i].n_operators;
    }
    out->comm = mem_alloc((n_comm + 1) * sizeof *out->comm);
    out->operators = mem_alloc((n_operators + 1) * sizeof *out->operators);
    for (size_t i = 0; i < n; i++) {
        if (jobs[i].n_comm > 0) {
            memcpy(out->comm + out->n_comm, jobs[i].comm, jobs[i].n_comm * sizeof *out->comm);
        }
        if (jobs[i].n_operators > 0) {
            memcpy(out->operators + out->n_operators, jobs[i].operators, jobs[i].n_operators * sizeof *out->operators);
        }
        out->n_comm += jobs[i].n_comm;
        out->n_operators += jobs[i].n_operators;
        out->n_damaged += jobs[i].n_damaged;
        free(jobs[i].comm);
        free(jobs[i].operators);
    }
}

static int by_rank_and_name(const void *pa, const void *pb)
{
    const operator_sum *a = pa;
    const operator_sum *b = pb;
    if (a->rank != b->rank) {
        return a->rank < b->rank ? -1 : 1;
    }
    return a->name < b->name ? -1 : a->name > b->name;
}

static void announce_blocks(const shared *s)
{
    unsigned n = 0;
    for (uint32_t g = 0; s->progress && g < store_n_groups(s->f); g++) {
        store_group_info info = store_group_at(s->f, g);
        n += info.kind == GROUP_EVENTS ? info.n_blocks : 0;
    }
    if (s->progress) {
        atomic_store_explicit(&s->progress->of, n, memory_order_relaxed);
    }
}

static marey_status run_groups(shared *s, unsigned n_threads, diag *d)
{
    size_t n_groups = store_n_groups(s->f);
    group_job *jobs = mem_calloc(n_groups + 1, sizeof *jobs);
    size_t n = 0;
    announce_blocks(s);
    pool *p = n_threads > 1 ? pool_create(n_threads) : NULL;
    for (uint32_t g = 0; g < n_groups; g++) {
        store_group_info info = store_group_at(s->f, g);
        if (info.kind != GROUP_EVENTS || (size_t)info.first_rank + info.n_ranks > s->out->n_ranks) {
            continue;
        }
        jobs[n] = (group_job){.s = s, .group = g, .info = info};
        diag_init(&jobs[n].diag);
        if (p) {
            pool_run(p, run_group, &jobs[n]);
        } else {
            run_group(&jobs[n]);
        }
        n++;
    }
    if (p) {
        pool_wait(p);
        pool_destroy(&p);
    }
    marey_status status = MAREY_OK;
    for (size_t i = 0; i < n; i++) {
        status = jobs[i].status != MAREY_OK ? jobs[i].status : status;
        diag_merge(d, &(diag){.messages = jobs[i].diag.messages, .n_messages = jobs[i].diag.n_messages});
        diag_deinit(&jobs[i].diag);
    }
    join_groups(s->out, jobs, n);
    free(jobs);
    return status;
}

marey_status collect(store_file *f, unsigned jobs, cancel_flag *cancel, collect_progress *progress, collected *out,
                     diag *d)
{
    memset(out, 0, sizeof *out);
    collect_steps(store_model(f), out);
    shared s = {.f = f, .out = out, .cancel = cancel, .progress = progress};
    marey_status status = read_side(&s, d);
    if (status == MAREY_OK) {
        status = run_groups(&s, jobs ? jobs : thread_cores(), d);
    }
    free(s.rows);
    free(s.launch_from);
    free(s.launch_to);
    if (status != MAREY_OK) {
        return status;
    }
    comm_match(out->comm, out->n_comm, &out->match);
    if (out->n_operators > 0) {
        qsort(out->operators, out->n_operators, sizeof *out->operators, by_rank_and_name);
    }
    return MAREY_OK;
}

void collected_free(collected *c)
{
    free(c->step_index);
    free(c->cells);
    free(c->has_device);
    free(c->comm);
    free(c->operators);
    comm_matching_free(&c->match);
    *c = (collected){0};
}
