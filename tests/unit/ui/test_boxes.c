/*
 * Contract of ui/ui.h for boxes and input:
 *
 * - Sizes: px, text, percent, children and fill as named; what is too large shrinks by (1 - strictness); children of a
 *   box lie beside each other without overlap and inside it; all edges are whole pixels at any scale.
 * - The same description gives the same tree, and the dump says it exactly.
 * - A click is a press and a release on one box; what lies under an opaque surface sees nothing of it.
 * - Tab walks in the order of description and round; Shift+Tab back; Enter and Space do what a click does; Up and Down
 *   walk among brothers; Escape gives the focus back, and then keys are nobody's.
 * - State belongs to the key: a box that moves keeps its focus. Two boxes of one name are reported.
 * - The field edits text; letters belong to it while it has the focus.
 */
#include "help_stand.h"

static const ui_text_style SMALL = {FACE_SANS, 12, UI_PLAIN, TEXT_LEFT};

static void box(stand *s, const char *id, ui_size w, ui_size h)
{
    ui_style style = {.w = w, .h = h};
    (void)ui_push(s->u, "box", id, &style);
    ui_describe(s->u, (ui_box_id)(s->u->n - 1), id);
    ui_pop(s->u);
}

static void open_row(stand *s, rect r, float pad, float gap)
{
    ui_style style = {.axis = UI_ROW, .pad_x = pad, .pad_y = pad, .gap = gap};
    (void)ui_root(s->u, "root", r, LAYER_PANELS, &style);
}

static void test_sizes(void **state)
{
    stand *s = *state;
    stand_begin(s);
    open_row(s, (rect){10, 20, 400, 100}, 10, 5);
    box(s, "px", UI_SIZE_PX(50), UI_SIZE_PX(30));
    box(s, "percent", UI_SIZE_PERCENT(25), UI_SIZE_PERCENT(50));
    box(s, "one", UI_SIZE_FILL, UI_SIZE_FILL);
    box(s, "two", (ui_size){UI_FILL, 2, 0}, UI_SIZE_FILL);
    ui_pop(s->u);
    stand_end(s);
    /* inside: 380 x 80; 50 + 95 + 3 gaps of 5 leave 220, of which 73 and 147 */
    assert_string_equal(stand_dump(s), "surface \"root\" [10 20 400 100]\n"
                                       "  box \"px\" [20 55 50 30]\n"
                                       "  box \"percent\" [75 50 95 40]\n"
                                       "  box \"one\" [175 30 73 80]\n"
                                       "  box \"two\" [253 30 147 80]\n");
}

static void test_shrinks_by_strictness(void **state)
{
    stand *s = *state;
    stand_begin(s);
    open_row(s, (rect){0, 0, 200, 20}, 0, 0);
    box(s, "strict", (ui_size){UI_PX, 100, 1}, UI_SIZE_FILL);
    box(s, "half", (ui_size){UI_PX, 100, 0.5F}, UI_SIZE_FILL);
    box(s, "soft", (ui_size){UI_PX, 100, 0}, UI_SIZE_FILL);
    box(s, "rest", UI_SIZE_FILL, UI_SIZE_FILL);
    ui_pop(s->u);
    stand_end(s);
    assert_int_equal(stand_rect(s, "box", "strict").w, 100);
    assert_int_equal(stand_rect(s, "box", "half").w, 66);
    assert_int_equal(stand_rect(s, "box", "soft").w, 33);
    assert_int_equal(stand_rect(s, "box", "rest").w, 0);
}

static void describe_panel(stand *s)
{
    ui_style style = {.pad_x = 12, .pad_y = 8, .gap = 4, .flags = UI_OPAQUE};
    (void)ui_root(s->u, "panel", (rect){500, 0, 300 * s->frame.scale, 600}, LAYER_PANELS, &style);
    ui_section(s->u, "Findings", "step 3");
    (void)ui_card(s->u, "a", 0.5, false);
    ui_label_fill(s->u, "Rank 21 is slow", SMALL);
    ui_pop(s->u);
    (void)ui_card(s->u, "b", 0.2, false);
    ui_label_fill(s->u, "AllReduce is exposed", SMALL);
    ui_pop(s->u);
    ui_key_value(s->u, "median", "37.2 ms");
    (void)ui_button(s->u, "go", "Go there");
    ui_legend(
        s->u, "legend",
        (const ui_legend_item[]){{"forward", {1, 2, 3, 255}}, {"backward", {3, 2, 1, 255}}, {"copy", {0, 0, 0, 255}}},
        3);
    ui_pop(s->u);
}

static void assert_nested(const stand *s)
{
    for (uint32_t i = 0; i < s->u->n; i++) {
        const ui_box *b = &s->u->boxes[i];
        assert_true(b->r.x == floorf(b->r.x) && b->r.y == floorf(b->r.y));
        assert_true(b->r.w == floorf(b->r.w) && b->r.h == floorf(b->r.h));
        for (uint32_t c = i + 1; c < b->end; c = s->u->boxes[c].end) {
            rect r = s->u->boxes[c].r;
            assert_true(r.x >= b->r.x && r.x + r.w <= b->r.x + b->r.w);
            uint32_t next = s->u->boxes[c].end;
            if (next < b->end) {
                rect o = s->u->boxes[next].r;
                assert_true(r.x + r.w <= o.x || r.y + r.h <= o.y);
            }
        }
    }
}

