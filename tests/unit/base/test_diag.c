/*
 * Contract: losses are counted by code and file with the first offset, whatever the order; merging two sinks loses
 * nothing and joins entries of the same file; messages are bounded.
 */
#include "cm.h"

#include "base/diag.h"

static void counts_losses(void **state)
{
    (void)state;
    diag d;
    diag_init(&d);
    uint32_t a = diag_file(&d, "a.json");
    uint32_t b = diag_file(&d, "b.json");
    diag_lose(&d, MAREY_LOSS_UNMATCHED_END, a, 500, 1, NULL);
    diag_lose(&d, MAREY_LOSS_UNMATCHED_END, a, 20, 2, NULL);
    diag_lose(&d, MAREY_LOSS_UNMATCHED_END, b, 7, 4, NULL);
    diag_lose(&d, MAREY_LOSS_UNKNOWN_PHASE, a, 1, 1, "v");
    diag_lose(&d, MAREY_LOSS_UNKNOWN_PHASE, a, 2, 1, "O");
    assert_int_equal(d.n_losses, 4);
    assert_int_equal(d.losses[0].count, 3);
    assert_int_equal(d.losses[0].first_offset, 20);
    assert_int_equal(diag_lost(&d, MAREY_LOSS_UNMATCHED_END), 7);
    assert_int_equal(diag_file(&d, "a.json"), a);
    diag_deinit(&d);
}

static void merges(void **state)
{
    (void)state;
    diag x;
    diag y;
    diag_init(&x);
    diag_init(&y);
    diag_lose(&x, MAREY_LOSS_OVERLAP, diag_file(&x, "f"), 9, 1, NULL);
    (void)diag_file(&y, "other");
    diag_lose(&y, MAREY_LOSS_OVERLAP, diag_file(&y, "f"), 3, 5, NULL);
    assert_int_equal(diag_error(&y, MAREY_FORMAT, "f", 12, "bad %d", 7), MAREY_FORMAT);
    diag_merge(&x, &y);
    assert_int_equal(x.n_losses, 1);
    assert_int_equal(x.losses[0].count, 6);
    assert_int_equal(x.losses[0].first_offset, 3);
    assert_int_equal(x.n_messages, 1);
    assert_string_equal(x.messages[0].text, "bad 7");
    diag_deinit(&x);
    diag_deinit(&y);
}

static void bounds_messages(void **state)
{
    (void)state;
    diag d;
    diag_init(&d);
    for (int i = 0; i < DIAG_MAX_MESSAGES + 50; i++) {
        diag_warn(&d, NULL, DIAG_NO_OFFSET, "message %d", i);
    }
    assert_int_equal(d.n_messages, DIAG_MAX_MESSAGES);
    assert_int_equal(d.n_suppressed, 50);
    diag_deinit(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(counts_losses), cmocka_unit_test(merges),
                                       cmocka_unit_test(bounds_messages)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
