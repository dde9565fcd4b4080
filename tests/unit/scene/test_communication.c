/*
 * Contract: the communication layout shows devices, links, communicators and the operations of one of them, from
 * numbers that are worked out beside the drawing; a click on an operation or an outlier, or Enter, leads to the Marey
 * layout at its time with the event of the rank that came last (of a link: the sender's) selected; all panes can be
 * moved in by keys; a frame's primitives are bounded whatever the number of ranks; a run without communication says so.
 */
#include "cm.h"

#include "help/comm_run.h"
#include "help/ns.h"
#include "scene/comm_view.h"

static const comm_view *layout_of(const stage *g)
{
    return g->scene->comm_layout;
}

/* Stage 0 is listed: its third all-reduce waits for rank 3, 300 us; the transfer takes 100 us. */
static void open_two(stage *g, comm_run *c)
{
    comm_run_two_stages(c);
    assert_int_equal(comm_stage_open(g, c, 1600, 900), MAREY_OK);
    assert_true(stage_settle(g) > 0);
    const comm_model *m = layout_of(g)->model;
    for (uint32_t i = 0; i < m->n_groups; i++) {
        g->view.comm.group = m->groups[i].id == 0 ? i + 1 : g->view.comm.group;
    }
    assert_true(g->view.comm.group > 0);
    assert_true(stage_settle(g) > 0);
    assert_null(draw_list_check(&g->list));
}

static void close_run(stage *g, comm_run *c)
{
    stage_close(g);
    comm_run_free(c);
}

static bool shows(const stage *g, const char *text)
{
    for (size_t i = 0; i < g->list.n_runs; i++) {
        if (strcmp(g->list.text.s + g->list.runs[i].text, text) == 0) {
            return true;
        }
    }
    return false;
}

/* The middle of the last area of this kind that is drawn for `a`. */
static bool area_of(const stage *g, comm_hit_kind kind, uint32_t a, double at[2])
{
    const comm_view *c = layout_of(g);
    for (size_t i = c->n_areas; i-- > 0;) {
        const comm_area *k = &c->areas[i];
        if (k->hit.kind == kind && k->hit.a == a) {
            at[0] = (double)(k->r.x + k->r.w / 2);
            at[1] = (double)(k->r.y + k->r.h / 2);
            return true;
        }
    }
    return false;
}

static void all_parts_are_there(void **state)
{
    (void)state;
    stage g;
    comm_run c;
    open_two(&g, &c);
    static const char *const texts[] = {"Devices", "Links",    "Communicators", "stage 0",
                                        "stage 1", "pipeline", "Communication"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_true(shows(&g, texts[i]));
    }
    assert_int_equal(layout_of(&g)->sums->n_order, 6);
    assert_true(shows(&g, "rank 3"));
    assert_true(shows(&g, "100.0 \xC2\xB5s"));
    assert_int_equal(layout_of(&g)->matrix.n, 8);
    assert_int_equal(layout_of(&g)->matrix.n_links, 8 + 4); /* two rings of four, four transfers */
    const unit_link *k = unit_link_find(&layout_of(&g)->matrix, 1, 5);
    assert_non_null(k);
    assert_true(k->crosses_hosts);
    assert_int_equal(k->n[LINK_P2P], 6);
    close_run(&g, &c);
}

/* While nobody has chosen a communicator: that of the selected event, or of the link that a finding names. */
static void what_is_looked_at_is_shown(void **state)
{
    (void)state;
    stage g;
    comm_run c;
    open_two(&g, &c);
    g.view.comm.group = 0;
    assert_true(stage_settle(&g) > 0);
    const comm_view *v = layout_of(&g);
    uint32_t busiest = v->sums->group;
    assert_int_equal(v->sums->group_order[0], busiest);
    const comm_model *m = v->model;
    uint32_t other = m->groups[busiest].id == 0 ? 1 : 0;
    for (uint64_t row = 0; row < c.r.n; row++) {
        store_event_info e;
        assert_int_equal(store_read_event(g.file, row, &e, NULL), MAREY_OK);
        if (e.klass == CLASS_COLLECTIVE && c.r.m.lanes[c.r.m.tracks[e.track].lane].rank / 4 == other) {
            g.view.selected_row = row;
        }
    }
    assert_true(stage_settle(&g) > 0);
    assert_int_equal(layout_of(&g)->model->groups[layout_of(&g)->sums->group].id, other);
    g.view.selected_row = UINT64_MAX;
    g.view.comm.hint[0] = 3; /* ranks 2 and 6 */
    g.view.comm.hint[1] = 7;
    assert_true(stage_settle(&g) > 0);
    assert_int_equal(layout_of(&g)->model->groups[layout_of(&g)->sums->group].id, 4);
    close_run(&g, &c);
}

