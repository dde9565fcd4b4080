/*
 * Contract of scene/arrivals.h and of the waits that bands.c draws: the part of a collective before its last member
 * arrived is pale, counted over all of its members, also those that are not on screen, once the run's diagnosis is
 * there; without it, over those on screen. Where no communicator is known only ranks of the same stage count. The
 * column of who comes last counts collectives inside one stage only, and is left out where there are none.
 */
#include "cm.h"

#include "help/comm_run.h"
#include "help/ns.h"
#include "scene/heat.h"
#include "scene/marey.h"

static void open_marey(stage *g, comm_run *c, const char *rows)
{
    comm_run_two_stages(c);
    assert_int_equal(comm_stage_open(g, c, 1600, 900), MAREY_OK);
    g->view.layout = LAYOUT_MAREY;
    (void)snprintf(g->view.rows_pattern, sizeof g->view.rows_pattern, "%s", rows);
    look_at_ns(&g->view, 2e6, 2.5e6); /* the third all-reduce: rank 3 comes 300 us after rank 0 */
}

static void close_run(stage *g, comm_run *c)
{
    stage_close(g);
    comm_run_free(c);
}

static size_t row_of(const scene *s, uint32_t rank)
{
    for (size_t i = 0; i < s->tree.n_rows; i++) {
        if (s->tree.rows[i].kind == ROW_RANK && s->tree.rows[i].rank == rank) {
            return i;
        }
    }
    return SIZE_MAX;
}

/* ns that a rank's collective is drawn as waiting, by its pixel columns. */
static double waiting_of(const stage *g, uint32_t rank)
{
    size_t row = row_of(g->scene, rank);
    const draw_cell *cells = row == SIZE_MAX ? NULL : row_strip_cells(g->scene, row);
    double n = 0;
    for (uint32_t i = 0; cells && i < g->scene->src.grid.n; i++) {
        n += cells[i].klass == CLASS_COLLECTIVE && cells[i].alpha == WAIT_ALPHA;
    }
    return n * g->scene->src.grid.step_ns;
}

static bool is_about(const stage *g, double ns, double wanted)
{
    return fabs(ns - wanted) <= 2 * g->scene->src.grid.step_ns;
}

static void all_members_count(void **state)
{
    (void)state;
    stage g;
    comm_run c;
    open_marey(&g, &c, "rank 0,rank 1");
    g.view.show_heat = false; /* nothing asks for the diagnosis: rank 1 is the last on screen, 10 us later */
    assert_true(stage_settle(&g) > 0);
    assert_true(is_about(&g, waiting_of(&g, 0), 10e3) && waiting_of(&g, 1) == 0);
    g.view.show_heat = true;
    assert_true(stage_settle(&g) > 0);
    assert_true(is_about(&g, waiting_of(&g, 0), 300e3) && is_about(&g, waiting_of(&g, 1), 290e3));
    close_run(&g, &c);
}

static void one_member_on_screen_waits_too(void **state)
{
    (void)state;
    stage g;
    comm_run c;
    open_marey(&g, &c, "rank 0");
    assert_true(stage_settle(&g) > 0);
    assert_true(is_about(&g, waiting_of(&g, 0), 300e3));
    (void)snprintf(g.view.rows_pattern, sizeof g.view.rows_pattern, "rank 3");
    assert_true(stage_settle(&g) > 0);
    assert_true(waiting_of(&g, 3) == 0); /* all others waited for it */
    close_run(&g, &c);
}

static void every_member_is_found(void **state)
{
    (void)state;
    stage g;
    comm_run c;
    open_marey(&g, &c, "");
    assert_true(stage_settle(&g) > 0);
    const heat_view *h = g.scene->heat;
    const diagnosis *d = h->diagnosis;
    assert_true(d->n_instances == 12);
    for (size_t i = 0; i < d->n_instances; i++) {
        const coll_instance *k = &d->instances[i];
        for (uint32_t m = 0; m < k->n; m++) {
            const comm_event *e = &d->data.comm[k->first + m];
            int64_t latest = 0;
            assert_true(arrivals_latest(g.scene, &h->arrivals, e->rank, e->start_ns, e->group, &latest));
            assert_int_equal(latest, k->start_ns + k->skew_ns);
            assert_false(arrivals_latest(g.scene, &h->arrivals, e->rank, e->start_ns + 1, e->group, &latest));
        }
    }
    close_run(&g, &c);
}

static bool has_column(const heat_view *h, heat_column c)
{
    for (uint32_t i = 0; i < h->n_columns; i++) {
        if (h->columns[i] == c) {
            return true;
        }
    }
    return false;
}

static void late_is_inside_one_stage(void **state)
{
    (void)state;
    stage g;
    comm_run c;
    open_marey(&g, &c, "");
    assert_true(stage_settle(&g) > 0);
    const heat_view *h = g.scene->heat;
    for (uint32_t r = 0; r < 8; r++) {
        assert_int_equal(h->late_chances[r], 6);
        assert_int_equal(h->late_votes[r], r % 4 == 3 ? 6 : 0);
    }
    assert_true(has_column(h, HEAT_LATE) && h->values[3 * HEAT_COLUMNS + HEAT_LATE] == 1);
    close_run(&g, &c);

    comm_run_init(&c); /* over both stages: the last stage is late every time, and that is no fault of a rank */
    for (uint32_t r = 0; r < 8; r++) {
        comm_run_rank(&c, (int32_t)(r / 4), "node0");
    }
    uint32_t all = comm_run_group(&c, "world", 0, 1, 8);
    for (uint32_t k = 0; k < 3; k++) {
        for (uint32_t r = 0; r < 8; r++) {
            comm_run_put(&c, r, WHAT_ALLREDUCE, all, k, 1000.0 * k + 10 * r, 400 - 10.0 * r, 4);
        }
    }
    assert_int_equal(comm_stage_open(&g, &c, 1600, 900), MAREY_OK);
    g.view.layout = LAYOUT_MAREY;
    assert_true(stage_settle(&g) > 0);
    h = g.scene->heat;
    for (uint32_t k = 0; k < 8; k++) {
        assert_true(h->late_chances[k] == 0 && h->diagnosis->vote_chances[k] == 3);
    }
    assert_true(!has_column(h, HEAT_LATE) && has_column(h, HEAT_COMPUTE));
    close_run(&g, &c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_members_count),
        cmocka_unit_test(one_member_on_screen_waits_too),
        cmocka_unit_test(every_member_is_found),
        cmocka_unit_test(late_is_inside_one_stage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
