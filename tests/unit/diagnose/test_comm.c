/*
 * Contract of matching and alignment: collectives are the same by communicator, operation and order number; where
 * counts differ, by their sizes, and what has no partner is counted; sends find their receives by voting, never two the
 * same. An offset of seconds between hosts is recovered; clocks that agree are left alone; without common collectives
 * nothing is claimed. Places in the parallel grid follow from communicators and from who sends to whom.
 */
#include "cm.h"

#include "diagnose/align_run.h"
#include "diagnose/topology.h"

static comm_event member(uint32_t rank, int64_t seq, int64_t bytes, int64_t start, int64_t end)
{
    return (comm_event){
        .start_ns = start, .end_ns = end, .bytes = bytes, .seq = seq, .rank = rank, .group = 0, .op = OP_ALLREDUCE};
}

static comm_event p2p(uint32_t rank, uint32_t lane, int64_t start, int64_t end, comm_op op)
{
    return (comm_event){.start_ns = start,
                        .end_ns = end,
                        .bytes = 8,
                        .rank = rank,
                        .group = 0,
                        .what = op == OP_RECEIVE,
                        .lane = lane,
                        .op = (uint8_t)op};
}

static void words(void **state)
{
    (void)state;
    assert_int_equal(comm_op_of("_allgather_base"), OP_ALLGATHER);
    assert_int_equal(comm_op_of("reduce_scatter_tensor_coalesced"), OP_REDUCESCATTER);
    assert_int_equal(comm_op_of("hcom_allReduce__123_0"), OP_ALLREDUCE);
    assert_int_equal(comm_op_of("ncclDevKernel_Broadcast_RING"), OP_BROADCAST);
    assert_int_equal(comm_op_of("Reduce"), OP_REDUCE);
    assert_int_equal(comm_op_of("recv"), OP_RECEIVE);
    assert_int_equal(comm_op_of(""), OP_OTHER);
}

static void matched_by_number(void **state)
{
    (void)state;
    comm_event e[] = {member(1, 0, 8, 5, 10), member(0, 1, 8, 11, 20), member(0, 0, 8, 0, 10), member(1, 1, 8, 12, 20)};
    comm_matching m;
    comm_match(e, 4, &m);
    assert_int_equal(m.n_instances, 2);
    assert_int_equal(m.n_unmatched, 0);
    assert_int_equal(e[m.first[0]].rank, 0);
    assert_int_equal(e[m.first[0] + 1].rank, 1);
    assert_int_equal(e[m.first[1]].end_ns, 20);
    comm_matching_free(&m);
}

/* The same name in two stages, of no known communicator: two collectives. */
static void other_peers_are_others(void **state)
{
    (void)state;
    comm_event e[4];
    for (uint32_t r = 0; r < 4; r++) {
        e[r] = member(r, 0, 8, r, 10);
        e[r].group = NO_ID;
        e[r].peers = 1 + r / 2;
    }
    comm_matching m;
    comm_match(e, 4, &m);
    assert_int_equal(m.n_instances, 2);
    assert_int_equal(e[m.first[1]].rank, 2);
    comm_matching_free(&m);
}

/* Rank 1's recording began one collective late: sizes 1 2 3 4 against 2 3 4. */
static void late_recording(void **state)
{
    (void)state;
    comm_event e[7];
    for (int64_t i = 0; i < 4; i++) {
        e[i] = member(0, i, i + 1, i * 10, i * 10 + 5);
    }
    for (int64_t i = 0; i < 3; i++) {
        e[4 + i] = member(1, i, i + 2, (i + 1) * 10, (i + 1) * 10 + 5);
    }
    comm_matching m;
    comm_match(e, 7, &m);
    assert_int_equal(m.n_instances, 4);
    assert_int_equal(m.n_unmatched, 1);
    for (size_t k = 0; k < m.n_instances; k++) {
        for (size_t i = m.first[k]; i < m.first[k + 1]; i++) {
            assert_int_equal(e[i].bytes, e[m.first[k]].bytes);
        }
    }
    comm_matching_free(&m);
}

