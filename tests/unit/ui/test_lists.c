/*
 * Contract of the lists of ui/ui.h:
 *
 * - A list of 10^6 rows describes only what is visible, at any scroll; its first and last row can be reached, by keys
 *   and by the wheel; the cursor's row is always in view after a key moved it, to the pixel.
 * - A click or Enter activates the row that it is on, once.
 * - A tree opens and closes by Right, Left and Enter; Left on a leaf goes to the row that holds it.
 * - A table's title sorts: numbers from the largest, names from the first; once more turns it round.
 */
#include "help_stand.h"

static const uint64_t MANY = 1000000;

static ui_list describe_list(stand *s, uint64_t n)
{
    ui_style style = {.flags = UI_OPAQUE};
    stand_begin(s);
    (void)ui_root(s->u, "panel", (rect){0, 0, 200, 240}, LAYER_PANELS, &style);
    ui_list l = ui_list_begin(s->u, "list", n, 24);
    for (uint64_t i = l.first; i < l.end; i++) {
        char text[32];
        (void)snprintf(text, sizeof text, "row %llu", (unsigned long long)i);
        (void)ui_list_row(s->u, &l, i);
        ui_label_fill(s->u, text, (ui_text_style){FACE_SANS, 12, UI_PLAIN, TEXT_LEFT});
        ui_pop(s->u);
    }
    ui_list_end(s->u, &l);
    ui_pop(s->u);
    stand_end(s);
    return l;
}

static void assert_few(const ui_list *l)
{
    assert_true(l->end - l->first <= 12);
    assert_true(l->end <= l->n && l->first <= l->end);
}

static rect row_rect(const stand *s, const char *text)
{
    return stand_rect(s, "label", text);
}

static void test_virtual(void **state)
{
    stand *s = *state;
    ui_list l = describe_list(s, MANY);
    assert_true(l.end <= 66 && ui_is_restless(s->u)); /* its height is not known in the first frame */
    l = describe_list(s, MANY);
    assert_few(&l);
    assert_int_equal(l.first, 0);
    assert_true(stand_key(s, "Tab"));
    assert_true(stand_key(s, "End"));
    l = describe_list(s, MANY);
    assert_few(&l);
    assert_int_equal(l.end, MANY);
    assert_int_equal(l.cursor, MANY - 1);
    rect last = row_rect(s, "row 999999");
    assert_true(last.y >= 0 && last.y + last.h <= 240);
    assert_true(stand_wheel(s, 100, 100, 1));
    l = describe_list(s, MANY);
    assert_few(&l);
    assert_true(row_rect(s, "row 999990").h > 0);
    assert_true(stand_key(s, "Home"));
    l = describe_list(s, MANY);
    assert_int_equal(l.first, 0);
    assert_int_equal(row_rect(s, "row 0").y, 3); /* 18 px of text in a row of 24 */
}

static void test_keys_keep_the_cursor_in_view(void **state)
{
    stand *s = *state;
    static const char *const keys[] = {"Down", "Page down", "Page down", "Up", "Page up",
                                       "Down", "End",       "Page up",   "Up"};
    (void)describe_list(s, MANY);
    (void)stand_key(s, "Tab");
    for (size_t i = 0; i < 200; i++) {
        assert_true(stand_key(s, keys[(i * 7) % 9]));
        ui_list l = describe_list(s, MANY);
        char text[32];
        (void)snprintf(text, sizeof text, "row %llu", (unsigned long long)l.cursor);
        rect r = row_rect(s, text);
        assert_true(r.y >= 0 && r.y + r.h <= 240);
        assert_few(&l);
    }
}

static void test_activates_once(void **state)
{
    stand *s = *state;
    (void)describe_list(s, 5);
    assert_true(stand_click(s, 50, 60));
    assert_int_equal(describe_list(s, 5).activated, 2);
    assert_true(describe_list(s, 5).activated == UI_NO_ROW);
    assert_true(stand_key(s, "Down"));
    assert_true(stand_key(s, "Enter"));
    ui_list l = describe_list(s, 5);
    assert_int_equal(l.activated, 3);
    assert_true(describe_list(s, 2).cursor < 2); /* fewer rows now */
    l = describe_list(s, 0);
    assert_true(l.cursor == UI_NO_ROW && l.first == 0 && l.end == 0);
    assert_true(stand_key(s, "Down"));
    assert_true(describe_list(s, 0).activated == UI_NO_ROW);
}

/* Two stages of two ranks each; `open` says which stages are open. */
typedef struct forest {
    bool open[2];
    char text[16];
} forest;

