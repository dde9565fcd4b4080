/*
 * Contract: the whole window of a simulated run looks as the expected pictures do, in both themes: the Marey layout
 * with a finding chosen; an event selected, with its peers and the tab of its durations over steps, and the search
 * field with its hits; and one step over all others.
 */
#include "cm.h"

#include <unistd.h>

#include "app/actions.h"
#include "app/panels.h"
#include "app/select.h"
#include "app/steps.h"
#include "golden/golden.h"
#include "synth/synth.h"

typedef struct window_run {
    char dir[64], path[128], truth[160]; /* the window shows the file's name */
    session *s;
} window_run;

static void open_run(window_run *w)
{
    diag d;
    synth_params p;
    diag_init(&d);
    d.echo = true;
    (void)snprintf(w->dir, sizeof w->dir, "/tmp/marey-test-XXXXXX");
    assert_non_null(mkdtemp(w->dir));
    (void)snprintf(w->path, sizeof w->path, "%s/pangu.h5", w->dir);
    (void)snprintf(w->truth, sizeof w->truth, "%s.truth.json", w->path);
    assert_true(synth_preset("pangu-13b", &p));
    p.ranks = 16;
    p.pp = 4;
    p.steps = 6;
    p.detail = 4;
    assert_int_equal(synth_parse_fault("slow-rank:5,1.5@3", &p.faults[p.n_faults++], &d), MAREY_OK);
    assert_int_equal(synth_parse_fault("slow-link:8-12,0.3", &p.faults[p.n_faults++], &d), MAREY_OK);
    assert_int_equal(synth_check(&p, &d), MAREY_OK);
    convert_options options = {.out = w->path, .force = true, .jobs = 1};
    convert_summary summary = {0};
    assert_int_equal(synth_write_h5(&p, &options, &summary, &d), MAREY_OK);
    session_options so = {.look = SESSION_LOOK_DEFAULT, .reduced_motion = true};
    so.look.panels = PANELS_ON;
    so.look.layout = LAYOUT_MAREY;
    assert_int_equal(session_open(&w->s, w->path, &so, &d), MAREY_OK);
    w->s->input.width_px = 1600;
    w->s->input.height_px = 960;
    diag_deinit(&d);
}

static void close_run(window_run *w)
{
    session_close(&w->s);
    (void)unlink(w->path);
    (void)unlink(w->truth);
    (void)rmdir(w->dir);
}

static void build(window_run *w)
{
    assert_int_equal(session_build_complete(w->s, NULL), MAREY_OK);
    assert_null(draw_list_check(&w->s->list));
}

static void run(window_run *w, const char *name)
{
    action_by_name(name)->run(w->s, 0);
    build(w);
}

static void press(window_run *w, const char *key)
{
    ui_event e = {.kind = UI_EVENT_KEY, .key = key};
    (void)panels_event(w->s->panels, &e);
    build(w);
}

static void type(window_run *w, const char *text)
{
    for (; *text; text++) {
        ui_event e = {.kind = UI_EVENT_SIGN, .code = (uint32_t)*text};
        assert_true(panels_event(w->s->panels, &e));
    }
    build(w);
}

static void check_both(golden *g, window_run *w, const char *name)
{
    for (int light = 0; light < 2; light++) {
        char full[64];
        w->s->view.theme = light ? THEME_LIGHT : THEME_DARK;
        (void)snprintf(full, sizeof full, "%s-%s", name, light ? "light" : "dark");
        build(w);
        golden_check(g, full, &w->s->list);
    }
    w->s->view.theme = THEME_DARK;
}

/* A click on the tab with this text. */
static void click_text(window_run *w, const char *text)
{
    const draw_list *l = &w->s->list;
    for (size_t i = 0; i < l->n_runs; i++) {
        if (strcmp(l->text.s + l->runs[i].text, text) == 0) {
            ui_event e = {.kind = UI_EVENT_PRESS, .x = (double)l->runs[i].x + 4, .y = (double)l->runs[i].y - 3};
            assert_true(panels_event(w->s->panels, &e));
            e.kind = UI_EVENT_RELEASE;
            (void)panels_event(w->s->panels, &e);
            build(w);
            return;
        }
    }
    fail_msg("nothing says \"%s\"", text);
}

/* A kernel of the backward pass on the slow rank, in the step in which it is slow. */
static void select_kernel(window_run *w)
{
    const trace_model *m = store_model(w->s->file);
    const scene_step *steps;
    uint64_t row = UINT64_MAX;
    assert_int_equal(scene_steps(w->s->scene, &steps), 6);
    for (uint64_t r = 0; r < m->n_events && row == UINT64_MAX; r++) {
        store_event_info e;
        assert_int_equal(store_read_event(w->s->file, r, &e, NULL), MAREY_OK);
        bool is_it = e.klass == CLASS_BACKWARD && m->lanes[m->tracks[e.track].lane].rank == 5 &&
                     e.start_ns > (steps[3].start_ns + steps[3].end_ns) / 2 && e.start_ns < steps[3].end_ns;
        row = is_it ? r : row;
    }
    assert_true(row != UINT64_MAX);
    select_event(w->s, row);
    build(w);
}

static void windows_look_as_expected(void **state)
{
    golden *g = *state;
    golden_need_fonts(g);
    window_run w;
    open_run(&w);
    text_ctx *own = g->text; /* glyphs are drawn from the atlas of the session's own fonts */
    g->text = w.s->text;
    build(&w);
    press(&w, "Tab");
    press(&w, "Enter");
    check_both(g, &w, "window-finding");
    press(&w, "Escape");
    run(&w, "whole-run");
    steps_show(w.s, 3, 0);
    select_kernel(&w);
    click_text(&w, "over steps");
    run(&w, "search");
    type(&w, "gemm");
    check_both(g, &w, "window-selected");
    press(&w, "Escape");
    press(&w, "Escape");
    run(&w, "escape");
    steps_show(w.s, 1, 0); /* not the one that deviates */
    run(&w, "step-overlaid");
    check_both(g, &w, "window-overlaid");
    g->text = own;
    close_run(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(windows_look_as_expected)};
    return cmocka_run_group_tests(tests, golden_set_up, golden_tear_down);
}
