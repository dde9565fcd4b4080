/*
 * Contract: whole frames of a small pipeline-parallel run look as the expected pictures do: the timeline and the Marey
 * layout from the whole run down to single operators, both themes, a tooltip, a selection, the help page, a small
 * window and a doubled scale. One small frame is also held against its draw list as exact text.
 */
#include "cm.h"

#include "base/file.h"
#include "golden/golden.h"
#include "help/ns.h"
#include "help/pipeline_run.h"
#include "help/stage.h"

typedef struct shot {
    const char *name;
    int width, height;
    double scale;
    theme_id theme;
    view_layout layout;
    double t0_us, t1_us; /* t1 = 0: the whole run */
    double cursor_x, cursor_y;
    bool help, select;
    int open;
} shot;

static const shot shots[] = {
    {"scene-run-dark", 1200, 640, 1, THEME_DARK, LAYOUT_TIMELINE, 0, 0, -1, -1, false, false, 1},
    {"scene-run-light", 1200, 640, 1, THEME_LIGHT, LAYOUT_TIMELINE, 0, 0, -1, -1, false, false, 1},
    {"scene-marey-dark", 1200, 640, 1, THEME_DARK, LAYOUT_MAREY, 12000, 24000, -1, -1, false, false, 1},
    {"scene-marey-light", 1200, 640, 1, THEME_LIGHT, LAYOUT_MAREY, 12000, 24000, -1, -1, false, false, 1},
    {"scene-operators-dark", 1200, 640, 1, THEME_DARK, LAYOUT_MAREY, 16500, 18000, 700.5, 408.5, false, true, 1},
    {"scene-lanes-light", 1000, 600, 1, THEME_LIGHT, LAYOUT_TIMELINE, 16500, 16900, 600.5, 186.5, false, false, 3},
    {"scene-help-dark", 900, 560, 1, THEME_DARK, LAYOUT_TIMELINE, 0, 0, -1, -1, true, false, 1},
    {"scene-small-light", 640, 400, 1, THEME_LIGHT, LAYOUT_MAREY, 0, 0, -1, -1, false, false, 1},
    {"scene-doubled-dark", 1280, 800, 2, THEME_DARK, LAYOUT_MAREY, 12000, 24000, -1, -1, false, false, 1},
};

static void set_up(stage *g, const shot *s)
{
    static const char *const keys[][2] = {{"Wheel", "zoom at the pointer"},
                                          {"W, S", "zoom in, out"},
                                          {"A, D", "pan"},
                                          {"F", "fit the selection"},
                                          {"?", "these keys"}};
    scene_set_help(g->scene, keys, sizeof keys / sizeof *keys);
    g->view.theme = s->theme;
    g->view.layout = s->layout;
    g->view.show_help = s->help;
    if (s->t1_us > 0) {
        look_at_ns(&g->view, s->t0_us * 1000, s->t1_us * 1000);
    }
    scene_open_all(g->scene, s->open);
    g->in = (scene_input){.width_px = s->width,
                          .height_px = s->height,
                          .scale = s->scale,
                          .cursor_x = s->cursor_x,
                          .cursor_y = s->cursor_y};
    assert_true(stage_settle(g) > 0);
    if (s->select) {
        scene_pick at = scene_pick_at(g->scene, s->cursor_x, s->cursor_y);
        assert_int_equal(at.kind, PICK_EVENT);
        g->view.selected_row = at.event_row;
        g->in.cursor_x = g->in.cursor_y = -1;
        assert_true(stage_settle(g) > 0);
    }
}

static void frames_look_as_expected(void **state)
{
    golden *gold = *state;
    golden_need_fonts(gold);
    for (size_t i = 0; i < sizeof shots / sizeof *shots; i++) {
        small_run r;
        stage g;
        pipeline_run(&r, 3, 4);
        assert_int_equal(stage_open(&g, &r, 100, 100), MAREY_OK);
        scene_destroy(&g.scene);
        text_destroy(&g.text); /* the pictures' own fonts and atlas serve */
        assert_int_equal(scene_create(&g.scene, g.file, g.cache, gold->text, &g.diag), MAREY_OK);
        set_up(&g, &shots[i]);
        assert_null(draw_list_check(&g.list));
        golden_check(gold, shots[i].name, &g.list);
        stage_close(&g);
        small_free(&r);
    }
}

/* Glyph positions hang on the fonts' version; the texts themselves and all else are exact. */
static void dump_without_glyphs(const draw_list *l, strbuf *out)
{
    strbuf all = {0};
    draw_list_dump(l, &all);
    for (char *line = all.s; line && *line;) {
        char *end = strchr(line, '\n');
        size_t n = end ? (size_t)(end - line) : strlen(line);
        if (strncmp(line, "glyph", 5) != 0) {
            strbuf_add(out, line, n);
            strbuf_puts(out, "\n");
        }
        line = end ? end + 1 : NULL;
    }
    strbuf_deinit(&all);
}

static void a_list_is_exact(void **state)
{
    golden *gold = *state;
    golden_need_fonts(gold);
    small_run r;
    stage g;
    pipeline_run(&r, 1, 2);
    assert_int_equal(stage_open(&g, &r, 100, 100), MAREY_OK);
    shot s = {"scene-list", 340, 330, 1, THEME_DARK, LAYOUT_MAREY, 0, 12000, -1, -1, false, false, 1};
    set_up(&g, &s);
    strbuf actual = {0};
    dump_without_glyphs(&g.list, &actual);
    char path[1200];
    (void)snprintf(path, sizeof path, "%s/tests/golden/expected/scene-list.txt", gold->source);
    if (getenv("MAREY_GOLDEN_ACCEPT")) {
        assert_int_equal(file_write_all(path, actual.s, actual.n, &g.diag), MAREY_OK);
    }
    char *expected = NULL;
    size_t n = 0;
    assert_int_equal(file_read_all(path, 1 << 22, &expected, &n, &g.diag), MAREY_OK);
    assert_string_equal(expected, strbuf_str(&actual));
    free(expected);
    strbuf_deinit(&actual);
    stage_close(&g);
    small_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(frames_look_as_expected), cmocka_unit_test(a_list_is_exact)};
    return cmocka_run_group_tests(tests, golden_set_up, golden_tear_down);
}
