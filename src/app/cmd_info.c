/* marey info: what a file holds, as JSON (the contract is docs/cli.md) or in words. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/args.h"
#include "app/commands.h"
#include "app/info.h"
#include "app/input.h"
#include "app/program.h"
#include "base/text.h"
#include "store/store.h"

static void put_place(json_out *j, const char *key, int32_t place)
{
    json_key(j, key);
    if (place < 0) {
        json_null(j);
    } else {
        json_int(j, place);
    }
}

static void put_inferred(json_out *j, uint32_t bits)
{
    static const struct {
        uint32_t bit;
        const char *name;
    } names[] = {{INFERRED_RANK, "rank"}, {INFERRED_STAGE, "stage"}, {INFERRED_DP, "dp"},
                 {INFERRED_TP, "tp"},     {INFERRED_EP, "ep"},       {INFERRED_HOST, "host"}};
    json_key(j, "inferred");
    json_begin(j, '[');
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (bits & names[i].bit) {
            json_str(j, names[i].name);
        }
    }
    json_end(j, ']');
}

static void put_ranks(json_out *j, const trace_model *m)
{
    json_key(j, "ranks");
    json_begin(j, '[');
    for (size_t i = 0; i < m->n_ranks; i++) {
        const trace_rank *r = &m->ranks[i];
        json_begin(j, '{');
        json_kint(j, "rank", r->rank);
        json_kstr(j, "host", r->host);
        json_kstr(j, "device", r->device);
        json_kstr(j, "label", r->label);
        put_place(j, "stage", r->stage);
        put_place(j, "dp", r->dp);
        put_place(j, "tp", r->tp);
        put_place(j, "ep", r->ep);
        put_inferred(j, r->inferred);
        json_key(j, "clock");
        json_begin(j, '{');
        json_kstr(j, "method", r->clock_method);
        json_kint(j, "offset_ns", r->clock_offset_ns);
        json_kreal(j, "drift_ppm", r->clock_drift_ppm);
        json_kint(j, "residual_ns", r->clock_residual_ns);
        json_kuint(j, "matched", r->clock_matched);
        json_end(j, '}');
        json_end(j, '}');
    }
    json_end(j, ']');
}

static void put_totals(json_out *j, uint64_t n, int64_t busy, int64_t sum, int64_t first, int64_t last)
{
    json_kuint(j, "events", n);
    json_kint(j, "busy_ns", busy);
    json_kint(j, "sum_ns", sum);
    json_kint(j, "first_ns", first);
    json_kint(j, "last_ns", last);
}

static void put_lane(json_out *j, const trace_model *m, size_t index)
{
    const trace_lane *l = &m->lanes[index];
    json_begin(j, '{');
    json_kuint(j, "lane", index);
    json_kint(j, "rank", m->ranks[l->rank].rank);
    json_kstr(j, "kind", trace_kind_name(l->kind));
    json_kstr(j, "pid", l->thread == NO_ID ? NULL : m->threads[l->thread].pid);
    json_kstr(j, "tid", l->thread == NO_ID ? NULL : m->threads[l->thread].tid);
    json_kstr(j, "name", l->name);
    json_kuint(j, "depth", l->n_tracks);
    put_totals(j, l->n_events, l->busy_ns, l->sum_ns, l->first_ns, l->last_ns);
    json_end(j, '}');
}

static void put_lanes(json_out *j, const trace_model *m, bool derived)
{
    json_key(j, derived ? "derived_lanes" : "lanes");
    json_begin(j, '[');
    for (size_t i = 0; i < m->n_lanes; i++) {
        if (kind_is_derived(m->lanes[i].kind) == derived) {
            put_lane(j, m, i);
        }
    }
    json_end(j, ']');
}

/* The lanes of a thread stand anywhere inside its rank's. */
static void put_thread_lanes(json_out *j, const trace_model *m, size_t thread)
{
    const trace_rank *r = &m->ranks[m->threads[thread].rank];
    json_key(j, "lanes");
    json_begin(j, '[');
    for (uint32_t i = r->first_lane; i < r->first_lane + r->n_lanes; i++) {
        if (m->lanes[i].thread == thread) {
            json_uint(j, i);
        }
    }
    json_end(j, ']');
}

