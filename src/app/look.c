#include "app/look.h"

#include <string.h>

bool look_check(const char *command, const session_look *look)
{
    const char *wrong = NULL;
    if (look->time_ns[1] <= look->time_ns[0]) {
        wrong = "--time wants a range A..B whose end lies after its start";
    } else if (look->row_height < 0 || look->row_height > 400) {
        wrong = "--row-height wants a height from 0 (what fits) to 400";
    } else if (look->open_depth != UINT64_MAX && look->open_depth > 3) {
        wrong = "--open wants a depth from 0 to 3";
    } else if (look->rows && strlen(look->rows) >= VIEW_PATTERN_MAX) {
        wrong = "--rows wants a pattern of at most 255 bytes";
    }
    if (wrong) {
        (void)fprintf(stderr, "marey %s: %s.\n", command, wrong);
    }
    return wrong == NULL;
}
