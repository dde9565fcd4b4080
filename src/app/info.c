#include "app/info.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"

enum { OPEN_RANKS = 4, SHOWN_RANKS = 32, SHOWN_LANES = 16, SHOWN_INPUTS = 8, SHOWN_DETAILS = 12, NAME_COLUMNS = 34 };

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

bool info_graph(store_file *f, graph_summary *out)
{
    graph g;
    if (!store_has_graph(f) || store_read_graph(f, &g, NULL) != MAREY_OK) {
        return false;
    }
    *out = (graph_summary){.nodes = g.n_nodes - g.n_implied_nodes,
                           .edges = g.n_edges - g.n_implied_edges,
                           .control_edges = g.n_control_edges,
                           .scopes = g.n_scopes - 1};
    (void)snprintf(out->format, sizeof out->format, "%s", graph_string(&g, g.format));
    graph_deinit(&g);
    return true;
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
        (void)printf("  %-14s %s from %s on; some events or samples lie outside\n", "most of it", took, from);
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
    if (m->n_metrics) {
        print_count("metrics", m->n_metrics, "");
    }
    if (m->n_groups) {
        print_count("process groups", m->n_groups, "");
    }
    graph_summary g;
    if (info_graph(f, &g)) {
        (void)snprintf(text, sizeof text, " operators with %llu edges in %llu modules (%s)",
                       (unsigned long long)g.edges, (unsigned long long)g.scopes, g.format);
        print_count("graph", g.nodes, text);
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

/* Columns that a text takes: thin spaces and other letters are several bytes wide. */
static int columns(const char *s)
{
    int n = 0;
    size_t len = strlen(s);
    for (size_t i = 0; i < len; n++) {
        (void)utf8_next(s, len, &i);
    }
    return n;
}

static void print_right(const char *s, int width)
{
    int n = columns(s);
    (void)printf("%*s%s", n < width ? width - n : 0, "", s);
}

/* Cut to the width where it is longer. */
static void print_left(const char *s, int width)
{
    size_t len = strlen(s);
    size_t i = 0;
    int n = 0;
    while (i < len && n < width) {
        (void)utf8_next(s, len, &i);
        n++;
    }
    (void)printf("%.*s%*s", (int)i, s, width - n, "");
}

static void print_place(const char *name, int32_t place)
{
    if (place >= 0) {
        (void)printf(", %s %d", name, place);
    }
}

static void print_lane(const trace_lane *l)
{
    char events[48];
    char busy[48];
    count_format(l->n_events, events, sizeof events);
    time_format(l->busy_ns, busy, sizeof busy);
    (void)printf("    %-14s ", trace_kind_name(l->kind));
    print_left(l->name, NAME_COLUMNS);
    print_right(events, 12);
    (void)printf(" %s  busy ", l->n_events == 1 ? "event " : "events");
    print_right(busy, 9);
    (void)printf("  depth %u\n", l->n_tracks);
}

static void print_rank_name(const trace_rank *r)
{
    (void)printf("  %s%s%s%s%s", r->label, *r->device ? ", " : "", r->device, *r->host ? ", on " : "", r->host);
    print_place("stage", r->stage);
    print_place("dp", r->dp);
    print_place("tp", r->tp);
    print_place("ep", r->ep);
    bool guessed = r->inferred & INFERRED_RANK && strncmp(r->label, "rank ", 5) == 0;
    (void)printf("%s", guessed ? " (its number is not in the file)" : "");
}

static void print_rank(const trace_model *m, const trace_rank *r)
{
    (void)putchar('\n');
    print_rank_name(r);
    (void)putchar('\n');
    for (uint32_t k = 0; k < r->n_lanes && k < SHOWN_LANES; k++) {
        print_lane(&m->lanes[r->first_lane + k]);
    }
    if (r->n_lanes > SHOWN_LANES) {
        (void)printf("    and %u more lanes\n", r->n_lanes - SHOWN_LANES);
    }
}

/* Many ranks: a line for each. */
static void print_rank_line(const trace_model *m, const trace_rank *r)
{
    uint64_t events = 0;
    int64_t compute = 0;
    for (uint32_t k = r->first_lane; k < r->first_lane + r->n_lanes; k++) {
        const trace_lane *l = &m->lanes[k];
        events += kind_is_derived(l->kind) ? 0 : l->n_events;
        compute = l->kind == KIND_COMPUTE && l->busy_ns > compute ? l->busy_ns : compute;
    }
    char text[48];
    count_format(events, text, sizeof text);
    print_right(text, 14);
    (void)printf(" events");
    if (compute > 0) {
        time_format(compute, text, sizeof text);
        (void)printf("  compute ");
        print_right(text, 9);
    }
    print_rank_name(r);
    (void)putchar('\n');
}

static void print_ranks(const trace_model *m)
{
    if (m->n_ranks > OPEN_RANKS) {
        (void)putchar('\n');
    }
    for (size_t i = 0; i < m->n_ranks && i < SHOWN_RANKS; i++) {
        if (m->n_ranks > OPEN_RANKS) {
            print_rank_line(m, &m->ranks[i]);
        } else {
            print_rank(m, &m->ranks[i]);
        }
    }
    if (m->n_ranks > SHOWN_RANKS) {
        (void)printf("  and %zu more ranks\n", m->n_ranks - SHOWN_RANKS);
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
        (void)printf("    %s (%s, %s, %s %s)\n", m->inputs[i].path, m->inputs[i].format, bytes, events,
                     m->inputs[i].n_events == 1 ? "event" : "events");
    }
    if (m->n_inputs > SHOWN_INPUTS) {
        (void)printf("    and %zu more\n", m->n_inputs - SHOWN_INPUTS);
    }
}

/* " (N 2, O 7)": what the losses of one kind were, each with its number where there are several. */
static void print_details(const trace_model *m, marey_loss code)
{
    const char *details[SHOWN_DETAILS];
    uint64_t counts[SHOWN_DETAILS] = {0};
    size_t n = 0;
    bool more = false;
    for (size_t i = 0; i < m->n_losses; i++) {
        const trace_loss *l = &m->losses[i];
        if (l->code != code || !l->detail || !*l->detail) {
            continue;
        }
        size_t k = 0;
        while (k < n && strcmp(details[k], l->detail) != 0) {
            k++;
        }
        if (k == SHOWN_DETAILS) {
            more = true;
            continue;
        }
        n += k == n;
        details[k] = l->detail;
        counts[k] += l->count;
    }
    for (size_t k = 0; k < n; k++) {
        char count[48];
        count_format(counts[k], count, sizeof count);
        (void)printf("%s%s%s%s", k ? ", " : " (", details[k], n > 1 ? " " : "", n > 1 ? count : "");
    }
    (void)printf("%s", more ? ", ...)" : n ? ")" : "");
}

/* One line per kind of loss, over all files; the first file and place that has one. */
static void print_loss(const trace_model *m, marey_loss code)
{
    uint64_t n = 0;
    const trace_loss *first = NULL;
    for (size_t i = 0; i < m->n_losses; i++) {
        const trace_loss *l = &m->losses[i];
        if (l->code != code) {
            continue;
        }
        n += l->count;
        bool earlier = first && l->input == first->input && l->first_offset < first->first_offset;
        first = !first || earlier ? l : first;
    }
    if (!first) {
        return;
    }
    char count[48];
    count_format(n, count, sizeof count);
    (void)printf("    %10s  %s: %s", count, marey_loss_code(code), marey_loss_text(code));
    print_details(m, code);
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
