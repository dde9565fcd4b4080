/*
 * Contract: transfer = min duration over ranks, wait = duration - transfer, algorithm bandwidth = bytes / transfer, bus
 * bandwidth = algorithm x factor; a collective is booked on the ring of its ranks with bytes x factor, a transfer on
 * its own link; operations belong to the window [t0, t1) in which they start; unmatched ones are counted and in no sum;
 * box plots have quartiles by linear interpolation, whiskers within 1.5 IQR and the outliers beyond; lists sort both
 * ways with ties by start. The numbers are the design's hand-made traces.
 */
#include "cm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "diagnose/comm_model.h"
#include "diagnose/instances.h"

enum { MS = 1000000, MAX_EVENTS = 256, RANKS = 8 };

typedef struct made {
    trace_model model;
    trace_rank ranks[RANKS];
    trace_group groups[2];
    comm_event events[MAX_EVENTS];
    size_t n;
    diagnosis g;
    comm_model m;
} made;

static void begin(made *k)
{
    memset(k, 0, sizeof *k);
    for (int i = 0; i < RANKS; i++) {
        k->ranks[i] = (trace_rank){.rank = i, .host = i < 4 ? "a" : "b", .label = "rank"};
    }
    static int64_t all[RANKS] = {0, 1, 2, 3, 4, 5, 6, 7};
    k->groups[0] = (trace_group){"0", "tensor", all, 4};
    k->groups[1] = (trace_group){"1", "", all, RANKS};
    k->model.ranks = k->ranks;
    k->model.n_ranks = RANKS;
    k->model.groups = k->groups;
    k->model.n_groups = 2;
}

static void put(made *k, comm_op op, uint32_t group, int64_t seq, uint32_t rank, double start_ms, double end_ms,
                int64_t bytes)
{
    assert_true(k->n < MAX_EVENTS);
    k->events[k->n++] = (comm_event){.start_ns = (int64_t)(start_ms * MS),
                                     .end_ns = (int64_t)(end_ms * MS),
                                     .bytes = bytes,
                                     .seq = seq,
                                     .rank = rank,
                                     .group = group,
                                     .what = (uint32_t)op,
                                     .lane = rank,
                                     .step = NO_STEP,
                                     .op = (uint8_t)op};
}

static void match(made *k)
{
    k->g.model = &k->model;
    k->g.data.n_ranks = RANKS;
    k->g.data.comm = malloc(sizeof k->events);
    assert_non_null(k->g.data.comm);
    memcpy(k->g.data.comm, k->events, k->n * sizeof *k->events);
    k->g.data.n_comm = k->n;
    comm_match(k->g.data.comm, k->n, &k->g.data.match);
    instances_find(&k->g);
    transfers_find(&k->g);
    assert_int_equal(comm_model_make(&k->m, &k->g, NULL), MAREY_OK);
}

static void end(made *k)
{
    comm_model_free(&k->m);
    diagnose_free(&k->g);
}

static comm_query whole(void)
{
    return (comm_query){.t0_ns = INT64_MIN, .t1_ns = INT64_MAX, .group = COMM_BUSIEST};
}

static const comm_link_sum *sum_of(const made *k, const comm_sums *r, uint32_t from, uint32_t to, link_kind kind)
{
    for (size_t i = 0; i < k->m.n_links; i++) {
        const comm_link *l = &k->m.links[i];
        if (l->from == from && l->to == to && l->kind == kind) {
            return &r->links[i];
        }
    }
    return NULL;
}

static void one_late_rank(void **state)
{
    (void)state;
    made k;
    begin(&k);
    for (uint32_t i = 0; i < 4; i++) {
        put(&k, OP_ALLREDUCE, 0, 0, i, i == 3 ? 9 : 0, 10, INT64_C(1) << 30);
    }
    match(&k);
    assert_int_equal(k.m.n_operations, 1);
    const comm_operation *o = &k.m.operations[0];
    assert_int_equal(o->transfer_ns, 1 * MS);
    assert_int_equal(o->wait_ns, 27 * MS);
    assert_int_equal(o->skew_ns, 9 * MS);
    assert_int_equal(o->spread_ns, 0);
    assert_int_equal(o->last_rank, 3);
    double plain = (double)(INT64_C(1) << 30) / 1e-3;
    assert_true(fabs(comm_algorithm_bandwidth(o) / plain - 1) < 1e-12);
    assert_true(fabs(comm_bus_bandwidth(o) / plain - 1.5) < 1e-12);
    comm_query q = whole();
    comm_sums *r = comm_sum_up(&k.m, &q, NULL);
    assert_int_equal(r->ranks[3].wait_ns, 0);
    assert_int_equal(r->ranks[3].n_last, 1);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(r->ranks[i].transfer_ns, 1 * MS);
        assert_int_equal(r->ranks[i].wait_ns, 9 * MS);
        assert_int_equal(r->ranks[i].n_last, 0);
    }
    assert_int_equal(k.m.n_links, 4);
    for (uint32_t i = 0; i < 4; i++) {
        const comm_link_sum *s = sum_of(&k, r, i, (i + 1) % 4, LINK_RING);
        assert_non_null(s);
        assert_int_equal(s->time_ns, 1 * MS);
        assert_true(s->bytes == 1.5 * (double)(INT64_C(1) << 30));
        assert_true(fabs(s->bandwidth / (1.5 * plain) - 1) < 1e-9);
    }
    comm_sums_free(&r);
    end(&k);
}