static uint64_t forest_rows(const forest *f)
{
    return 2 + (f->open[0] ? 2U : 0U) + (f->open[1] ? 2U : 0U);
}

static ui_tree_row forest_row(void *ctx, uint64_t row)
{
    forest *f = ctx;
    for (unsigned stage = 0; stage < 2; stage++) {
        if (row == 0) {
            (void)snprintf(f->text, sizeof f->text, "stage %u", stage);
            return (ui_tree_row){f->text, NULL, 0, true, f->open[stage]};
        }
        row--;
        if (f->open[stage] && row < 2) {
            (void)snprintf(f->text, sizeof f->text, "rank %u", stage * 2 + (unsigned)row);
            return (ui_tree_row){f->text, "host", 1, false, false};
        }
        row -= f->open[stage] ? 2 : 0;
    }
    return (ui_tree_row){"?", NULL, 0, false, false};
}

static ui_tree_event describe_tree(stand *s, forest *f)
{
    ui_style style = {.flags = UI_OPAQUE};
    stand_begin(s);
    (void)ui_root(s->u, "panel", (rect){0, 0, 200, 240}, LAYER_PANELS, &style);
    ui_tree_event e = ui_tree(s->u, "tree", forest_rows(f), forest_row, f);
    ui_pop(s->u);
    stand_end(s);
    return e;
}

static void test_tree(void **state)
{
    stand *s = *state;
    forest f = {0};
    (void)describe_tree(s, &f);
    (void)stand_key(s, "Tab");
    (void)stand_key(s, "Down");
    (void)stand_key(s, "Right");
    assert_int_equal(describe_tree(s, &f).toggled, 0);
    f.open[0] = true;
    (void)describe_tree(s, &f);
    assert_int_equal(row_rect(s, "rank 1").y, 51);
    (void)stand_key(s, "Down");
    (void)stand_key(s, "Down");
    (void)stand_key(s, "Enter");
    assert_int_equal(describe_tree(s, &f).activated, 2);
    (void)stand_key(s, "Left");
    ui_tree_event e = describe_tree(s, &f);
    assert_true(e.toggled == UI_NO_ROW && e.activated == UI_NO_ROW);
    (void)stand_key(s, "Left"); /* now on the stage, which closes */
    assert_int_equal(describe_tree(s, &f).toggled, 0);
}

static const char *cell(void *ctx, uint64_t row, size_t column)
{
    (void)ctx;
    static char text[32];
    (void)snprintf(text, sizeof text, "%c%llu", column ? 'n' : 'r', (unsigned long long)row);
    return text;
}

static uint64_t describe_table(stand *s, ui_table *t, bool *changed)
{
    ui_style style = {.flags = UI_OPAQUE};
    stand_begin(s);
    (void)ui_root(s->u, "panel", (rect){0, 0, 300, 240}, LAYER_PANELS, &style);
    uint64_t row = ui_table_show(s->u, "table", t, changed);
    ui_pop(s->u);
    stand_end(s);
    return row;
}

static void test_table(void **state)
{
    stand *s = *state;
    static const ui_column columns[] = {{"name", 0, false}, {"count", 80, true}};
    ui_table t = {.columns = columns, .n_columns = 2, .n_rows = 100000, .cell = cell};
    bool changed = false;
    (void)describe_table(s, &t, &changed);
    (void)describe_table(s, &t, &changed);
    assert_false(changed);
    assert_true(s->u->n < 100);
    rect title = stand_rect(s, "title", "count");
    assert_true(stand_click(s, (double)title.x + 5, (double)title.y + 5));
    (void)describe_table(s, &t, &changed);
    assert_true(changed && t.sort_column == 1 && t.descending);
    (void)describe_table(s, &t, &changed);
    assert_true(stand_click(s, (double)title.x + 5, (double)title.y + 5));
    (void)describe_table(s, &t, &changed);
    assert_true(changed && !t.descending);
    (void)describe_table(s, &t, &changed);
    assert_true(stand_click(s, 20, 60));
    assert_int_equal(describe_table(s, &t, &changed), 1);
    assert_int_equal(stand_rect(s, "cell", "n1").x + stand_rect(s, "cell", "n1").w, 290);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_virtual, stand_up, stand_down),
        cmocka_unit_test_setup_teardown(test_keys_keep_the_cursor_in_view, stand_up, stand_down),
        cmocka_unit_test_setup_teardown(test_activates_once, stand_up, stand_down),
        cmocka_unit_test_setup_teardown(test_tree, stand_up, stand_down),
        cmocka_unit_test_setup_teardown(test_table, stand_up, stand_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
