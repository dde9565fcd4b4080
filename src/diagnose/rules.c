#include "diagnose/rules.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static const double FLAG_SHARE = 0.02; /* of the step time: below this nothing is said */
static const double FLAG_OF_TOP = 0.3; /* of the row's largest excess */

double severity_of(double share)
{
    const double wrong_from = 0.05;
    if (!(share > 0)) {
        return 0;
    }
    if (share < wrong_from) {
        return 0.3 * share / wrong_from;
    }
    double more = share - wrong_from;
    return 0.3 + 0.7 * more / (more + 0.2);
}

double severity_of_structure(double share)
{
    if (!(share > 0)) {
        return 0;
    }
    share = share < 1 ? share : 1;
    return share < 0.4 ? 0.29 * share / 0.4 : 0.3 + 0.1 * (share - 0.4) / 0.6;
}

const char *finding_kind_name(finding_kind k)
{
    static const char *const names[] = {
#define X(name, text) text,
        FINDING_KINDS(X)
#undef X
    };
    return names[k];
}

static int by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

int64_t lower_median(int64_t *v, size_t n)
{
    if (n == 0) {
        return 0;
    }
    qsort(v, n, sizeof *v, by_number);
    return v[(n - 1) / 2];
}

excess excess_make(size_t n_rows, size_t n_steps)
{
    return (excess){mem_calloc(n_rows * n_steps + 1, sizeof(int64_t)), n_rows, n_steps};
}

flagged excess_flag(const rule_state *s, const excess *e, size_t row)
{
    flagged f = {0};
    double top = 0;
    double sum = 0;
    const int64_t *ns = e->ns + row * e->n_steps;
    for (size_t k = 0; k < e->n_steps; k++) {
        double share = s->g->step_ns[k] > 0 ? (double)ns[k] / (double)s->g->step_ns[k] : 0;
        top = share > top ? share : top;
    }
    if (top < FLAG_SHARE) {
        return f;
    }
    f.steps = arena_alloc(&s->g->mem, e->n_steps * sizeof *f.steps);
    for (size_t k = 0; k < e->n_steps; k++) {
        double share = s->g->step_ns[k] > 0 ? (double)ns[k] / (double)s->g->step_ns[k] : 0;
        if (share >= FLAG_SHARE && share >= FLAG_OF_TOP * top) {
            f.steps[f.n++] = (uint32_t)k;
            f.mean_ns += ns[k];
            sum += share;
        }
    }
    f.share = sum / f.n;
    f.mean_ns /= f.n;
    return f;
}

/* Over the next row's, mean over the row's steps. */
static int64_t over_next(const excess *e, size_t row, const flagged *f)
{
    int64_t saved = 0;
    for (uint32_t i = 0; i < f->n; i++) {
        int64_t next = 0;
        for (size_t r = 0; r < e->n_rows; r++) {
            int64_t ns = e->ns[r * e->n_steps + f->steps[i]];
            next = r != row && ns > next ? ns : next;
        }
        int64_t own = e->ns[row * e->n_steps + f->steps[i]];
        saved += own > next ? own - next : 0;
    }
    return f->n > 0 ? saved / f->n : 0;
}

int64_t saved_without(const rule_state *s, const excess *e, size_t row, const flagged *f, excess_of what,
                      const uint32_t *ranks, size_t n)
{
    const collected *c = &s->g->data;
    if (!s->replay || f->n == 0) {
        return row == EACH_OWN_ROW ? 0 : over_next(e, row, f);
    }
    size_t n_cells = c->n_ranks * c->n_steps;
    float *factor = mem_alloc((n_cells + 1) * sizeof *factor);
    for (size_t i = 0; i < n_cells; i++) {
        factor[i] = 1;
    }
    for (uint32_t i = 0; i < f->n; i++) {
        for (size_t r = 0; r < n; r++) {
            size_t cell = ranks[r] * c->n_steps + f->steps[i];
            int64_t own = what == EXCESS_COMPUTE ? s->compute_ns[cell] : c->cells[cell].own_gap_ns;
            size_t of = row == EACH_OWN_ROW ? ranks[r] : row;
            int64_t over = e->ns[of * e->n_steps + f->steps[i]];
            factor[cell] = own > over ? (float)(1 - (double)over / (double)own) : own > 0 ? 0 : 1;
        }
    }
    replay_change change = {.compute = what == EXCESS_COMPUTE ? factor : NULL,
                            .idle = what == EXCESS_IDLE ? factor : NULL,
                            .a = NO_ID,
                            .b = NO_ID,
                            .group = NO_ID,
                            .transfer = 1};
    int64_t saved = replay_run(s->replay, &change) / (int64_t)f->n;
    free(factor);
    return saved > 0 ? saved : 0;
}

int64_t saved_by_link(const rule_state *s, const flagged *f, uint32_t a, uint32_t b, uint32_t group, double ratio)
{
    if (!s->replay || f->n == 0 || ratio <= 1) {
        return 0;
    }
    replay_change change = {.a = a, .b = b, .group = group, .transfer = 1 / ratio};
    int64_t saved = replay_run(s->replay, &change) / (int64_t)f->n;
    return saved > 0 ? saved : 0;
}

