#include "base/status.h"

#include <stdio.h>
#include <stdlib.h>

/* Also a call of the installed library (include/marey/status.h). */
__attribute__((visibility("default"))) const char *marey_status_text(marey_status status)
{
    static const char *const texts[] = {
#define X(name, text) text,
        MAREY_STATUS_LIST(X)
#undef X
    };
    unsigned i = (unsigned)status;
    return i < sizeof texts / sizeof *texts ? texts[i] : "unknown status";
}

_Noreturn void marey_assert_failed(const char *cond, const char *file, int line)
{
    (void)fprintf(stderr, "marey: internal fault at %s:%d: %s\n", file, line, cond);
    abort();
}
