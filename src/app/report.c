#include "app/report.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"

enum { WIDTH = 100, SHOWN_FAULTS = 12, SHOWN_NOTES = 8, SHOWN_WHAT_IFS = 6 };

/* ---- words ---- */

static void print_wrapped(const char *text, int indent)
{
    int column = indent;
    while (*text) {
        const char *end = text;
        while (*end && *end != ' ') {
            end++;
        }
        int n = (int)(end - text);
        if (column > indent && column + 1 + n > WIDTH) {
            (void)printf("\n%*s", indent, "");
            column = indent;
        } else if (column > indent) {
            (void)putchar(' ');
            column++;
        }
        (void)printf("%.*s", n, text);
        column += n;
        text = *end ? end + 1 : end;
    }
    (void)putchar('\n');
}

static int by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

typedef int64_t (*number_of)(const rank_step *s);

static int64_t step_of(const rank_step *s)
{
    return breakdown_of(s).step_ns;
}
static int64_t compute_of(const rank_step *s)
{
    return breakdown_of(s).compute_ns;
}
static int64_t exposed_of(const rank_step *s)
{
    return breakdown_of(s).exposed_communication_ns;
}
static int64_t overlapped_of(const rank_step *s)
{
    return breakdown_of(s).overlapped_ns;
}
static int64_t copy_of(const rank_step *s)
{
    return breakdown_of(s).copy_ns;
}
static int64_t idle_of(const rank_step *s)
{
    return breakdown_of(s).idle_ns;
}
static int64_t peers_of(const rank_step *s)
{
    return s->peer_gap_ns;
}
static int64_t host_of(const rank_step *s)
{
    return s->host_wait_ns;
}
static int64_t wait_of(const rank_step *s)
{
    return s->wait_ns + s->p2p_wait_ns;
}

/* Least, median and most over ranks and steps, and the median's share of the step. */
static void print_line(const diagnosis *g, const char *label, number_of number, int64_t *v)
{
    size_t n = 0;
    for (size_t i = 0; i < g->data.n_ranks * g->data.n_steps; i++) {
        const rank_step *s = &g->data.cells[i];
        if (g->data.has_device[i / g->data.n_steps] && s->end_ns > s->start_ns) {
            v[n++] = number(s);
        }
    }
    if (n == 0) {
        return;
    }
    qsort(v, n, sizeof *v, by_number);
    char least[32];
    char median[32];
    char most[32];
    time_format(v[0], least, sizeof least);
    time_format(v[(n - 1) / 2], median, sizeof median);
    time_format(v[n - 1], most, sizeof most);
    double share = g->typical_step_ns > 0 ? 100.0 * (double)v[(n - 1) / 2] / (double)g->typical_step_ns : 0;
    (void)printf("  %-32s %12s %12s %12s %6.1f %%\n", label, least, median, most, share);
}

static void print_breakdown(const diagnosis *g)
{
    int64_t *v = mem_alloc((g->data.n_ranks * g->data.n_steps + 1) * sizeof *v);
    (void)printf("\n  %-32s %12s %12s %12s %8s\n", g->data.has_steps ? "per rank and step" : "per rank, whole run",
                 "least", "median", "most", "of step");
    print_line(g, "step time", step_of, v);
    print_line(g, "compute, union", compute_of, v);
    print_line(g, "exposed communication", exposed_of, v);
    print_line(g, "  overlapped by compute, besides", overlapped_of, v);
    print_line(g, "  waiting inside, sum", wait_of, v);
    print_line(g, "exposed copies", copy_of, v);
    print_line(g, "idle", idle_of, v);
    print_line(g, "  for sends and receives", peers_of, v);
    if (g->data.has_launches) {
        print_line(g, "  for launches of the host", host_of, v);
    }
    free(v);
}

static void print_clocks(const diagnosis *g)
{
    char median[32];
    char most[32];
    time_format(g->clock_residual_median_ns, median, sizeof median);
    time_format(g->clock_residual_max_ns, most, sizeof most);
    (void)printf("  %-14s %s", "clocks", g->clock_method);
    if (g->clock_matched > 0) {
        (void)printf(", %llu ends matched, residual %s (median rank), %s (worst)", (unsigned long long)g->clock_matched,
                     median, most);
    } else {
        (void)printf(": nothing to compare them by");
    }
    if (g->n_violations > 0) {
        (void)printf("; %llu impossible orders", (unsigned long long)g->n_violations);
    }
    (void)putchar('\n');
}

static void print_findings(const diagnosis *g, bool faults, size_t limit)
{
    size_t shown = 0;
    size_t n = 0;
    for (size_t i = 0; i < g->n_findings; i++) {
        const finding *f = &g->findings[i];
        if ((f->severity > 0.3) != faults) {
            continue;
        }
        n++;
        if (shown < limit) {
            (void)printf("  %4.2f  %-22s ", f->severity, finding_kind_name(f->kind));
            print_wrapped(f->text, 31);
            shown++;
        }
    }
    if (n > shown) {
        (void)printf("        and %zu more\n", n - shown);
    }
}

static void print_what_ifs(const diagnosis *g)
{
    if (g->n_what_ifs == 0) {
        return;
    }
    (void)puts("\n  what if (played again without it; operators, exposed communication and the bubble: upper bounds)");
    for (size_t i = 0; i < g->n_what_ifs && i < SHOWN_WHAT_IFS; i++) {
        char step[32];
        time_format(g->what_ifs[i].step_without_ns, step, sizeof step);
        (void)printf("  %6.2f x  %12s a step  without %s\n", g->what_ifs[i].speedup, step, g->what_ifs[i].without);
    }
}

void report_print(const diagnosis *g, const char *path)
{
    size_t faults = 0;
    size_t devices = 0;
    for (size_t i = 0; i < g->n_findings; i++) {
        faults += g->findings[i].severity > 0.3;
    }
    for (size_t r = 0; r < g->data.n_ranks; r++) {
        devices += g->data.has_device[r];
    }
    char step[32];
    time_format(g->typical_step_ns, step, sizeof step);
    (void)printf("%s\n", path);
    if (devices == 0) {
        (void)puts("  No rank has work on a device: there is nothing to diagnose.");
        return;
    }
    (void)printf("  %-14s %zu with a device of %zu\n", "ranks", devices, g->data.n_ranks);
    if (g->data.has_steps) {
        (void)printf("  %-14s %zu, typically %s\n", "steps", g->data.n_steps, step);
    } else {
        (void)printf("  %-14s none stated; the run of %s is taken as one\n", "steps", step);
    }
    print_clocks(g);
    (void)printf("  %-14s %zu collectives (%llu seen by one rank only), %zu transfers (%llu ends without partner)\n",
                 "matched", g->n_instances, (unsigned long long)g->data.match.n_unmatched, g->n_transfers,
                 (unsigned long long)g->n_unpaired);
    (void)puts(faults > 0 ? "\n  what is wrong" : "\n  nothing looks wrong");
    print_findings(g, true, SHOWN_FAULTS);
    if (g->n_findings > faults) {
        (void)puts("\n  worth knowing");
        print_findings(g, false, SHOWN_NOTES);
    }
    print_breakdown(g);
    print_what_ifs(g);
}
