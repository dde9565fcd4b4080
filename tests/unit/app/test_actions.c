/*
 * Contract of app/actions.h: every name and every key is there once and found; what the scene's clickable things are
 * called exists; both printed forms hold a line for each command that has a key and a help.
 */
#include "cm.h"

#include "app/actions.h"
#include "help_capture.h"

static void names_and_keys_are_unique(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_ACTIONS; i++) {
        assert_ptr_equal(action_by_name(ACTIONS[i].name), &ACTIONS[i]);
        assert_non_null(ACTIONS[i].run);
        char keys[128];
        (void)snprintf(keys, sizeof keys, "%s", ACTIONS[i].keys ? ACTIONS[i].keys : "");
        for (char *p = keys; *p;) {
            char *end = strstr(p, ", ");
            if (end) {
                *end = '\0';
            }
            assert_ptr_equal(action_by_key(p), &ACTIONS[i]);
            p = end ? end + 2 : p + strlen(p);
        }
    }
    assert_null(action_by_key(""));
    assert_null(action_by_key(", "));
    assert_null(action_by_key("Ctrl+Z"));
    assert_null(action_by_name("nothing"));
}

static void clickable_commands_exist(void **state)
{
    (void)state;
    const char *const names[] = {"sort-busy",       "sort-exposed", "sort-wait", "sort-idle",
                                 "sort-late",       "sort-flops",   "sort-mfu",  "sort-memory",
                                 "layout-timeline", "layout-marey", "help"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_non_null(action_by_name(names[i]));
    }
}

static void printed_forms_are_complete(void **state)
{
    (void)state;
    for (int markdown = 0; markdown < 2; markdown++) {
        char text[8192];
        capture c = capture_begin(stdout);
        actions_print(stdout, markdown);
        capture_end(&c, text, sizeof text);
        for (size_t i = 0; i < N_ACTIONS; i++) {
            assert_true(!ACTIONS[i].help || strstr(text, ACTIONS[i].help));
            assert_true(!ACTIONS[i].keys || strstr(text, ACTIONS[i].keys));
        }
        assert_non_null(strstr(text, "Double click"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_and_keys_are_unique),
        cmocka_unit_test(clickable_commands_exist),
        cmocka_unit_test(printed_forms_are_complete),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
