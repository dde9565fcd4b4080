#include "app/look.h"

#include <string.h>

const char *look_steps_off(void *ctx, const char *text)
{
    uint32_t *mask = ctx;
    while (*text) {
        size_t n = strcspn(text, ",");
        bool known = n == 3 && strncmp(text, "all", 3) == 0;
        *mask |= known ? (1U << GRAPH_STEP_COUNT) - 1 : 0;
        for (int i = 0; i < GRAPH_STEP_COUNT; i++) {
            const char *name = graph_step_name((graph_step)i);
            if (strlen(name) == n && strncmp(text, name, n) == 0) {
                *mask |= 1U << i;
                known = true;
            }
        }
        if (!known) {
            return "parameters, bookkeeping, chains, cycles, prune, stack, or all, apart by commas";
        }
        text += n + (text[n] == ',');
    }
    return NULL;
}

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