/* Numbers that the input states are believed: 5 6 7 against 6 7 8. */
static void stated_numbers(void **state)
{
    (void)state;
    comm_event e[6];
    for (int64_t i = 0; i < 3; i++) {
        e[i] = member(0, 5 + i, 8, i * 10, i * 10 + 5);
        e[3 + i] = member(1, 6 + i, 8, i * 10, i * 10 + 5);
    }
    comm_matching m;
    comm_match(e, 6, &m);
    assert_int_equal(m.n_instances, 4);
    assert_int_equal(m.n_unmatched, 2);
    comm_matching_free(&m);
}

/* Three ranks in a row: 0 -> 1 -> 2, each direction on its own stream. */
static size_t make_chain(comm_event *e)
{
    size_t n = 0;
    for (int64_t k = 0; k < 5; k++) {
        for (uint32_t r = 0; r < 2; r++) {
            int64_t end = 1000 * k + 100 + 300 * r;
            e[n++] = p2p(r, 7 + r, end - 60, end, OP_SEND);
            e[n++] = p2p(r + 1, 9 + r, end - 90, end + 1, OP_RECEIVE);
        }
    }
    return n;
}

static void transfers(void **state)
{
    (void)state;
    comm_event e[20];
    size_t n = make_chain(e);
    comm_matching m;
    comm_match(e, n, &m);
    assert_int_equal(m.n_collective, 0);
    size_t n_pairs;
    comm_pair *p = comm_pair_up(e, 0, n, 50, &n_pairs);
    assert_int_equal(n_pairs, 10);
    for (size_t i = 0; i < n_pairs; i++) {
        assert_int_equal(e[p[i].receive].rank, e[p[i].send].rank + 1);
        assert_int_equal(e[p[i].receive].end_ns, e[p[i].send].end_ns + 1);
    }
    free(p);
    p = comm_pair_up(e, 0, n, 0, &n_pairs);
    assert_int_equal(n_pairs, 0);
    free(p);
    comm_matching_free(&m);
}

static void stages_follow_transfers(void **state)
{
    (void)state;
    trace_model model;
    trace_model_init(&model);
    for (uint32_t r = 0; r < 3; r++) {
        trace_rank rank = {.rank = r, .host = "", .device = "", .label = "", .stage = -1, .dp = -1, .tp = -1, .ep = -1};
        VEC_PUSH(model.ranks, model.n_ranks, model.cap_ranks, rank);
    }
    comm_event e[20];
    size_t n = make_chain(e);
    topology_infer(&model, e, 0, n);
    for (uint32_t r = 0; r < 3; r++) {
        assert_int_equal(model.ranks[r].stage, (int)r);
        assert_true(model.ranks[r].inferred & INFERRED_STAGE);
        assert_int_equal(model.ranks[r].dp, -1);
    }
    trace_model_deinit(&model);
}

static void places_by_name(void **state)
{
    (void)state;
    trace_model model;
    trace_model_init(&model);
    for (uint32_t r = 0; r < 4; r++) {
        trace_rank rank = {.rank = r, .host = "", .device = "", .label = "", .stage = -1, .dp = -1, .tp = -1, .ep = -1};
        VEC_PUSH(model.ranks, model.n_ranks, model.cap_ranks, rank);
    }
    static int64_t members[4][2] = {{0, 1}, {2, 3}, {0, 2}, {1, 3}};
    for (int i = 0; i < 4; i++) {
        trace_group g = {"", i < 2 ? "TENSOR_MODEL_PARALLEL_GROUP" : "DATA_PARALLEL_GROUP", members[i], 2};
        VEC_PUSH(model.groups, model.n_groups, model.cap_groups, g);
    }
    topology_infer(&model, NULL, 0, 0);
    for (uint32_t r = 0; r < 4; r++) {
        assert_int_equal(model.ranks[r].tp, (int)(r % 2));
        assert_int_equal(model.ranks[r].dp, (int)(r / 2));
        assert_int_equal(model.ranks[r].inferred, INFERRED_TP | INFERRED_DP);
    }
    trace_model_deinit(&model);
}

