/*
 * Contract: for any communication, comm_sum_up() gives the same sums as adding up the operations one by one in the most
 * simple way: per link, rank and communicator, in any window, for all communicators or one; the box plots' quartiles
 * are those of the sorted values, each value is inside of the whiskers or an outlier; the list is a sorted permutation
 * of the communicator's operations in the window.
 */
#include "cm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "diagnose/comm_model.h"
#include "diagnose/instances.h"

enum { RANKS = 9, GROUPS = 4, ROUNDS = 200 };

typedef struct random_run {
    prng r;
    trace_model model;
    trace_rank ranks[RANKS];
    trace_group groups[GROUPS];
    int64_t members[GROUPS][RANKS];
    comm_event *events;
    size_t n, cap;
    diagnosis g;
    comm_model m;
} random_run;

static void put(random_run *k, comm_op op, uint32_t group, int64_t seq, uint32_t rank, int64_t start, int64_t dur,
                int64_t bytes)
{
    comm_event e = {.start_ns = start,
                    .end_ns = start + dur,
                    .bytes = bytes,
                    .seq = seq,
                    .rank = rank,
                    .group = group,
                    .what = (uint32_t)op,
                    .lane = rank,
                    .step = NO_STEP,
                    .op = (uint8_t)op};
    VEC_PUSH(k->events, k->n, k->cap, e);
}

static void add_collectives(random_run *k, uint32_t group)
{
    static const comm_op ops[] = {OP_ALLREDUCE, OP_ALLGATHER, OP_BROADCAST};
    const trace_group *g = &k->groups[group];
    comm_op op = ops[prng_below(&k->r, 3)];
    uint64_t n = prng_below(&k->r, 12);
    for (uint64_t s = 0; s < n; s++) {
        int64_t start = (int64_t)prng_below(&k->r, 1000);
        int64_t bytes = prng_below(&k->r, 5) == 0 ? -1 : (int64_t)prng_below(&k->r, 4000);
        for (uint32_t i = 0; i < g->n_ranks; i++) {
            if (prng_below(&k->r, 20) > 0) { /* some are lost */
                int64_t dur = (int64_t)prng_below(&k->r, 60);
                put(k, op, group, (int64_t)s, (uint32_t)g->ranks[i], start + (int64_t)prng_below(&k->r, 30), dur,
                    bytes);
            }
        }
    }
}

static void add_transfers(random_run *k, uint32_t group)
{
    const trace_group *g = &k->groups[group];
    uint64_t n = g->n_ranks > 1 ? prng_below(&k->r, 8) : 0;
    for (uint64_t s = 0; s < n; s++) {
        int64_t end = 1000000 * (int64_t)(1 + s + 10 * group);
        int64_t sent = 1 + (int64_t)prng_below(&k->r, 500);
        int64_t received = 1 + (int64_t)prng_below(&k->r, 500);
        put(k, OP_SEND, group, (int64_t)s, (uint32_t)g->ranks[0], end - sent, sent, 4096);
        put(k, OP_RECEIVE, group, (int64_t)s, (uint32_t)g->ranks[1], end - received, received, 4096);
    }
}

static void make(random_run *k, uint64_t seed)
{
    memset(k, 0, sizeof *k);
    prng_seed(&k->r, seed);
    for (uint32_t i = 0; i < RANKS; i++) {
        k->ranks[i] = (trace_rank){.rank = i, .host = i % 2 ? "a" : "b", .label = "rank"};
    }
    for (uint32_t i = 0; i < GROUPS; i++) {
        k->groups[i] = (trace_group){"g", "", k->members[i], 0};
        for (uint32_t r = 0; r < RANKS; r++) {
            if (prng_below(&k->r, 2)) {
                k->members[i][k->groups[i].n_ranks++] = r;
            }
        }
        add_collectives(k, i);
        add_transfers(k, i);
    }
    k->model.ranks = k->ranks;
    k->model.n_ranks = RANKS;
    k->model.groups = k->groups;
    k->model.n_groups = GROUPS;
    k->g.model = &k->model;
    k->g.data.n_ranks = RANKS;
    k->g.data.comm = k->events;
    k->g.data.n_comm = k->n;
    comm_match(k->events, k->n, &k->g.data.match);
    instances_find(&k->g);
    transfers_find(&k->g);
    assert_int_equal(comm_model_make(&k->m, &k->g, NULL), MAREY_OK);
}

static bool counts(const comm_sums *r, const comm_operation *o)
{
    return o->start_ns >= r->query.t0_ns && o->start_ns < r->query.t1_ns &&
           (!r->query.only_group || o->group == r->group);
}

static void check_ranks(const random_run *k, const comm_sums *r)
{
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        int64_t transfer = 0;
        int64_t wait = 0;
        uint64_t n = 0;
        for (size_t i = 0; i < k->m.n_operations; i++) {
            const comm_operation *o = &k->m.operations[i];
            for (uint32_t j = 0; j < o->n && counts(r, o) && o->transfer_ns >= 0; j++) {
                const comm_event *e = comm_member(&k->m, o, j);
                if (e->rank == rank) {
                    n++;
                    transfer += o->transfer_ns;
                    wait += e->end_ns - e->start_ns - o->transfer_ns;
                    assert_true(e->end_ns - e->start_ns >= o->transfer_ns);
                }
            }
        }
        assert_int_equal(r->ranks[rank].n, n);
        assert_int_equal(r->ranks[rank].transfer_ns, transfer);
        assert_int_equal(r->ranks[rank].wait_ns, wait);
    }
}