/* What goes from stage to stage goes from left to right. */
static void stages_are_columns(void **state)
{
    (void)state;
    stage g;
    comm_run c;
    open_two(&g, &c);
    double at[8][2];
    for (uint32_t r = 0; r < 8; r++) {
        assert_true(area_of(&g, HIT_NODE, r, at[r]));
    }
    for (uint32_t r = 0; r < 8; r++) {
        assert_true(fabs(at[r][0] - at[r / 4 * 4][0]) < 1 && fabs(at[r][1] - at[r % 4][1]) < 1);
    }
    assert_true(at[4][0] > at[0][0] && at[1][1] > at[0][1]);
    close_run(&g, &c);
}

static store_event_info event_at(const stage *g, uint64_t row)
{
    store_event_info e;
    assert_int_equal(store_read_event(g->file, row, &e, NULL), MAREY_OK);
    return e;
}

static void operations_lead_to_the_last(void **state)
{
    (void)state;
    stage g;
    comm_run c;
    open_two(&g, &c);
    uint32_t third = layout_of(&g)->sums->order[2];
    double at[2];
    assert_true(area_of(&g, HIT_OPERATION, third, at));
    scene_pick p = scene_pick_at(g.scene, at[0], at[1]);
    assert_int_equal(p.kind, PICK_COMM);
    assert_int_equal(p.comm.kind, HIT_OPERATION);
    comm_target to;
    assert_true(scene_comm_click(g.scene, &g.view, &p.comm, &to));
    store_event_info e = event_at(&g, to.event_row);
    assert_int_equal(e.start_ns, 2300000); /* rank 3 of the third */
    assert_true(ns_of(to.t0) < 2000000 && ns_of(to.t1) > 2400000);
    /* What is selected elsewhere is marked in the list. */
    g.view.selected_row = to.event_row;
    assert_true(stage_settle(&g) > 0);
    assert_int_equal(layout_of(&g)->selected_operation, third);
    close_run(&g, &c);
}

static void outliers_lead_to_the_sender(void **state)
{
    (void)state;
    stage g;
    comm_run c;
    open_two(&g, &c);
    const comm_view *k = layout_of(&g);
    const unit_link *link = unit_link_find(&k->matrix, 1, 5);
    const comm_box *b = &k->sums->links[link->link[LINK_P2P]].box[COMM_TIME];
    assert_int_equal(b->n_outliers, 1);
    double at[2];
    assert_true(area_of(&g, HIT_OUTLIER, k->sums->outliers[b->first].item, at));
    scene_pick p = scene_pick_at(g.scene, at[0], at[1]);
    assert_int_equal(p.comm.kind, HIT_OUTLIER);
    comm_target to;
    assert_true(scene_comm_click(g.scene, &g.view, &p.comm, &to));
    store_event_info e = event_at(&g, to.event_row);
    assert_int_equal(e.dur_ns, 300000);
    assert_int_equal(e.klass, CLASS_SEND);
    /* The same by keys: the cell's furthest outlier. */
    g.view.comm.pane = PANE_MATRIX;
    g.view.comm.from = 2;
    g.view.comm.to = 6;
    assert_true(stage_settle(&g) > 0);
    comm_target by_key;
    assert_true(scene_comm_open(g.scene, &g.view, &by_key));
    assert_int_equal(by_key.event_row, to.event_row);
    g.view.comm.to = 8; /* no data from 1 to 7 */
    assert_false(scene_comm_open(g.scene, &g.view, &by_key));
    close_run(&g, &c);
}

static void press(stage *g, comm_key key)
{
    assert_true(scene_comm_key(g->scene, &g->view, key));
    assert_true(stage_settle(g) > 0);
}

static void keys_reach_everything(void **state)
{
    (void)state;
    stage g;
    comm_run c;
    open_two(&g, &c);
    const comm_view *k = layout_of(&g);
    press(&g, COMM_DOWN);
    assert_int_equal(g.view.comm.operation, k->sums->order[0] + 1);
    press(&g, COMM_PAGE_DOWN);
    assert_int_equal(g.view.comm.operation, k->sums->order[5] + 1);
    press(&g, COMM_UP);
    assert_int_equal(g.view.comm.operation, k->sums->order[4] + 1);
    press(&g, COMM_NEXT_SORT); /* by operation, then by bytes ... by wait, most first */
    while (g.view.comm.sort != SORT_WAIT) {
        press(&g, COMM_NEXT_SORT);
    }
    assert_int_equal(k->model->operations[k->sums->order[0]].skew_ns, 300000);
    press(&g, COMM_REVERSE);
    assert_int_equal(k->model->operations[k->sums->order[5]].skew_ns, 300000);
    press(&g, COMM_NEXT_PANE);
    assert_int_equal(k->sums->group, k->sums->group_order[1]); /* stage 1 works longer */
    press(&g, COMM_UP);
    assert_int_equal(k->sums->group, k->sums->group_order[0]);
    press(&g, COMM_ONLY);
    assert_int_equal(k->matrix.n, 4);
    assert_int_equal(k->matrix.n_links, 4);
    press(&g, COMM_NEXT_PANE);
    press(&g, COMM_DOWN);
    press(&g, COMM_RIGHT);
    assert_int_equal(g.view.comm.from, 1);
    assert_int_equal(g.view.comm.to, 2);
    press(&g, COMM_NEXT_MEASURE);
    assert_int_equal(g.view.comm.measure, COMM_BYTES);
    comm_target to;
    assert_true(scene_comm_open(g.scene, &g.view, &to));
    assert_true(to.event_row != UINT64_MAX);
    g.view.layout = LAYOUT_MAREY;
    assert_false(scene_comm_key(g.scene, &g.view, COMM_DOWN));
    close_run(&g, &c);
}