/* The all-reduce of four ranks, 50 times, with host 1 (ranks 2 and 3) off by `shift`; rank 3 comes 9 ms late. */
static size_t make_run(comm_event *e, int64_t shift)
{
    size_t n = 0;
    for (int64_t k = 0; k < 50; k++) {
        for (uint32_t r = 0; r < 4; r++) {
            int64_t at = INT64_C(1700000000000000000) + k * 100000000 + (r >= 2 ? shift : 0);
            e[n++] = member(r, k, 64, at + (r == 3 ? 9000000 : 0), at + 10000000);
        }
    }
    return n;
}

static void host_off_by_seconds(void **state)
{
    (void)state;
    static comm_event e[200];
    const uint32_t domain[4] = {0, 0, 1, 1};
    const int64_t shift = INT64_C(11560000000);
    align_clock clocks[2];
    align_method methods[2];
    size_t n = make_run(e, shift);
    assert_int_equal(align_run(e, n, domain, 2, clocks, methods, NULL), MAREY_OK);
    assert_int_equal(methods[0], ALIGN_COLLECTIVES);
    assert_int_equal(methods[1], ALIGN_COLLECTIVES);
    for (size_t i = 0; i < n; i++) {
        e[i].start_ns = align_time(&clocks[domain[e[i].rank]], e[i].start_ns);
        e[i].end_ns = align_time(&clocks[domain[e[i].rank]], e[i].end_ns);
    }
    for (size_t k = 0; k < n; k += 4) {
        for (size_t i = 1; i < 4; i++) {
            assert_true(llabs(e[k + i].end_ns - e[k].end_ns) <= 1000);
            int64_t skew = e[k + i].start_ns - e[k].start_ns;
            assert_true(llabs(skew - (e[k + i].rank == 3 ? 9000000 : 0)) <= 1000);
        }
    }
}

static void clocks_that_agree(void **state)
{
    (void)state;
    static comm_event e[200];
    const uint32_t domain[4] = {0, 1, 2, 3};
    align_clock clocks[4];
    align_method methods[4];
    size_t n = make_run(e, 30000);
    assert_int_equal(align_run(e, n, domain, 4, clocks, methods, NULL), MAREY_OK);
    for (int d = 0; d < 4; d++) {
        assert_int_equal(methods[d], ALIGN_IN_STEP);
        assert_int_equal(clocks[d].offset_ns, 0);
        assert_true(clocks[d].residual_ns <= 30000);
        assert_int_equal(clocks[d].n_matched, 50);
    }
}

static void nothing_in_common(void **state)
{
    (void)state;
    comm_event e[] = {member(0, 0, 8, 0, 100000), member(1, 1, 8, 0, 100000)};
    const uint32_t domain[2] = {0, 1};
    align_clock clocks[2];
    align_method methods[2];
    assert_int_equal(align_run(e, 2, domain, 2, clocks, methods, NULL), MAREY_OK);
    assert_int_equal(methods[0], ALIGN_NONE);
    assert_int_equal(methods[1], ALIGN_NONE);
    assert_string_equal(align_method_name(methods[0]), "none");
    assert_int_equal(align_run(e, 2, (const uint32_t[]){0, 0}, 1, clocks, methods, NULL), MAREY_OK);
    assert_int_equal(methods[0], ALIGN_ONE_CLOCK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words),
        cmocka_unit_test(matched_by_number),
        cmocka_unit_test(other_peers_are_others),
        cmocka_unit_test(late_recording),
        cmocka_unit_test(stated_numbers),
        cmocka_unit_test(transfers),
        cmocka_unit_test(stages_follow_transfers),
        cmocka_unit_test(places_by_name),
        cmocka_unit_test(host_off_by_seconds),
        cmocka_unit_test(clocks_that_agree),
        cmocka_unit_test(nothing_in_common),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
