#include "app/info.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"

enum { SHOWN_RANKS = 16, SHOWN_LANES = 12, SHOWN_INPUTS = 8 };

static int compare_numbers(const void *pa, const void *pb)
{
    const int64_t *a = pa;
    const int64_t *b = pb;
    return *a < *b ? -1 : *a > *b;
}

size_t info_distinct_steps(const trace_model *m)
{
    int64_t *numbers = mem_alloc((m->n_steps + 1) * sizeof *numbers);
    for (size_t i = 0; i < m->n_steps; i++) {
        numbers[i] = m->steps[i].index;
    }
    qsort(numbers, m->n_steps, sizeof *numbers, compare_numbers);
    size_t n = 0;
    for (size_t i = 0; i < m->n_steps; i++) {
        n += i == 0 || numbers[i] != numbers[i - 1];
    }
    free(numbers);
    return n;
}

static void print_count(const char *label, uint64_t n, const char *tail)
{
    char text[48];
    count_format(n, text, sizeof text);
    (void)printf("  %-14s %s%s\n", label, text, tail);
}

static void print_head(store_file *f)
{
    const trace_model *m = store_model(f);
    char took[48];
    char text[96];
    time_format(m->duration_ns, took, sizeof took);
    (void)printf("%s\n  %-14s %s\n  %-14s %s\n", store_path(f), "run", m->name, "duration", took);
    if (m->view_end_ns - m->view_start_ns < m->duration_ns / 2) {
        char from[48];
        time_format(m->view_end_ns - m->view_start_ns, took, sizeof took);
        time_format(m->view_start_ns, from, sizeof from);
        (void)printf("  %-14s %s from %s on; some events lie far away from them\n", "most of it", took, from);
    }
    size_t steps = info_distinct_steps(m);
    (void)snprintf(text, sizeof text, " on %zu %s, %zu %s", m->n_lanes, m->n_lanes == 1 ? "lane" : "lanes", m->n_ranks,
                   m->n_ranks == 1 ? "rank" : "ranks");
    print_count("events", m->n_events, text);
    print_count("names", m->n_names, "");
    if (steps) {
        print_count("steps", steps, "");
    }
    print_count("links", m->n_links, "");
    print_count("collectives", m->n_collectives, "");
    if (m->n_counters) {
        (void)snprintf(text, sizeof text, " with %llu samples", (unsigned long long)m->n_samples);
        print_count("counters", m->n_counters, text);
    }
    if (m->n_groups) {
        print_count("process groups", m->n_groups, "");
    }
}

static void print_sizes(store_file *f)
{
    store_sizes b = store_file_sizes(f);
    char file[32];
    char parts[4][32];
    uint64_t n = store_model(f)->n_events;
    bytes_format(b.file, file, sizeof file);
    bytes_format(b.events, parts[0], sizeof parts[0]);
    bytes_format(b.pyramid, parts[1], sizeof parts[1]);
    bytes_format(b.names, parts[2], sizeof parts[2]);
    bytes_format(b.arguments, parts[3], sizeof parts[3]);
    (void)printf("  %-14s %s: events %s, pyramid %s, names %s, arguments %s", "size", file, parts[0], parts[1],
                 parts[2], parts[3]);
    if (n > 0) {
        (void)printf("; %.1f bytes an event", (double)(b.events + b.pyramid) / (double)n);
    }
    (void)putchar('\n');
}

static void print_place(const char *name, int32_t place)
{
    if (place >= 0) {
        (void)printf(", %s %d", name, place);
    }
}

static void print_lane(const trace_model *m, const trace_lane *l)
{
    char events[48];
    char busy[48];
    (void)m;
    count_format(l->n_events, events, sizeof events);
    time_format(l->busy_ns, busy, sizeof busy);
    (void)printf("    %-14s %-28.28s %14s events  busy %-10s depth %u\n", trace_kind_name(l->kind), l->name, events,
                 busy, l->n_tracks);
}

static void print_ranks(const trace_model *m)
{
    for (size_t i = 0; i < m->n_ranks && i < SHOWN_RANKS; i++) {
        const trace_rank *r = &m->ranks[i];
        (void)printf("\n  %s%s%s%s%s", r->label, *r->device ? ", " : "", r->device, *r->host ? ", on " : "", r->host);
        print_place("stage", r->stage);
        print_place("dp", r->dp);
        print_place("tp", r->tp);
        print_place("ep", r->ep);
        (void)puts(r->inferred & INFERRED_RANK && strncmp(r->label, "rank ", 5) == 0
                       ? " (its number is not in the file)"
                       : "");
        for (uint32_t k = 0; k < r->n_lanes && k < SHOWN_LANES; k++) {
            print_lane(m, &m->lanes[r->first_lane + k]);
        }
        if (r->n_lanes > SHOWN_LANES) {
            (void)printf("    and %u more lanes\n", r->n_lanes - SHOWN_LANES);
        }
    }
    if (m->n_ranks > SHOWN_RANKS) {
        (void)printf("\n  and %zu more ranks\n", m->n_ranks - SHOWN_RANKS);
    }
}

static void print_inputs(const trace_model *m)
{
    (void)puts("\n  inputs");
    for (size_t i = 0; i < m->n_inputs && i < SHOWN_INPUTS; i++) {
        char bytes[32];
        char events[48];
        bytes_format(m->inputs[i].bytes, bytes, sizeof bytes);
        count_format(m->inputs[i].n_events, events, sizeof events);
        (void)printf("    %s (%s, %s, %s events)\n", m->inputs[i].path, m->inputs[i].format, bytes, events);
    }
    if (m->n_inputs > SHOWN_INPUTS) {
        (void)printf("    and %zu more\n", m->n_inputs - SHOWN_INPUTS);
    }
}

/* One line per kind of loss, over all files; the first file and place that has one. */
static void print_loss(const trace_model *m, marey_loss code)
{
    uint64_t n = 0;
    const trace_loss *first = NULL;
    for (size_t i = 0; i < m->n_losses; i++) {
        if (m->losses[i].code == code) {
            n += m->losses[i].count;
            first = first ? first : &m->losses[i];
        }
    }
    if (!first) {
        return;
    }
    char count[48];
    count_format(n, count, sizeof count);
    (void)printf("    %10s  %s: %s", count, marey_loss_code(code), marey_loss_text(code));
    if (first->detail && *first->detail) {
        (void)printf(" (%s)", first->detail);
    }
    if (first->input != NO_ID && (m->n_inputs > 1 || first->first_offset != DIAG_NO_OFFSET)) {
        (void)printf("\n%16sfirst in %s", "", m->inputs[first->input].path);
        if (first->first_offset != DIAG_NO_OFFSET) {
            (void)printf(", at byte %llu", (unsigned long long)first->first_offset);
        }
    }
    (void)putchar('\n');
}

static void print_losses(const trace_model *m)
{
    (void)puts(m->n_losses ? "\n  dropped or repaired" : "\n  nothing was dropped or repaired");
    for (unsigned code = 0; code < MAREY_LOSS_COUNT; code++) {
        print_loss(m, (marey_loss)code);
    }
}

void info_print(store_file *f)
{
    const trace_model *m = store_model(f);
    print_head(f);
    print_sizes(f);
    print_ranks(m);
    print_inputs(m);
    print_losses(m);
}