/* ------------------------------------------------------------------ writing findings */

finding *finding_add(diagnosis *g, finding_kind kind, double severity, const char *formula)
{
    finding f = {.kind = kind, .severity = severity, .stage = -1, .formula = formula, .text = ""};
    VEC_PUSH(g->findings, g->n_findings, g->cap_findings, f);
    return &g->findings[g->n_findings - 1];
}

void finding_number_add(finding *f, const char *name, double value)
{
    if (f->n_numbers < FINDING_MAX_NUMBERS) {
        f->numbers[f->n_numbers++] = (finding_number){name, value};
    }
}

static const char *format_text(diagnosis *g, bool is_sentence, const char *format, va_list list)
{
    char text[1024];
    int n = vsnprintf(text, sizeof text, format, list);
    if (is_sentence) {
        text[0] = (char)toupper((unsigned char)text[0]);
    }
    return arena_strndup(&g->mem, text, n > 0 ? strlen(text) : 0);
}

void finding_say(diagnosis *g, finding *f, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    f->text = format_text(g, true, format, list);
    va_end(list);
}

static void keep_what_if(diagnosis *g, int64_t step_ns, int64_t saved_ns, const char *without, bool is_replayed)
{
    int64_t left = step_ns - saved_ns;
    if (saved_ns > 0 && left > 0) {
        what_if w = {without, step_ns, left, (double)step_ns / (double)left, is_replayed};
        VEC_PUSH(g->what_ifs, g->n_what_ifs, g->cap_what_ifs, w);
    }
}

void what_if_bound(diagnosis *g, int64_t saved_ns, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    keep_what_if(g, g->typical_step_ns, saved_ns, format_text(g, false, format, list), false);
    va_end(list);
}

void what_if_replayed(diagnosis *g, const flagged *f, int64_t saved_ns, const char *format, ...)
{
    char name[256];
    va_list list;
    va_start(list, format);
    (void)vsnprintf(name, sizeof name, format, list);
    va_end(list);
    bool is_always = f->n == 0 || f->n == g->data.n_steps;
    int64_t step_ns = g->typical_step_ns;
    char steps[64] = "";
    if (!is_always) {
        int64_t sum = 0;
        for (uint32_t i = 0; i < f->n; i++) {
            sum += g->step_ns[f->steps[i]];
        }
        step_ns = sum / (int64_t)f->n;
        (void)steps_phrase(g, f, steps);
    }
    char text[320];
    (void)snprintf(text, sizeof text, "%s%s", name, steps);
    keep_what_if(g, step_ns, saved_ns, arena_strndup(&g->mem, text, strlen(text)), true);
}

void finding_ranks(diagnosis *g, finding *f, const uint32_t *ranks, size_t n)
{
    f->ranks = arena_alloc(&g->mem, (n + 1) * sizeof *f->ranks);
    memcpy(f->ranks, ranks, n * sizeof *ranks);
    f->n_ranks = (uint32_t)n;
}

void finding_steps(finding *f, const flagged *s)
{
    f->steps = s->steps;
    f->n_steps = s->n;
}

void finding_when(diagnosis *g, finding *f)
{
    int64_t t0 = INT64_MAX;
    int64_t t1 = INT64_MIN;
    for (uint32_t i = 0; i < f->n_steps; i++) {
        for (uint32_t r = 0; r < (f->n_ranks ? f->n_ranks : (uint32_t)g->data.n_ranks); r++) {
            const rank_step *c = collected_cell(&g->data, f->n_ranks ? f->ranks[r] : r, f->steps[i]);
            if (c->end_ns > c->start_ns) {
                t0 = c->start_ns < t0 ? c->start_ns : t0;
                t1 = c->end_ns > t1 ? c->end_ns : t1;
            }
        }
    }
    f->t0_ns = t0 < t1 ? t0 : 0;
    f->t1_ns = t0 < t1 ? t1 : g->model->duration_ns;
}

const char *steps_phrase(const diagnosis *g, const flagged *f, char *out)
{
    enum { ROOM = 64 };
    long long first = (long long)g->data.step_index[f->n > 0 ? f->steps[0] : 0];
    long long last = (long long)g->data.step_index[f->n > 0 ? f->steps[f->n - 1] : 0];
    if (!g->data.has_steps) {
        *out = '\0';
    } else if (f->n == g->data.n_steps) {
        (void)snprintf(out, ROOM, f->n > 1 ? " in every step" : " in step %lld", first);
    } else if (f->n == 1) {
        (void)snprintf(out, ROOM, " in step %lld", first);
    } else if (last - first + 1 == (long long)f->n) {
        (void)snprintf(out, ROOM, " in steps %lld to %lld", first, last);
    } else {
        (void)snprintf(out, ROOM, " in %u of %zu steps", f->n, g->data.n_steps);
    }
    return out;
}

const char *rank_name(const diagnosis *g, uint32_t rank)
{
    return g->model->ranks[rank].label;
}