static void test_whole_pixels_at_any_scale(void **state)
{
    stand *s = *state;
    static const float scales[] = {0.75F, 1, 1.25F, 1.5F, 2, 2.6F};
    for (size_t i = 0; i < sizeof scales / sizeof *scales; i++) {
        s->frame.scale = scales[i];
        stand_begin(s);
        describe_panel(s);
        stand_end(s);
        assert_nested(s);
    }
}

static void test_same_description_same_tree(void **state)
{
    stand *s = *state;
    stand_begin(s);
    describe_panel(s);
    stand_end(s);
    char *first = strdup(stand_dump(s));
    stand_begin(s);
    describe_panel(s);
    stand_end(s);
    assert_string_equal(stand_dump(s), first);
    assert_non_null(strstr(first, "card [512 40 276 36] focusable\n"));
    assert_non_null(strstr(first, "pair \"median\" [512 120 276 24]\n"));
    free(first);
}

typedef struct two_buttons {
    bool a, b;
} two_buttons;

static two_buttons describe_buttons(stand *s, float x, bool covered)
{
    two_buttons out;
    stand_begin(s);
    ui_style style = {.gap = 10, .flags = UI_OPAQUE};
    (void)ui_root(s->u, "buttons", (rect){x, 100, 200, 200}, LAYER_PANELS, &style);
    out.a = ui_button(s->u, "a", "Alpha").clicked;
    out.b = ui_button(s->u, "b", "Beta").clicked;
    ui_pop(s->u);
    if (covered) {
        (void)ui_root(s->u, "above", (rect){x, 90, 50, 50}, LAYER_OVERLAY, &style);
        ui_pop(s->u);
    }
    stand_end(s);
    return out;
}

static void test_clicks(void **state)
{
    stand *s = *state;
    (void)describe_buttons(s, 50, false);
    assert_true(stand_click(s, 60, 110));
    two_buttons got = describe_buttons(s, 50, false);
    assert_true(got.a && !got.b);
    got = describe_buttons(s, 50, false);
    assert_false(got.a || got.b);
    /* Pressed on one and released on the other: no click. */
    ui_event e = {.kind = UI_EVENT_PRESS, .x = 60, .y = 110};
    assert_true(ui_handle(s->u, &e));
    e = (ui_event){.kind = UI_EVENT_RELEASE, .x = 60, .y = 150};
    assert_true(ui_handle(s->u, &e));
    got = describe_buttons(s, 50, false);
    assert_false(got.a || got.b);
    assert_false(stand_click(s, 700, 500));
    (void)describe_buttons(s, 50, true);
    assert_true(stand_click(s, 60, 110));
    got = describe_buttons(s, 50, true);
    assert_false(got.a || got.b);
}

static void test_keyboard(void **state)
{
    stand *s = *state;
    (void)describe_buttons(s, 50, false);
    assert_false(stand_key(s, "Enter"));
    assert_true(stand_key(s, "Tab"));
    assert_true(stand_key(s, "Enter"));
    two_buttons got = describe_buttons(s, 50, false);
    assert_true(got.a && !got.b);
    assert_true(stand_key(s, "Tab"));
    assert_true(stand_sign(s, ' '));
    got = describe_buttons(s, 300, false); /* the box moved: the focus goes with it */
    assert_true(got.b && !got.a);
    assert_non_null(strstr(stand_dump(s), "button \"Beta\" [300 138"));
    assert_true(stand_key(s, "Tab")); /* round */
    assert_true(stand_key(s, "Enter"));
    assert_true(describe_buttons(s, 50, false).a);
    assert_true(stand_key(s, "Shift+Tab"));
    assert_true(stand_key(s, "Up"));
    assert_true(stand_key(s, "Enter"));
    assert_true(describe_buttons(s, 50, false).a);
    assert_false(stand_key(s, "Up")); /* the first: whose key it is, the scene may have it */
    assert_false(stand_sign(s, 'w'));
    assert_true(stand_key(s, "Escape"));
    (void)describe_buttons(s, 50, false);
    assert_false(stand_key(s, "Escape"));
    assert_false(stand_sign(s, ' '));
}

static void describe_scrolled(stand *s)
{
    stand_begin(s);
    ui_style style = {.flags = UI_OPAQUE};
    (void)ui_root(s->u, "side", (rect){0, 0, 200, 100}, LAYER_PANELS, &style);
    (void)ui_scroll_area(s->u, "content");
    (void)ui_button(s->u, "a", "Alpha");
    ui_space(s->u, 300);
    (void)ui_button(s->u, "b", "Beta");
    ui_pop(s->u);
    ui_pop(s->u);
    stand_end(s);
}

