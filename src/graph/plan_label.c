/* The labels of a plan while it is made; their text becomes the plan's. */
#include <string.h>

#include "graph/plan_work.h"

enum { RECENT = 4096 };

/* The slot of a text, by its end. */
static uint32_t *recent_slot(plan_labels_text *l, const char *s, size_t n)
{
    uint64_t end = n;
    memcpy(&end, s + (n > 8 ? n - 8 : 0), n > 8 ? 8 : n);
    return &l->recent[((end ^ n) * 0x9e3779b97f4a7c15U) >> 52];
}

uint32_t plan_add_label(plan_work *w, const char *s, size_t n)
{
    plan_labels_text *l = &w->labels;
    if (!l->recent) {
        l->recent = mem_calloc(RECENT, sizeof *l->recent);
    }
    uint32_t *slot = recent_slot(l, s, n);
    if (*slot && strcmp(l->text + *slot - 1, s) == 0) {
        return *slot - 1;
    }
    if (n >= UINT32_MAX - l->n) {
        return 0;
    }
    VEC_RESERVE(l->text, l->cap, l->n + n + 1);
    memcpy(l->text + l->n, s, n + 1);
    *slot = (uint32_t)l->n + 1;
    l->n += n + 1;
    return *slot - 1;
}