/* 1 GiB over 8 ranks in 10 ms: 107.4 GB/s, bus 187.9 GB/s. */
static void bandwidth_of_eight(void **state)
{
    (void)state;
    made k;
    begin(&k);
    for (uint32_t i = 0; i < 8; i++) {
        put(&k, OP_ALLREDUCE, 1, 0, i, 0, 10, INT64_C(1) << 30);
    }
    match(&k);
    assert_true(fabs(comm_algorithm_bandwidth(&k.m.operations[0]) - 107.3741824e9) < 1);
    assert_true(fabs(comm_bus_bandwidth(&k.m.operations[0]) - 187.9048192e9) < 1);
    char name[64];
    comm_group_name(&k.m, 0, name, sizeof name);
    assert_string_equal(name, "1"); /* without a description its name */
    comm_group_ranks(&k.m, 0, name, sizeof name);
    assert_string_equal(name, "0\xE2\x80\x93"
                              "7");
    end(&k);
}

static void transfers_have_their_link(void **state)
{
    (void)state;
    made k;
    begin(&k);
    put(&k, OP_SEND, 1, 0, 2, 3, 5, 1000);
    put(&k, OP_RECEIVE, 1, 0, 6, 0, 5, 1000);
    match(&k);
    assert_int_equal(k.m.n_operations, 1);
    const comm_operation *o = &k.m.operations[0];
    assert_int_equal(o->start_ns, 0);
    assert_int_equal(o->transfer_ns, 2 * MS);
    assert_int_equal(o->wait_ns, 3 * MS);
    assert_int_equal(o->last_rank, 2);
    assert_int_equal(comm_member(&k.m, o, 0)->rank, 2);
    assert_int_equal(comm_member(&k.m, o, 1)->rank, 6);
    assert_int_equal(k.m.n_links, 1);
    assert_true(k.m.links[0].crosses_hosts);
    comm_query q = whole();
    comm_sums *r = comm_sum_up(&k.m, &q, NULL);
    const comm_link_sum *s = sum_of(&k, r, 2, 6, LINK_P2P);
    assert_non_null(s);
    assert_true(s->bytes == 1000);
    assert_true(fabs(s->bandwidth - 5e5) < 1e-6);
    assert_int_equal(r->n_p2p, 1);
    comm_sums_free(&r);
    end(&k);
}

/* It waits most, but for where the pipeline ends. */
static void across_stages_is_not_listed_first(void **state)
{
    (void)state;
    made k;
    begin(&k);
    for (int i = 0; i < RANKS; i++) {
        k.ranks[i].stage = i / 4;
    }
    for (uint32_t r = 0; r < RANKS; r++) {
        put(&k, OP_ALLREDUCE, 1, 0, r, r < 4 ? 0 : 90, 100, 4);
        if (r < 4) {
            put(&k, OP_ALLREDUCE, 0, 0, r, 200, 210, 1000);
        }
    }
    match(&k);
    comm_query q = whole();
    comm_sums *r = comm_sum_up(&k.m, &q, NULL);
    assert_non_null(r);
    assert_int_equal(k.m.groups[r->group_order[0]].id, 1);
    assert_int_equal(k.m.groups[r->group].id, 0);
    comm_sums_free(&r);
    for (int i = 0; i < RANKS; i++) {
        k.ranks[i].stage = 0;
    }
    r = comm_sum_up(&k.m, &q, NULL);
    assert_int_equal(k.m.groups[r->group].id, 1);
    comm_sums_free(&r);
    end(&k);
}

static void windows_are_half_open(void **state)
{
    (void)state;
    made k;
    begin(&k);
    for (int64_t step = 0; step < 3; step++) {
        for (uint32_t i = 0; i < 4; i++) {
            double t = (double)step * 20;
            put(&k, OP_ALLREDUCE, 0, step, i, t + i, t + 10, 100);
        }
    }
    put(&k, OP_ALLGATHER, 1, 0, 5, 21, 22, 100); /* nobody else was recorded */
    match(&k);
    comm_query q = {.t0_ns = 0, .t1_ns = 40 * MS, .group = COMM_BUSIEST};
    comm_sums *r = comm_sum_up(&k.m, &q, NULL);
    assert_int_equal(r->n, 3); /* the third starts at 40 ms */
    assert_int_equal(r->n_unmatched, 1);
    assert_int_equal(r->ranks[5].n, 0);
    assert_int_equal(r->ranks[5].transfer_ns + r->ranks[5].wait_ns, 0);
    assert_int_equal(r->ranks[0].transfer_ns, 2 * 7 * MS);
    assert_int_equal(k.m.groups[r->group].id, 0);
    assert_int_equal(r->n_order, 2);
    comm_sums_free(&r);
    q.t0_ns = 1;
    r = comm_sum_up(&k.m, &q, NULL);
    assert_int_equal(r->n, 2);
    comm_sums_free(&r);
    q.only_group = true;
    r = comm_sum_up(&k.m, &q, NULL);
    assert_int_equal(r->n, 1);
    assert_int_equal(r->n_unmatched, 0);
    comm_sums_free(&r);
    end(&k);
}

