#include "app/find_names.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "store/query.h"

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* @return where `part` begins in `text`, or -1 */
static int place_of(const char *text, const char *part)
{
    for (int at = 0; text[at]; at++) {
        int i = 0;
        while (part[i] && lower(text[at + i]) == lower(part[i])) {
            i++;
        }
        if (!part[i]) {
            return at;
        }
    }
    return -1;
}

static void find_ranks(const trace_model *m, const char *text, find_hits *out)
{
    char number[24];
    for (uint32_t r = 0; r < m->n_ranks && out->n < FIND_MAX_HITS; r++) {
        (void)snprintf(number, sizeof number, "%lld", (long long)m->ranks[r].rank);
        if (strcmp(number, text) == 0 || place_of(m->ranks[r].label, text) >= 0 ||
            place_of(m->ranks[r].host, text) >= 0) {
            find_hit h = {FIND_RANK, r};
            VEC_PUSH(out->items, out->n, out->cap, h);
        }
    }
}

/* @return 0: begins with it; 1: holds it; 2: its category does; -1 */
static int quality(const trace_model *m, uint32_t name, const char *text)
{
    int at = place_of(m->names[name].text, text);
    if (at >= 0) {
        return at == 0 ? 0 : 1;
    }
    uint32_t category = m->names[name].category;
    return category < m->n_categories && place_of(m->categories[category].name, text) >= 0 ? 2 : -1;
}

static bool is_device(const trace_model *m, uint32_t name)
{
    uint32_t category = m->names[name].category;
    return category < m->n_categories && kind_is_device(m->categories[category].kind);
}

void find_names(const trace_model *m, const char *text, find_hits *out)
{
    out->n = 0;
    if (!text[0]) {
        return;
    }
    find_ranks(m, text, out);
    for (int wanted = 0; wanted < 6; wanted++) {
        for (uint32_t i = 0; i < m->n_names && out->n < FIND_MAX_HITS; i++) {
            if (m->names[i].text[0] && quality(m, i, text) == wanted % 3 && is_device(m, i) == (wanted < 3)) {
                find_hit h = {FIND_NAME, i};
                VEC_PUSH(out->items, out->n, out->cap, h);
            }
        }
    }
}

/* ---- one event ---- */

typedef struct event_search {
    uint32_t name;
    int64_t from_ns;
    uint64_t best, first; /* rows */
    int64_t best_ns, first_ns;
    uint64_t left; /* events still to look at */
    cancel_flag *cancel;
} event_search;

static bool look_at(void *ctx, const store_event_info *e)
{
    event_search *s = ctx;
    if (e->name == s->name && e->start_ns >= s->from_ns && e->start_ns < s->best_ns) {
        s->best = e->row;
        s->best_ns = e->start_ns;
    }
    if (e->name == s->name && e->start_ns < s->first_ns) {
        s->first = e->row;
        s->first_ns = e->start_ns;
    }
    return --s->left > 0 && !is_cancelled(s->cancel);
}

/* In slices that grow from `from_ns` on, so that what is near is found without reading the whole run. */
uint64_t find_event(store_file *f, uint32_t name, int64_t from_ns, cancel_flag *cancel)
{
    const trace_model *m = store_model(f);
    uint32_t *tracks = mem_alloc((m->n_tracks + 1) * sizeof *tracks);
    size_t n = 0;
    for (uint32_t i = 0; i < m->n_tracks; i++) {
        if (!kind_is_derived(m->lanes[m->tracks[i].lane].kind)) {
            tracks[n++] = i;
        }
    }
    query_row row = {tracks, n};
    event_search s = {.name = name,
                      .from_ns = from_ns,
                      .best = UINT64_MAX,
                      .first = UINT64_MAX,
                      .best_ns = INT64_MAX,
                      .first_ns = INT64_MAX,
                      .left = FIND_MAX_EVENTS,
                      .cancel = cancel};
    int64_t end = m->duration_ns + 1;
    int64_t slice = m->duration_ns / 64 + 1;
    for (int64_t t = from_ns; t < end && s.best == UINT64_MAX && s.left > 0 && !is_cancelled(cancel); slice *= 2) {
        int64_t to = end - t < slice ? end : t + slice;
        (void)store_visit(f, &row, t, to, look_at, &s, NULL);
        t = to;
    }
    if (s.best == UINT64_MAX && s.left > 0 && from_ns > 0 && !is_cancelled(cancel)) {
        (void)store_visit(f, &row, 0, from_ns, look_at, &s, NULL);
    }
    free(tracks);
    return is_cancelled(cancel) ? UINT64_MAX : s.best != UINT64_MAX ? s.best : s.first;
}