/* The values of a link, found by looking at every operation. */
static size_t values_of(const random_run *k, const comm_sums *r, const comm_link *l, int64_t *out)
{
    size_t n = 0;
    for (size_t i = 0; i < k->m.n_operations; i++) {
        const comm_operation *o = &k->m.operations[i];
        bool p2p = o->op == OP_SEND;
        for (uint32_t j = 0; j < o->n && counts(r, o) && o->n > 1; j++) {
            uint32_t from = comm_member(&k->m, o, j)->rank;
            uint32_t to = comm_member(&k->m, o, (j + 1) % o->n)->rank;
            bool kind = (l->kind == LINK_P2P) == p2p;
            if (kind && (!p2p || j == 0) && from == l->from && to == l->to) {
                out[n++] = o->transfer_ns;
            }
        }
    }
    return n;
}

static int by_value(const void *pa, const void *pb)
{
    int64_t a = *(const int64_t *)pa;
    int64_t b = *(const int64_t *)pb;
    return a < b ? -1 : a > b;
}

static double quartile(const int64_t *v, size_t n, double part)
{
    double at = part * (double)(n - 1);
    double low = floor(at);
    double a = (double)v[(size_t)low];
    double b = (double)v[(size_t)ceil(at)];
    return a + (at - low) * (b - a);
}

static void check_box(const comm_box *b, int64_t *v, size_t n)
{
    assert_int_equal(b->n, n);
    if (n == 0) {
        return;
    }
    qsort(v, n, sizeof *v, by_value);
    assert_true(fabs(b->q1 - quartile(v, n, 0.25)) < 1e-6);
    assert_true(fabs(b->median - quartile(v, n, 0.5)) < 1e-6);
    assert_true(fabs(b->q3 - quartile(v, n, 0.75)) < 1e-6);
    uint32_t outside = 0;
    for (size_t i = 0; i < n; i++) {
        bool out = (double)v[i] < b->q1 - 1.5 * (b->q3 - b->q1) || (double)v[i] > b->q3 + 1.5 * (b->q3 - b->q1);
        outside += out;
        assert_true(out == ((double)v[i] < b->low || (double)v[i] > b->high));
    }
    assert_int_equal(b->n_outliers, outside);
    assert_int_equal(b->n_kept, outside < COMM_KEPT_OUTLIERS ? outside : COMM_KEPT_OUTLIERS);
}

static void check_links(const random_run *k, const comm_sums *r)
{
    int64_t *v = mem_alloc((k->m.n_items + 1) * sizeof *v);
    size_t n_items = 0;
    for (size_t i = 0; i < k->m.n_links; i++) {
        size_t n = values_of(k, r, &k->m.links[i], v);
        int64_t sum = 0;
        for (size_t j = 0; j < n; j++) {
            sum += v[j];
        }
        assert_int_equal(r->links[i].n, n);
        assert_int_equal(r->links[i].time_ns, sum);
        check_box(&r->links[i].box[COMM_TIME], v, n);
        n_items += n;
    }
    size_t expected = 0; /* every operation is on links: nothing is lost */
    for (size_t i = 0; i < k->m.n_operations; i++) {
        const comm_operation *o = &k->m.operations[i];
        expected += !counts(r, o) || o->n < 2 ? 0 : o->op == OP_SEND ? 1 : o->n;
    }
    assert_int_equal(n_items, expected);
    free(v);
}

static void check_list(const random_run *k, const comm_sums *r)
{
    uint8_t *seen = mem_calloc(k->m.n_operations + 1, 1);
    size_t expected = 0;
    for (size_t i = 0; i < k->m.n_operations; i++) {
        const comm_operation *o = &k->m.operations[i];
        expected += o->group == r->group && o->start_ns >= r->query.t0_ns && o->start_ns < r->query.t1_ns;
    }
    assert_int_equal(r->n_order, expected);
    for (size_t i = 0; i < r->n_order; i++) {
        const comm_operation *o = &k->m.operations[r->order[i]];
        assert_int_equal(o->group, r->group);
        assert_int_equal(seen[r->order[i]]++, 0);
        const comm_operation *before = i > 0 ? &k->m.operations[r->order[i - 1]] : o;
        assert_true(r->query.descending ? before->wait_ns >= o->wait_ns : before->wait_ns <= o->wait_ns);
    }
    free(seen);
}

static void sums_equal_brute_force(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        random_run k;
        make(&k, seed);
        for (int turn = 0; turn < 4; turn++) {
            int64_t a = turn == 0 ? INT64_MIN : (int64_t)prng_below(&k.r, 1000);
            int64_t b = turn == 0 ? INT64_MAX : a + (int64_t)prng_below(&k.r, 1000);
            comm_query q = {
                a, b, turn < 2 ? COMM_BUSIEST : (uint32_t)prng_below(&k.r, GROUPS), turn % 2 == 1, SORT_WAIT, turn > 1};
            comm_sums *r = comm_sum_up(&k.m, &q, NULL);
            assert_non_null(r);
            check_ranks(&k, r);
            check_links(&k, r);
            check_list(&k, r);
            comm_sums_free(&r);
        }
        comm_model_free(&k.m);
        diagnose_free(&k.g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sums_equal_brute_force)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
