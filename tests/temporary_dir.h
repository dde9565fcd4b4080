/* A folder for one test, and its removal with all that is in it. */
#ifndef MAREY_TESTS_TEMPORARY_DIR_H
#define MAREY_TESTS_TEMPORARY_DIR_H

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static inline void temporary_dir(char *out, size_t cap)
{
    const char *base = getenv("TMPDIR");
    (void)snprintf(out, cap, "%s/marey-test-XXXXXX", base ? base : "/tmp");
    assert_non_null(mkdtemp(out));
}

static inline int remove_entry(const char *path, const struct stat *s, int type, struct FTW *walk)
{
    (void)s, (void)type, (void)walk;
    return remove(path);
}

static inline void remove_dir(const char *dir)
{
    assert_int_equal(nftw(dir, remove_entry, 8, FTW_DEPTH | FTW_PHYS), 0);
}

#endif
