#include "diagnose/align_run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { MIN_COLLECTIVE_NS = 2000 };

const char *align_method_name(align_method m)
{
    static const char *const names[] = {"none", "in-step", "one-clock", "collectives"};
    return m < ALIGN_METHODS ? names[m] : "none";
}

static float weight_of(comm_op op)
{
    return op == OP_REDUCE || op == OP_BROADCAST || op == OP_OTHER ? 0.5F : 1.0F; /* some members may leave early */
}

static bool is_shared(const comm_event *e, size_t n, const uint32_t *domain)
{
    for (size_t i = 1; i < n; i++) {
        if (domain[e[i].rank] != domain[e[0].rank]) {
            return true;
        }
    }
    return false;
}

/* Instances whose sizes differ, or that are too short to have waited for anybody, say nothing of clocks. */
static bool is_evidence(const comm_event *e, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (e[i].bytes != e[0].bytes || e[i].end_ns - e[i].start_ns < MIN_COLLECTIVE_NS) {
            return false;
        }
    }
    return true;
}

static align_end *collect_ends(const comm_event *e, const comm_matching *m, const uint32_t *domain, size_t *n)
{
    align_end *ends = mem_alloc((m->n_collective + 1) * sizeof *ends);
    *n = 0;
    for (size_t k = 0; k < m->n_instances; k++) {
        size_t first = m->first[k];
        size_t count = m->first[k + 1] - first;
        if (!is_shared(e + first, count, domain) || !is_evidence(e + first, count)) {
            continue;
        }
        for (size_t i = first; i < first + count; i++) {
            ends[(*n)++] = (align_end){k, domain[e[i].rank], weight_of((comm_op)e[i].op), e[i].end_ns};
        }
    }
    return ends;
}

static int by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* How far each domain's ends lie from their instances' medians: the median of that, per domain. */
static void measure(const align_end *ends, size_t n, uint32_t n_domains, const align_clock *clocks, int64_t *spread_ns)
{
    int64_t *t = mem_alloc((n + 1) * sizeof *t);
    int64_t *apart = mem_alloc((n + 1) * sizeof *apart);
    int64_t *own = mem_alloc((n + 1) * sizeof *own);
    for (size_t i = 0; i < n;) {
        size_t j = i;
        for (; j < n && ends[j].instance == ends[i].instance; j++) {
            t[j - i] = clocks ? align_time(&clocks[ends[j].domain], ends[j].end_ns) : ends[j].end_ns;
            apart[j] = t[j - i];
        }
        qsort(t, j - i, sizeof *t, by_number);
        for (size_t k = i; k < j; k++) {
            apart[k] = llabs(apart[k] - t[(j - i - 1) / 2]);
        }
        i = j;
    }
    for (uint32_t d = 0; d < n_domains; d++) {
        size_t count = 0;
        for (size_t i = 0; i < n; i++) {
            if (ends[i].domain == d) {
                own[count++] = apart[i];
            }
        }
        qsort(own, count, sizeof *own, by_number);
        spread_ns[d] = count ? own[count / 2] : 0;
    }
    free(t);
    free(apart);
    free(own);
}

/* Clocks are moved as a component or not at all. */
static void judge(const int64_t *before, const int64_t *after, uint32_t n_domains, align_clock *clocks,
                  align_method *methods)
{
    for (uint32_t c = 0; c < n_domains; c++) {
        int64_t worst_before = 0;
        int64_t worst_after = 0;
        for (uint32_t d = 0; d < n_domains; d++) {
            if (clocks[d].is_fitted && clocks[d].component == c) {
                worst_before = before[d] > worst_before ? before[d] : worst_before;
                worst_after = after[d] > worst_after ? after[d] : worst_after;
            }
        }
        bool keep = worst_before <= ALIGN_AGREES_NS || worst_after > worst_before / 2;
        for (uint32_t d = 0; d < n_domains; d++) {
            if (clocks[d].component != c || !clocks[d].is_fitted) {
                continue;
            }
            methods[d] = keep ? ALIGN_IN_STEP : ALIGN_COLLECTIVES;
            clocks[d].residual_ns = keep ? before[d] : after[d];
            if (keep) {
                clocks[d].offset_ns = 0;
                clocks[d].drift = 0;
            }
        }
    }
}

marey_status align_run(comm_event *events, size_t n, const uint32_t *domain, uint32_t n_domains, align_clock *clocks,
                       align_method *methods, cancel_flag *cancel)
{
    memset(clocks, 0, n_domains * sizeof *clocks);
    for (uint32_t d = 0; d < n_domains; d++) {
        methods[d] = n_domains == 1 ? ALIGN_ONE_CLOCK : ALIGN_NONE;
    }
    if (n_domains < 2 || n == 0) {
        return MAREY_OK;
    }
    comm_matching m;
    comm_match(events, n, &m);
    size_t n_ends;
    align_end *ends = collect_ends(events, &m, domain, &n_ends);
    int64_t *before = mem_calloc(n_domains, sizeof *before);
    int64_t *after = mem_calloc(n_domains, sizeof *after);
    measure(ends, n_ends, n_domains, NULL, before);
    marey_status status = align_fit(ends, n_ends, n_domains, clocks, cancel);
    if (status == MAREY_OK) {
        align_refine(ends, n_ends, n_domains, clocks);
        measure(ends, n_ends, n_domains, clocks, after);
        judge(before, after, n_domains, clocks, methods);
    }
    free(before);
    free(after);
    free(ends);
    comm_matching_free(&m);
    return status;
}