/* Transfers of 10, 11, 12, 13, 14 and 100 ms: quartiles 11.25, 12.5, 13.75; whiskers 10 and 14; one outlier. */
static void outliers_by_tukey(void **state)
{
    (void)state;
    static const double ms[] = {12, 10, 100, 14, 11, 13};
    made k;
    begin(&k);
    double t = 0;
    for (int i = 0; i < 6; i++) {
        put(&k, OP_ALLREDUCE, 0, i, 0, t, t + ms[i], 1000);
        put(&k, OP_ALLREDUCE, 0, i, 1, t, t + ms[i], 1000);
        t += 200;
    }
    match(&k);
    comm_query q = whole();
    comm_sums *r = comm_sum_up(&k.m, &q, NULL);
    const comm_box *b = &sum_of(&k, r, 0, 1, LINK_RING)->box[COMM_TIME];
    assert_true(b->q1 == 11.25 * MS);
    assert_true(b->median == 12.5 * MS);
    assert_true(b->q3 == 13.75 * MS);
    assert_true(b->low == 10.0 * MS);
    assert_true(b->high == 14.0 * MS);
    assert_int_equal(b->n_outliers, 1);
    assert_int_equal(b->n_kept, 1);
    const comm_outlier *o = &r->outliers[b->first];
    assert_true(o->value == 100.0 * MS);
    assert_int_equal(k.m.operations[k.m.items[o->item].operation].start_ns, 400 * MS);
    const comm_box *equal = &sum_of(&k, r, 0, 1, LINK_RING)->box[COMM_BYTES];
    assert_int_equal(equal->n_outliers, 0);
    assert_true(equal->low == equal->high);
    comm_sums_free(&r);
    end(&k);
}

static void lists_sort_both_ways(void **state)
{
    (void)state;
    static const double late_ms[] = {2, 5, 2, 1};
    made k;
    begin(&k);
    for (int i = 0; i < 4; i++) {
        put(&k, OP_ALLREDUCE, 0, i, 0, i * 20, i * 20 + 10, 1000);
        put(&k, OP_ALLREDUCE, 0, i, 1, i * 20 + late_ms[i], i * 20 + 10, 1000);
    }
    match(&k);
    static const uint32_t expected[2][4] = {{3, 0, 2, 1}, {1, 0, 2, 3}};
    for (int falling = 0; falling < 2; falling++) {
        comm_query q = whole();
        q.sort = SORT_WAIT;
        q.descending = falling;
        comm_sums *r = comm_sum_up(&k.m, &q, NULL);
        assert_int_equal(r->n_order, 4);
        for (int i = 0; i < 4; i++) {
            assert_int_equal(r->order[i], expected[falling][i]);
        }
        comm_sums_free(&r);
    }
    end(&k);
}

static void cancelled_gives_nothing(void **state)
{
    (void)state;
    made k;
    begin(&k);
    put(&k, OP_ALLREDUCE, 0, 0, 0, 0, 1, 10);
    put(&k, OP_ALLREDUCE, 0, 0, 1, 0, 1, 10);
    match(&k);
    cancel_flag cancel = {true};
    comm_query q = whole();
    assert_null(comm_sum_up(&k.m, &q, &cancel));
    end(&k);
}

/* No communication at all: no link, no communicator, nothing to list. */
static void nothing_is_no_error(void **state)
{
    (void)state;
    made k;
    begin(&k);
    match(&k);
    comm_query q = whole();
    comm_sums *r = comm_sum_up(&k.m, &q, NULL);
    assert_non_null(r);
    assert_int_equal(r->group, NO_ID);
    assert_int_equal(r->n_order, 0);
    comm_sums_free(&r);
    end(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_late_rank),
        cmocka_unit_test(bandwidth_of_eight),
        cmocka_unit_test(transfers_have_their_link),
        cmocka_unit_test(across_stages_is_not_listed_first),
        cmocka_unit_test(windows_are_half_open),
        cmocka_unit_test(outliers_by_tukey),
        cmocka_unit_test(lists_sort_both_ways),
        cmocka_unit_test(cancelled_gives_nothing),
        cmocka_unit_test(nothing_is_no_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
