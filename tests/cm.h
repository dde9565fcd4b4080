/* cmocka with the headers that it wants first, and the words the tests share. */
#ifndef MAREY_TESTS_CM_H
#define MAREY_TESTS_CM_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Where the real inputs lie, or NULL with a message: tests that need them are skipped then. */
static inline const char *shared_dir(char *buf, size_t cap)
{
    const char *set = getenv("MAREY_SHARED");
    const char *source = getenv("MAREY_SOURCE_DIR");
    if (set) {
        (void)snprintf(buf, cap, "%s", set);
    } else {
        (void)snprintf(buf, cap, "%s/../shared", source ? source : ".");
    }
    char probe[4096];
    (void)snprintf(probe, sizeof probe, "%s/data/README.md", buf);
    FILE *f = fopen(probe, "rb");
    if (!f) {
        print_message("skipped: no real inputs at %s (set MAREY_SHARED)\n", buf);
        return NULL;
    }
    (void)fclose(f);
    return buf;
}

#endif
