/*
 * Contract of scene/heat.h: cells beside the rows of the Marey layout show what the diagnosis measured of each rank
 * over whole steps: those whose middle is in view, else the one in the middle of it. A stage's cell is the mean of its
 * ranks. A heading sorts the ranks of each group by its column, falling, rising, and back; the order does not change
 * while the view moves. Ramps span all ranks and never less than a tenth of a step. What a finding blames is marked.
 */
#include "cm.h"

#include "diagnose/diagnose.h"
#include "help/ns.h"
#include "help/pipeline_run.h"
#include "help/stage.h"
#include "scene/heat.h"

static void steps_in_view(void **state)
{
    (void)state;
    const int64_t start[] = {0, 100, 0, 300};
    const int64_t end[] = {100, 200, 0, 400}; /* nobody has the third */
    const struct {
        double t0, t1;
        size_t first, end;
    } cases[] = {{0, 400, 0, 4},   {0, 149, 0, 1},   {0, 151, 0, 2},  {160, 180, 1, 2},
                 {210, 260, 1, 2}, {260, 290, 3, 4}, {-50, -10, 0, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        step_range r = heat_steps_in(start, end, 4, moment_about(cases[i].t0), moment_about(cases[i].t1));
        assert_int_equal(r.first, cases[i].first);
        assert_int_equal(r.end, cases[i].end);
    }
    step_range none = heat_steps_in(start + 2, end + 2, 1, moment_at(0), moment_at(10));
    assert_int_equal(none.end - none.first, 0);
}

static void ramps_span_all_ranks(void **state)
{
    (void)state;
    double nan = (double)NAN;
    const double v[] = {0.2, 9, 0.9, 9, nan, 9};
    heat_scale k = heat_scale_of(v, 3, 2, true);
    assert_true(k.low == 0.2 && fabs(k.high - 0.9) < 1e-12 && k.least == 0.2 && k.most == 0.9);
    assert_true(heat_place(&k, 0.2) == 0 && heat_place(&k, 0.9) >= 1 - 1e-12 && heat_place(&k, 2) == 1);
    const double near[] = {0.98, 0.99};
    k = heat_scale_of(near, 2, 1, true);
    assert_true(fabs(k.high - k.low - 0.1) < 1e-12 && k.high <= 1 + 1e-12 && k.low <= 0.98);
    k = heat_scale_of(&nan, 1, 1, true);
    assert_true(k.least > k.most && k.high > k.low);
    const theme *t = theme_get(THEME_DARK);
    rgba low = heat_colour(t, 0);
    rgba high = heat_colour(t, 1);
    assert_true(memcmp(&low, &t->heat[0], sizeof low) == 0 && memcmp(&high, &t->heat[4], sizeof high) == 0);
}

static void clicks_cycle(void **state)
{
    (void)state;
    view v;
    view_init(&v, 1000);
    look_at_ns(&v, 10, 20);
    view_sort_by(&v, HEAT_WAIT);
    assert_true(v.order == ORDER_HEAT && v.sort_column == HEAT_WAIT && !v.sort_ascending && v.sort_t1.ns == 20);
    look_at_ns(&v, 30, 40);
    view_sort_by(&v, HEAT_WAIT);
    assert_true(v.order == ORDER_HEAT && v.sort_ascending && v.sort_t1.ns == 20);
    view_sort_by(&v, HEAT_WAIT);
    assert_true(v.order == ORDER_RANK);
    view_sort_by(&v, HEAT_WAIT);
    view_sort_by(&v, HEAT_BUSY); /* another column begins anew, over what is shown now */
    assert_true(v.order == ORDER_HEAT && v.sort_column == HEAT_BUSY && !v.sort_ascending && v.sort_t1.ns == 40);
}

static void show(stage *g, small_run *r)
{
    pipeline_run(r, 2, 4);
    assert_int_equal(stage_open(g, r, 1600, 900), MAREY_OK);
    g->view.layout = LAYOUT_MAREY;
    assert_true(stage_settle(g) > 0);
}

/* The same number by hand: the union of the rank's intervals over its steps. */
static void values_are_the_diagnosis(void **state)
{
    (void)state;
    small_run r;
    stage g;
    diagnosis d;
    show(&g, &r);
    const heat_view *h = g.scene->heat;
    assert_non_null(h->diagnosis);
    assert_int_equal(diagnose_run(g.file, &(diagnose_options){.jobs = 1}, &d, &g.diag), MAREY_OK);
    assert_int_equal(h->steps.first, 0);
    assert_int_equal(h->steps.end, d.data.n_steps);
    for (size_t k = 0; k < 8; k++) {
        int64_t busy = 0;
        int64_t all = 0;
        int64_t wait = 0;
        int64_t compute = 0;
        for (size_t i = 0; i < d.data.n_steps; i++) {
            const rank_step *c = collected_cell(&d.data, k, i);
            busy += breakdown_of(c).busy_ns;
            compute += breakdown_of(c).compute_ns;
            all += c->end_ns - c->start_ns;
            wait += c->wait_ns + c->p2p_wait_ns;
        }
        const double *v = &h->values[k * HEAT_COLUMNS];
        assert_true(fabs(v[HEAT_BUSY] - (double)busy / (double)all) < 1e-12);
        assert_true(fabs(v[HEAT_COMPUTE] - (double)compute / (double)all) < 1e-12);
        assert_true(fabs(v[HEAT_IDLE] - (double)(all - busy) / (double)all) < 1e-12);
        assert_true(fabs(v[HEAT_WAIT] - (double)wait / (double)all) < 1e-12);
    }
    const scene_row *group = &g.scene->tree.rows[0];
    double mean = 0;
    for (size_t k = 0; k < 4; k++) {
        mean += h->values[k * HEAT_COLUMNS + HEAT_BUSY] / 4;
    }
    assert_int_equal(group->kind, ROW_GROUP);
    assert_true(fabs(heat_of_row(g.scene, group, HEAT_BUSY) - mean) < 1e-12);
    look_at_ns(&g.view, 12.1e6, 12.4e6); /* inside the second step */
    assert_true(stage_settle(&g) > 0);
    assert_int_equal(g.scene->heat->steps.end - g.scene->heat->steps.first, 1);
    diagnose_free(&d);
    stage_close(&g);
    small_free(&r);
}

static void headings_sort(void **state)
{
    (void)state;
    small_run r;
    stage g;
    show(&g, &r);
    rect heat = g.scene->m.heat;
    assert_true(heat.w > 0 && heat.x + heat.w <= g.frame.plot.x);
    scene_pick p = scene_pick_at(g.scene, (double)heat.x + 5, (double)heat.y - 8);
    assert_int_equal(p.kind, PICK_COMMAND);
    assert_string_equal(p.command, "sort-busy");
    for (int click = 0; click < 3; click++) {
        view_sort_by(&g.view, HEAT_IDLE);
        assert_true(stage_settle(&g) > 0);
        const row_tree *t = &g.scene->tree;
        for (size_t i = 1; i < t->n_rows; i++) {
            const scene_row *a = &t->rows[i - 1];
            const scene_row *b = &t->rows[i];
            if (a->kind != ROW_RANK || b->kind != ROW_RANK) {
                continue;
            }
            double over = heat_of_row(g.scene, a, HEAT_IDLE) - heat_of_row(g.scene, b, HEAT_IDLE);
            assert_true(click == 0 ? over >= 0 : click == 1 ? over <= 0 : a->id < b->id);
        }
    }
    stage_close(&g);
    small_free(&r);
}

static size_t triangles_of(const stage *g, rgba c, rect in)
{
    size_t n = 0;
    for (size_t i = 0; i < g->list.n_tris; i++) {
        const draw_tri *t = &g->list.tris[i];
        n += memcmp(&t->fill, &c, sizeof c) == 0 && inside(in, (double)t->x[2], (double)t->y[0]);
    }
    return n;
}

static bool is_said(const stage *g, const char *text)
{
    for (size_t i = 0; i < g->list.n_runs; i++) {
        if (strstr(strbuf_str(&g->list.text) + g->list.runs[i].text, text)) {
            return true;
        }
    }
    return false;
}

static void blame_is_marked_and_told(void **state)
{
    (void)state;
    small_run r;
    stage g;
    show(&g, &r);
    const scene_row *slow = NULL;
    size_t marked = 0;
    for (size_t i = 0; i < g.scene->tree.n_rows; i++) {
        const scene_row *row = &g.scene->tree.rows[i];
        slow = row->kind == ROW_RANK && row->id == 5 ? row : slow;
        marked += heat_finding(g.scene, row) != NULL;
    }
    const finding *f = heat_finding(g.scene, slow);
    assert_non_null(f);
    assert_int_equal(f->kind, FINDING_SLOW_RANK);
    assert_true(marked >= 1 && marked <= 3);
    assert_int_equal(triangles_of(&g, g.scene->t->severity, g.frame.labels), marked);
    g.in.cursor_x = 40;
    g.in.cursor_y = (double)g.frame.labels.y + slow->y + slow->h / 2 - g.scene->scroll;
    assert_true(stage_settle(&g) > 0);
    assert_true(is_said(&g, "slow-rank"));
    g.in.cursor_x = (double)g.scene->m.heat.x + 10; /* the first cell of the row */
    assert_true(stage_settle(&g) > 0);
    assert_true(is_said(&g, "\xC2\xB7 busy") && is_said(&g, "exact") && is_said(&g, "all ranks"));
    assert_null(draw_list_check(&g.list));
    stage_close(&g);
    small_free(&r);
}

static void cells_follow_the_view(void **state)
{
    (void)state;
    small_run r;
    stage g;
    show(&g, &r);
    size_t with = g.list.n_quads;
    float x = g.frame.plot.x;
    g.view.show_heat = false;
    assert_true(stage_settle(&g) > 0);
    assert_true(g.list.n_quads < with && g.frame.plot.x < x);
    g.view.show_heat = true;
    g.view.layout = LAYOUT_TIMELINE;
    assert_true(stage_settle(&g) > 0);
    assert_true(g.frame.plot.x < x);
    stage_close(&g);
    small_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_in_view),         cmocka_unit_test(ramps_span_all_ranks),
        cmocka_unit_test(clicks_cycle),          cmocka_unit_test(values_are_the_diagnosis),
        cmocka_unit_test(headings_sort),         cmocka_unit_test(blame_is_marked_and_told),
        cmocka_unit_test(cells_follow_the_view),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