static void put_threads(json_out *j, const trace_model *m)
{
    json_key(j, "threads");
    json_begin(j, '[');
    for (size_t i = 0; i < m->n_threads; i++) {
        const trace_thread *t = &m->threads[i];
        json_begin(j, '{');
        json_kint(j, "rank", m->ranks[t->rank].rank);
        json_kstr(j, "pid", t->pid);
        json_kstr(j, "tid", t->tid);
        json_kstr(j, "name", t->name);
        json_kstr(j, "process", t->process_name);
        put_thread_lanes(j, m, i);
        put_totals(j, t->n_events, t->busy_ns, t->sum_ns, t->first_ns, t->last_ns);
        json_end(j, '}');
    }
    json_end(j, ']');
}

static void put_steps(json_out *j, const trace_model *m)
{
    json_key(j, "rank_steps");
    json_begin(j, '[');
    for (size_t i = 0; i < m->n_steps; i++) {
        const trace_step *s = &m->steps[i];
        json_begin(j, '{');
        json_kint(j, "rank", m->ranks[s->rank].rank);
        json_kint(j, "index", s->index);
        json_kstr(j, "name", s->name);
        json_kint(j, "start_ns", s->start_ns);
        json_kint(j, "end_ns", s->end_ns);
        json_kint(j, "device_start_ns", s->device_start_ns);
        json_kint(j, "device_end_ns", s->device_end_ns);
        json_end(j, '}');
    }
    json_end(j, ']');
}

static void put_inputs(json_out *j, const trace_model *m)
{
    json_key(j, "inputs");
    json_begin(j, '[');
    for (size_t i = 0; i < m->n_inputs; i++) {
        json_begin(j, '{');
        json_kstr(j, "path", m->inputs[i].path);
        json_kstr(j, "format", m->inputs[i].format);
        json_kuint(j, "bytes", m->inputs[i].bytes);
        json_kuint(j, "events", m->inputs[i].n_events);
        json_end(j, '}');
    }
    json_end(j, ']');
}

static void put_losses(json_out *j, const trace_model *m)
{
    json_key(j, "losses");
    json_begin(j, '[');
    for (size_t i = 0; i < m->n_losses; i++) {
        const trace_loss *l = &m->losses[i];
        json_begin(j, '{');
        json_kstr(j, "code", marey_loss_code(l->code));
        json_kuint(j, "count", l->count);
        json_kstr(j, "file", l->input == NO_ID ? NULL : m->inputs[l->input].path);
        json_key(j, "first_offset");
        if (l->first_offset == DIAG_NO_OFFSET) {
            json_null(j);
        } else {
            json_uint(j, l->first_offset);
        }
        json_kstr(j, "text", marey_loss_text(l->code));
        json_kstr(j, "detail", l->detail && *l->detail ? l->detail : NULL);
        json_end(j, '}');
    }
    json_end(j, ']');
}

static void put_counts(json_out *j, const trace_model *m)
{
    json_kuint(j, "events", m->n_events);
    json_kuint(j, "names", m->n_names);
    json_kuint(j, "links", m->n_links);
    json_kuint(j, "collectives", m->n_collectives);
    json_kuint(j, "counters", m->n_counters);
    json_kuint(j, "samples", m->n_samples);
    json_kuint(j, "metrics", m->n_metrics);
    json_kuint(j, "steps", info_distinct_steps(m));
    json_kuint(j, "process_groups", m->n_groups);
}

static void put_bytes(json_out *j, store_file *f)
{
    store_sizes b = store_file_sizes(f);
    json_key(j, "bytes");
    json_begin(j, '{');
    json_kuint(j, "file", b.file);
    json_kuint(j, "events", b.events);
    json_kuint(j, "pyramid", b.pyramid);
    json_kuint(j, "names", b.names);
    json_kuint(j, "arguments", b.arguments);
    json_kuint(j, "graph", b.graph);
    json_kuint(j, "other", b.other);
    json_end(j, '}');
}