static void test_scroll_area(void **state)
{
    stand *s = *state;
    describe_scrolled(s);
    assert_true(stand_wheel(s, 50, 50, -1));
    describe_scrolled(s);
    assert_int_equal(stand_rect(s, "button", "Alpha").y, -60);
    assert_true(stand_key(s, "Tab")); /* the focus is brought into view */
    describe_scrolled(s);
    describe_scrolled(s);
    assert_int_equal(stand_rect(s, "button", "Alpha").y, 0);
    assert_true(stand_key(s, "Page down"));
    describe_scrolled(s);
    assert_int_equal(stand_rect(s, "button", "Alpha").y, -60);
    assert_true(stand_key(s, "End"));
    describe_scrolled(s);
    rect last = stand_rect(s, "button", "Beta");
    assert_int_equal(last.y + last.h, 100);
    assert_true(stand_key(s, "Home"));
    describe_scrolled(s);
    assert_int_equal(stand_rect(s, "button", "Alpha").y, 0);
    assert_true(stand_click(s, 50, 10));
    assert_false(stand_wheel(s, 500, 50, -1));
}

static void test_focus_ends_with_its_box(void **state)
{
    stand *s = *state;
    (void)describe_buttons(s, 50, false);
    assert_true(stand_key(s, "Tab"));
    stand_begin(s);
    stand_end(s);
    assert_false(ui_has_focus(s->u));
    assert_false(stand_key(s, "Tab"));
}

static void test_double_names_are_named(void **state)
{
    stand *s = *state;
    stand_begin(s);
    open_row(s, (rect){0, 0, 100, 20}, 0, 0);
    box(s, "same", UI_SIZE_PX(10), UI_SIZE_PX(10));
    box(s, "same", UI_SIZE_PX(10), UI_SIZE_PX(10));
    ui_pop(s->u);
    ui_end(s->u);
    assert_non_null(strstr(ui_problem(s->u), "\"same\""));
}

static ui_field describe_field(stand *s)
{
    stand_begin(s);
    ui_style style = {.flags = UI_OPAQUE};
    (void)ui_root(s->u, "bar", (rect){100, 10, 300, 28}, LAYER_PANELS, &style);
    ui_field f = ui_search_field(s->u, "search", "Search", NULL, "/");
    ui_pop(s->u);
    stand_end(s);
    return f;
}

static void test_field(void **state)
{
    stand *s = *state;
    (void)describe_field(s);
    assert_false(stand_sign(s, 'q'));
    assert_true(stand_click(s, 150, 20));
    assert_true(ui_is_editing(s->u));
    stand_type(s, "mat\xE5\x89\x8D");
    ui_field f = describe_field(s);
    assert_true(f.changed && f.focused);
    assert_string_equal(f.text, "mat\xE5\x89\x8D");
    assert_true(stand_key(s, "Backspace"));
    assert_true(stand_key(s, "Down"));
    assert_true(stand_key(s, "Enter"));
    assert_false(stand_key(s, "F11"));
    f = describe_field(s);
    assert_string_equal(f.text, "mat");
    assert_true(f.entered && f.moves == 1);
    assert_true(stand_key(s, "Escape"));
    f = describe_field(s);
    assert_true(f.left);
    assert_false(ui_is_editing(s->u));
    assert_string_equal(f.text, "mat");
}

static void test_pop_ups(void **state)
{
    stand *s = *state;
    s->frame.now_ns = 1000;
    stand_begin(s);
    ui_toast(s->u, "Nothing was found.", 1000);
    stand_end(s);
    assert_non_null(strstr(stand_dump(s), "\"Nothing was found.\""));
    assert_true(ui_deadline_ns(s->u) > 1000);
    s->frame.now_ns = ui_deadline_ns(s->u);
    stand_begin(s);
    stand_end(s);
    assert_null(strstr(stand_dump(s), "Nothing"));
    assert_true(ui_deadline_ns(s->u) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_sizes, stand_up, stand_down),
        cmocka_unit_test_setup_teardown(test_shrinks_by_strictness, stand_up, stand_down),
        cmocka_unit_test_setup_teardown(test_whole_pixels_at_any_scale, stand_up, stand_down),
        cmocka_unit_test_setup_teardown(test_same_description_same_tree, stand_up, stand_down),
        cmocka_unit_test_setup_teardown(test_clicks, stand_up, stand_down),
        cmocka_unit_test_setup_teardown(test_keyboard, stand_up, stand_down),
        cmocka_unit_test_setup_teardown(test_scroll_area, stand_up, stand_down),
        cmocka_unit_test_setup_teardown(test_focus_ends_with_its_box, stand_up, stand_down),
        cmocka_unit_test_setup_teardown(test_double_names_are_named, stand_up, stand_down),
        cmocka_unit_test_setup_teardown(test_field, stand_up, stand_down),
        cmocka_unit_test_setup_teardown(test_pop_ups, stand_up, stand_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
