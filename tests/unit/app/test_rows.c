/*
 * Contract of app/rows.h on a run of two stages, three ranks and seven lanes: which tracks each spelling unites, in the
 * order of the spec; and one clear sentence for what is not there.
 */
#include "cm.h"

#include "app/rows.h"

/* rank 0 (stage 0): compute (tracks 0, 1), communication (2), cpu (3); rank 7 (stage 1): compute (4), step (5); host
 * process: cpu (6), without a device or a stage. */
static trace_lane lanes[] = {
    {.rank = 0, .kind = KIND_COMPUTE, .name = "stream 7", .first_track = 0, .n_tracks = 2},
    {.rank = 0, .kind = KIND_COMMUNICATION, .name = "stream 20", .first_track = 2, .n_tracks = 1},
    {.rank = 0, .kind = KIND_CPU, .name = "thread 1", .first_track = 3, .n_tracks = 1},
    {.rank = 1, .kind = KIND_COMPUTE, .name = "stream 7", .first_track = 4, .n_tracks = 1},
    {.rank = 1, .kind = KIND_STEP, .name = "steps", .first_track = 5, .n_tracks = 1},
    {.rank = 2, .kind = KIND_CPU, .name = "main", .first_track = 6, .n_tracks = 1},
    {.rank = 2, .kind = KIND_COUNTER, .name = "memory", .first_track = 7, .n_tracks = 0},
};
static trace_rank ranks[] = {
    {.rank = 0, .label = "rank 0", .stage = 0, .first_lane = 0, .n_lanes = 3},
    {.rank = 7, .label = "rank 7", .stage = 1, .first_lane = 3, .n_lanes = 2},
    {.rank = 8, .label = "host", .stage = -1, .first_lane = 5, .n_lanes = 2},
};
static const trace_model model = {.ranks = ranks, .n_ranks = 3, .lanes = lanes, .n_lanes = 7};

/* "name: tracks; name: tracks" */
static void expect(const char *spec, const char *want)
{
    row_list l = {0};
    strbuf got = {0};
    assert_int_equal(rows_find(&l, &model, spec, NULL), MAREY_OK);
    for (size_t i = 0; i < l.n; i++) {
        strbuf_printf(&got, "%s%s:", i ? "; " : "", l.items[i].name);
        for (size_t k = 0; k < l.items[i].row.n_tracks; k++) {
            strbuf_printf(&got, " %u", l.items[i].row.tracks[k]);
        }
    }
    assert_string_equal(strbuf_str(&got), want);
    strbuf_deinit(&got);
    rows_deinit(&l);
}

static void spellings(void **state)
{
    (void)state;
    expect("all", "all: 0 1 2 4 6");
    expect("rank:0", "rank 0: 0 1 2");
    expect("rank:8", "host: 6");
    expect("lane:2,lane:0", "rank 0/thread 1: 3; rank 0/stream 7: 0 1");
    expect("stage:1", "stage 1: 4");
    expect("stage*", "stage 0: 0 1 2; stage 1: 4");
    expect("rank*", "rank 0: 0 1 2; rank 7: 4");
    expect("RANK ?", "rank 0: 0 1 2; rank 7: 4");
    expect("*/stream 7", "rank 0/stream 7: 0 1; rank 7/stream 7: 4");
    expect("rank 7/*", "rank 7/stream 7: 4; rank 7/steps: 5");
    expect("host,,rank:7", "host: 6; rank 7: 4");
    expect("", "");
}

static void refuse(const char *spec, const char *part)
{
    row_list l = {0};
    diag d;
    diag_init(&d);
    assert_int_equal(rows_find(&l, &model, spec, &d), MAREY_ARG);
    assert_int_equal(d.n_messages, 1);
    assert_non_null(strstr(d.messages[0].text, part));
    diag_deinit(&d);
    rows_deinit(&l);
}

static void refusals(void **state)
{
    (void)state;
    refuse("rank:3", "no rank 3");
    refuse("lane:7", "no lane 7");
    refuse("stage:2", "no stage 2");
    refuse("lane:x", "number after the colon");
    refuse("rank:-1", "number after the colon");
    refuse("rank:0,nobody", "No row is named \"nobody\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(spellings), cmocka_unit_test(refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
