/*
 * The CSV reader: columns are found by name, exactly or by suffix, whatever blanks and tabs pad them; quotes, line ends
 * and separators inside quotes are kept; empty files, header-only files and short rows are normal; nothing depends on
 * how the bytes arrive.
 */
#include "cm.h"

#include "base/diag.h"
#include "parse/csv.h"

static diag sink;

static csv *open_text(const char *text)
{
    csv *c = NULL;
    assert_int_equal(csv_open_memory(text, strlen(text), "t", &sink, 0, &c), MAREY_OK);
    return c;
}

static void expect(const csv *c, int column, const char *text)
{
    csv_field f = csv_get(c, column);
    assert_int_equal(f.n, strlen(text));
    assert_memory_equal(f.s, text, f.n);
}

static void columns(void **state)
{
    (void)state;
    csv *c = open_text(
        "Name, full op name,Start Time(us)\t,a_start_point,b_start_point\r\nx,y,1736405443881410.320\t,5,6\r\n");
    assert_int_equal(csv_n_columns(c), 5);
    assert_string_equal(csv_column(c, 1), "full op name");
    assert_string_equal(csv_column(c, 2), "Start Time(us)");
    assert_string_equal(csv_column(c, 9), "");
    assert_int_equal(csv_find(c, "start time(US)"), 2);
    assert_int_equal(csv_find(c, "missing"), -1);
    assert_int_equal(csv_find_any(c, (const char *const[]){"op_full_name", "full op name", NULL}), 1);
    assert_int_equal(csv_find_suffix(c, "_start_point", 0), 3);
    assert_int_equal(csv_find_suffix(c, "_start_point", 4), 4);
    assert_int_equal(csv_find_suffix(c, "_start_point", 5), -1);
    assert_true(csv_next(c));
    int64_t ns = 0;
    assert_true(csv_us(c, 2, &ns));
    assert_true(ns == INT64_C(1736405443881410320));
    int64_t v = 0;
    assert_true(csv_i64(c, 4, &v) && v == 6);
    expect(c, -1, "");
    assert_false(csv_next(c));
    assert_int_equal(csv_status(c), MAREY_OK);
    csv_close(&c);
    assert_null(c);
}

static void quotes(void **state)
{
    (void)state;
    csv *c = open_text("a,b,c\n\"x, \"\"y\"\"\nz\",\"\"\"32,3\"\"\", pl\"ain\" \n");
    assert_true(csv_next(c));
    expect(c, 0, "x, \"y\"\nz");
    expect(c, 1, "\"32,3\"");
    expect(c, 2, "pl\"ain\"");
    assert_false(csv_next(c));
    csv_close(&c);
}

static void odd_rows(void **state)
{
    (void)state;
    csv *c = open_text("a,b,c\n1,2\n\n\r\n1,2,3,4\n7,N/A,-");
    assert_true(csv_next(c));
    expect(c, 2, "");
    assert_true(csv_next(c));
    expect(c, 2, "3");
    assert_int_equal(csv_offset(c), 13);
    assert_true(csv_next(c));
    assert_true(csv_field_none(csv_get(c, 1)));
    assert_true(csv_field_none(csv_get(c, 2)));
    assert_false(csv_field_none(csv_get(c, 0)));
    double v = 0;
    assert_false(csv_double(c, 1, &v));
    assert_false(csv_next(c));
    assert_int_equal(csv_n_rows(c), 3);
    assert_int_equal(csv_n_short(c), 1);
    assert_int_equal(csv_n_long(c), 1);
    csv_close(&c);
}

static void empty(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "\n", "\r\n\r\n"};
    for (size_t i = 0; i < 3; i++) {
        csv *c = open_text(texts[i]);
        assert_int_equal(csv_n_columns(c), 0);
        assert_false(csv_next(c));
        csv_close(&c);
    }
    csv *c = open_text("a,b\n");
    assert_int_equal(csv_n_columns(c), 2);
    assert_false(csv_next(c));
    assert_int_equal(csv_n_rows(c), 0);
    csv_close(&c);
}

static void tabs(void **state)
{
    (void)state;
    csv *c = open_text("\xEF\xBB\xBFone\ttwo\n1, 2\t3\n");
    assert_int_equal(csv_find(c, "one"), 0);
    assert_int_equal(csv_find(c, "two"), 1);
    assert_true(csv_next(c));
    expect(c, 0, "1, 2");
    expect(c, 1, "3");
    csv_close(&c);
}

static void open_quote(void **state)
{
    (void)state;
    uint64_t before = diag_lost(&sink, MAREY_LOSS_TRUNCATED);
    csv *c = open_text("a,b\n1,2\n3,\"never closed\n5,6\n");
    assert_true(csv_next(c));
    assert_false(csv_next(c));
    assert_int_equal(diag_lost(&sink, MAREY_LOSS_TRUNCATED), before + 1);
    csv_close(&c);
}

static void huge_row(void **state)
{
    (void)state;
    size_t n = (size_t)CSV_MAX_ROW_BYTES + 4096;
    char *text = malloc(n + 32);
    assert_non_null(text);
    memcpy(text, "a,b\n1,", 6);
    memset(text + 6, 'x', n);
    memcpy(text + 6 + n, "\n3,4\n", 6);
    csv *c = open_text(text);
    assert_true(csv_next(c)); /* the huge row is gone, the next is whole */
    expect(c, 0, "3");
    expect(c, 1, "4");
    assert_false(csv_next(c));
    assert_int_equal(diag_lost(&sink, MAREY_LOSS_EVENT_TOO_LARGE), 1);
    csv_close(&c);
    free(text);
}

static void window_edges(void **state)
{
    (void)state;
    /* Many rows, so that fields, quotes and line ends fall on every edge of the window. */
    enum { ROWS = 30000 };
    char *text = malloc(ROWS * 40);
    assert_non_null(text);
    size_t n = (size_t)sprintf(text, "i,quoted,square\n");
    for (int i = 0; i < ROWS; i++) {
        n += (size_t)sprintf(text + n, "%d,\"a,\"\"%d\"\"\",%d\r\n", i, i, i * 3);
    }
    csv *c = NULL;
    assert_int_equal(csv_open_memory(text, n, "t", &sink, 0, &c), MAREY_OK);
    for (int i = 0; i < ROWS; i++) {
        char quoted[32];
        int64_t v = 0;
        assert_true(csv_next(c));
        assert_true(csv_i64(c, 0, &v) && v == i);
        (void)sprintf(quoted, "a,\"%d\"", i);
        expect(c, 1, quoted);
        assert_true(csv_i64(c, 2, &v) && v == i * 3);
    }
    assert_false(csv_next(c));
    csv_close(&c);
    free(text);
}

int main(void)
{
    diag_init(&sink);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns),  cmocka_unit_test(quotes),       cmocka_unit_test(odd_rows),
        cmocka_unit_test(empty),    cmocka_unit_test(tabs),         cmocka_unit_test(open_quote),
        cmocka_unit_test(huge_row), cmocka_unit_test(window_edges),
    };
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    diag_deinit(&sink);
    return rc;
}