static void put_graph(json_out *j, store_file *f)
{
    graph_summary g;
    json_key(j, "graph");
    if (!info_graph(f, &g)) {
        json_null(j);
        return;
    }
    json_begin(j, '{');
    json_kstr(j, "format", g.format);
    json_kuint(j, "nodes", g.nodes);
    json_kuint(j, "edges", g.edges);
    json_kuint(j, "control_edges", g.control_edges);
    json_kuint(j, "scopes", g.scopes);
    json_end(j, '}');
}

static void print_json(store_file *f)
{
    const trace_model *m = store_model(f);
    json_out j = {.file = stdout};
    json_begin(&j, '{');
    json_kint(&j, "schema", 1);
    json_kstr(&j, "file", store_path(f));
    json_kstr(&j, "format_version", store_version(f));
    json_kstr(&j, "name", m->name);
    json_key(&j, "time");
    json_begin(&j, '{');
    json_kint(&j, "start_epoch_ns", m->start_epoch_ns);
    json_kint(&j, "duration_ns", m->duration_ns);
    json_kint(&j, "clock_pivot_ns", m->clock_pivot_ns);
    json_kint(&j, "view_start_ns", m->view_start_ns);
    json_kint(&j, "view_end_ns", m->view_end_ns);
    json_end(&j, '}');
    put_counts(&j, m);
    put_ranks(&j, m);
    put_lanes(&j, m, false);
    put_lanes(&j, m, true);
    put_threads(&j, m);
    put_steps(&j, m);
    put_bytes(&j, f);
    put_inputs(&j, m);
    put_losses(&j, m);
    put_graph(&j, f);
    json_end(&j, '}');
    (void)fputc('\n', stdout);
}

static int run(const arg_operands *paths, bool json, bool quiet)
{
    diag d;
    diag_init(&d);
    char *file = NULL;
    store_file *f = NULL;
    marey_status status = input_resolve(paths->items, paths->n, quiet, &file, &d);
    if (status == MAREY_OK) {
        status = store_open(&f, file, &d);
    }
    if (status == MAREY_OK && json) {
        print_json(f);
    } else if (status == MAREY_OK) {
        info_print(f);
    }
    if (status == MAREY_OK && (fflush(stdout) != 0 || ferror(stdout))) {
        status = diag_error(&d, MAREY_IO, NULL, DIAG_NO_OFFSET, "The answer could not be written to standard output.");
    }
    program_print_messages(&d, quiet);
    store_close(&f);
    diag_deinit(&d);
    free(file);
    return program_exit_code(status);
}

int cmd_info(int argc, char **argv)
{
    bool json = false;
    bool schema = false;
    bool quiet = false;
    const arg_option options[] = {
        {"--json", 0, ARG_FLAG, NULL, "one JSON object", &json, NULL},
        {"--schema", 0, ARG_FLAG, NULL, "the layout of marey's HDF5 files as Markdown; needs no FILE", &schema, NULL},
        {"--quiet", 'q', ARG_FLAG, NULL, "only errors on standard error", &quiet, NULL},
    };
    const arg_command command = {"info",
                                 "FILE",
                                 "What a run holds: ranks, lanes, steps, counts, sizes, and what was dropped or "
                                 "repaired while it was converted.",
                                 options,
                                 sizeof options / sizeof *options,
                                 0,
                                 ARGS_UNLIMITED,
                                 NULL};
    arg_operands paths;
    arg_result parsed = args_parse(&command, argc, argv, &paths);
    if (parsed != ARGS_OK) {
        return parsed == ARGS_HELP ? EXIT_DONE : EXIT_USAGE;
    }
    if (schema) {
        store_schema_print(stdout);
        return EXIT_DONE;
    }
    if (paths.n == 0) {
        (void)fputs("marey info: wants a FILE.\n", stderr);
        return EXIT_USAGE;
    }
    return run(&paths, json, quiet);
}