/* Numbers follow the window of the view; what is hovered is told exactly. */
static void windows_and_tips(void **state)
{
    (void)state;
    stage g;
    comm_run c;
    open_two(&g, &c);
    look_at_ns(&g.view, 2000000, 3000000);
    assert_true(stage_settle(&g) > 0);
    const comm_view *k = layout_of(&g);
    assert_int_equal(k->sums->n, 2 + 4);
    assert_int_equal(k->sums->n_order, 1);
    double at[2];
    assert_true(area_of(&g, HIT_OPERATION, k->sums->order[0], at));
    g.in.cursor_x = at[0];
    g.in.cursor_y = at[1];
    assert_true(stage_settle(&g) > 0);
    assert_true(shows(&g, "100.000 \xC2\xB5s = min duration over ranks"));
    assert_true(shows(&g, "rank 3  +300.000 \xC2\xB5s"));
    close_run(&g, &c);
}

static void many_ranks_stay_bounded(void **state)
{
    (void)state;
    enum { N = 1024, MOST = 12000 };
    comm_run c;
    stage g;
    comm_run_init(&c);
    for (uint32_t i = 0; i < N; i++) {
        char host[16];
        (void)snprintf(host, sizeof host, "node%u", i / 8);
        comm_run_rank(&c, (int32_t)(i / 64), host);
    }
    uint32_t world = comm_run_group(&c, "world", 0, 1, N);
    prng r;
    prng_seed(&r, 7);
    for (uint32_t k = 0; k < 4; k++) {
        for (uint32_t i = 0; i < N; i++) {
            double late = 100 * prng_unit(&r);
            comm_run_put(&c, i, WHAT_ALLREDUCE, world, k, 1000.0 * k + late, 400 - late, 1 << 20);
        }
    }
    for (uint32_t i = 0; i < N; i++) { /* communicators that link far and wide */
        uint32_t pair = comm_run_group(&c, "pair", i, 1, 2);
        uint32_t peer = (uint32_t)prng_below(&r, N);
        peer = peer == i ? (i + 1) % N : peer;
        comm_run_put(&c, i, WHAT_ALLREDUCE, pair, 0, 5000, 100, 1 << 16);
        comm_run_put(&c, peer, WHAT_ALLREDUCE, pair, 0, 5000 + 200.0 * (1 + i), 100, 1 << 16);
    }
    assert_int_equal(comm_stage_open(&g, &c, 1920, 1080), MAREY_OK);
    assert_true(stage_settle(&g) > 0);
    assert_null(draw_list_check(&g.list));
    assert_true(draw_list_primitives(&g.list) < MOST);
    assert_true(layout_of(&g)->matrix.are_blocks);
    assert_int_equal(layout_of(&g)->matrix.n, N / 8); /* hosts */
    uint64_t n = 0;
    for (size_t i = 0; i < layout_of(&g)->matrix.n_links; i++) {
        n += layout_of(&g)->matrix.links[i].n[LINK_RING];
    }
    assert_int_equal(n, 4 * N + 2 * N); /* nothing is lost on the way to blocks */
    static const int sizes[][2] = {{640, 400}, {320, 200}, {3840, 2160}, {1, 1}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        g.in.width_px = sizes[i][0];
        g.in.height_px = sizes[i][1];
        assert_true(stage_settle(&g) > 0);
        assert_null(draw_list_check(&g.list));
        assert_true(draw_list_primitives(&g.list) < 3 * MOST);
    }
    close_run(&g, &c);
}

static void no_communication_is_said(void **state)
{
    (void)state;
    comm_run c;
    stage g;
    comm_run_init(&c);
    comm_run_rank(&c, 0, "a");
    assert_int_equal(comm_stage_open(&g, &c, 1200, 700), MAREY_OK);
    assert_true(stage_settle(&g) > 0);
    assert_true(shows(&g, "No communication is recorded in this run."));
    assert_int_equal(scene_pick_at(g.scene, 600, 400).kind, PICK_NONE);
    close_run(&g, &c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_parts_are_there),
        cmocka_unit_test(what_is_looked_at_is_shown),
        cmocka_unit_test(stages_are_columns),
        cmocka_unit_test(operations_lead_to_the_last),
        cmocka_unit_test(outliers_lead_to_the_sender),
        cmocka_unit_test(keys_reach_everything),
        cmocka_unit_test(windows_and_tips),
        cmocka_unit_test(many_ranks_stay_bounded),
        cmocka_unit_test(no_communication_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
