/*
 * Memory that the process keeps: after mem_keep_freed() what is freed and taken again costs no new pages; pieces of
 * MEM_KEEP_PIECE bytes and more go back at once, and mem_give_back() returns the rest.
 */
#include "cm.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/mem.h"

static long faults(void)
{
    struct rusage u;
    (void)getrusage(RUSAGE_SELF, &u);
    return u.ru_minflt;
}

/* Pages that touching `bytes` for the first time costs. */
static long take_and_free(size_t bytes)
{
    long before = faults();
    char *p = mem_alloc(bytes);
    memset(p, 1, bytes);
    *(volatile char *)p = 2;
    free(p);
    return faults() - before;
}

static void keeps_what_is_freed(void **state)
{
    (void)state;
    const size_t bytes = MEM_KEEP_PIECE / 2;
    const long pages = (long)(bytes / 4096);
    mem_keep_freed((size_t)64 << 20);
    (void)take_and_free(bytes);
    long again = take_and_free(bytes);
    mem_give_back();
    long after = take_and_free(bytes);
    long large = take_and_free(2 * (size_t)MEM_KEEP_PIECE) + take_and_free(2 * (size_t)MEM_KEEP_PIECE);
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    assert_true(again < pages / 8);
    /* The system may hand out larger pages, which are fewer. */
    assert_true(after > 0 && large > 0 && after <= 2 * pages);
#else
    (void)again;
    (void)pages;
    (void)after;
    (void)large;
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(keeps_what_is_freed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
