/* MindSpore's small JSON files: FLOPs summary, memory, parallel strategy, who is who. */
#include <string.h>

#include "parse/decns.h"
#include "readers/run_read.h"

static const double GIB = 1073741824.0;

static marey_status open_document(run_reader *r, const run_file *f, jdoc **d)
{
    return jdoc_read(f->path, r->b->diag, r->b->file, d);
}

/* ---- flops_summary ---- */

marey_status mindspore_flops_summary_read(run_reader *r, const run_file *f)
{
    static const struct {
        const char *key, *tag;
        trace_metric_kind kind;
        double scale;
    } keys[] = {
        {"FLOPs", NULL, METRIC_FLOPS, 1e6},
        {"FLOPS", NULL, METRIC_FLOPS_RATE, 1e9},
        {"FLOPS_Utilization", NULL, METRIC_FLOPS_UTILIZATION, 0.01},
        {"cube_FLOPs", "cube", METRIC_FLOPS, 1e6},
        {"cube_FLOPS", "cube", METRIC_FLOPS_RATE, 1e9},
        {"cube_FLOPS_Utilization", "cube", METRIC_FLOPS_UTILIZATION, 0.01},
        {"vec_FLOPs", "vector", METRIC_FLOPS, 1e6},
        {"vec_FLOPS", "vector", METRIC_FLOPS_RATE, 1e9},
        {"vec_FLOPS_Utilization", "vector", METRIC_FLOPS_UTILIZATION, 0.01},
    };
    jdoc *d = NULL;
    marey_status status = open_document(r, f, &d);
    for (size_t i = 0; status == MAREY_OK && i < sizeof keys / sizeof *keys; i++) {
        double v = 0;
        if (jdoc_double(d, jdoc_member(d, 0, keys[i].key), &v)) {
            trace_metric_in m = trace_metric(keys[i].kind, v * keys[i].scale);
            m.tag = keys[i].tag ? run_cstring(r, keys[i].tag) : NO_ID;
            run_metric(r, &m);
        }
    }
    jdoc_destroy(&d);
    return status;
}

/* ---- memory_usage_summary, memory_usage_details ---- */

/* GiB of the compiler's plan, not a measurement. */
static void push_gib(run_reader *r, const jdoc *d, uint32_t i, trace_metric_kind kind, uint32_t name)
{
    double gib = 0;
    if (jdoc_double(d, i, &gib)) {
        trace_metric_in m = trace_metric(kind, gib * GIB);
        m.flags = METRIC_ESTIMATE;
        m.name = name;
        run_metric(r, &m);
    }
}

/* One graph of the details: lines[i] is the memory in use while nodes[i] runs. */
static void push_graph(run_reader *r, const jdoc *d, uint32_t graph)
{
    uint32_t name = run_key_string(r, d, graph, 0);
    uint32_t peak_node = JDOC_NONE;
    double peak = 0;
    uint32_t lines = jdoc_member(d, graph, "lines");
    for (uint32_t line = jdoc_first(d, lines); line != JDOC_NONE; line = d->nodes[line].next) {
        double v = 0;
        if (jdoc_double(d, line, &v) && (peak_node == JDOC_NONE || v > peak)) {
            peak = v;
            peak_node = line;
        }
    }
    push_gib(r, d, peak_node, METRIC_PEAK_MEMORY, name);
    push_gib(r, d, jdoc_member(d, graph, "static_mem"), METRIC_STATIC_MEMORY, name);
    uint32_t nodes = jdoc_member(d, graph, "nodes");
    for (uint32_t node = jdoc_first(d, nodes); node != JDOC_NONE; node = d->nodes[node].next) {
        uint32_t full = jdoc_member(d, node, "fullname");
        full = full == JDOC_NONE ? jdoc_member(d, node, "name") : full;
        push_gib(r, d, jdoc_member(d, node, "size"), METRIC_OP_MEMORY, run_node_string(r, d, full));
    }
}

marey_status mindspore_memory_read(run_reader *r, const run_file *f)
{
    jdoc *d = NULL;
    marey_status status = open_document(r, f, &d);
    if (status == MAREY_OK && f->role == RUN_MEMORY_SUMMARY) {
        push_gib(r, d, jdoc_member(d, 0, "capacity"), METRIC_MEMORY_CAPACITY, NO_ID);
        push_gib(r, d, jdoc_member(d, 0, "peak_mem"), METRIC_PEAK_MEMORY, NO_ID);
        push_gib(r, d, jdoc_member(d, 0, "static_mem"), METRIC_STATIC_MEMORY, NO_ID);
    } else if (status == MAREY_OK) {
        for (uint32_t graph = jdoc_first(d, 0); graph != JDOC_NONE; graph = d->nodes[graph].next) {
            push_graph(r, d, graph);
        }
    }
    jdoc_destroy(&d);
    return status;
}

/* ---- parallel_strategy ---- */

/* One entry of stageDevices: [{"size": "0"}, {"size": "1"}] under "dim". */
static void push_stage(run_reader *r, const jdoc *d, uint32_t entry, int64_t stage)
{
    int64_t ranks[4096];
    size_t n = 0;
    char name[40];
    uint32_t dims = jdoc_member(d, entry, "dim");
    for (uint32_t dim = jdoc_first(d, dims); dim != JDOC_NONE && n < sizeof ranks / sizeof *ranks;
         dim = d->nodes[dim].next) {
        n += jdoc_i64(d, jdoc_member(d, dim, "size"), &ranks[n]);
    }
    (void)snprintf(name, sizeof name, "stage %lld", (long long)stage);
    if (n) {
        trace_side_group(&r->b->side, run_cstring(r, name), run_cstring(r, "stage"), ranks, n);
    }
}

marey_status mindspore_strategy_read(run_reader *r, const run_file *f)
{
    jdoc *d = NULL;
    marey_status status = open_document(r, f, &d);
    if (status != MAREY_OK) {
        return status;
    }
    uint32_t config = jdoc_member(d, 0, "config");
    int64_t v = -1;
    if (jdoc_i64(d, jdoc_member(d, config, "rankId"), &v) && v >= 0) {
        r->b->facts.rank = v;
        r->has_place = true;
    }
    if (jdoc_i64(d, jdoc_member(d, config, "stageId"), &v) && v >= 0) {
        r->place.stage = v;
        r->place.inferred &= ~(uint32_t)INFERRED_STAGE;
        r->has_place = true;
    }
    int64_t stage = 0;
    uint32_t stages = jdoc_member(d, config, "stageDevices");
    for (uint32_t s = jdoc_first(d, stages); s != JDOC_NONE; s = d->nodes[s].next) {
        push_stage(r, d, s, stage++);
    }
    jdoc_destroy(&d);
    return MAREY_OK;
}

/* ---- profiler_info ---- */

marey_status run_profiler_info_read(run_reader *r, const run_file *f)
{
    jdoc *d = NULL;
    marey_status status = open_document(r, f, &d);
    if (status != MAREY_OK) {
        return status;
    }
    int64_t rank = -1;
    int64_t size = -1;
    int64_t stages = -1;
    if (jdoc_i64(d, jdoc_member(d, 0, "rank_id"), &rank) && rank >= 0) {
        r->b->facts.rank = rank;
        r->has_place = true;
    }
    if (jdoc_i64(d, jdoc_member(d, 0, "rank_size"), &size) && size > 0) {
        r->b->facts.world_size = size;
    }
    if (jdoc_i64(d, jdoc_member(d, 0, "stage_num"), &stages)) {
        mindspore_place_by_grid(r, stages, size, rank);
    }
    jdoc_destroy(&d);
    return MAREY_OK;
}

/* ---- rank table ---- */

/* A device of a server: is it ours, by rank, or by device number where there is one server only? */
static bool take_device(run_reader *r, const jdoc *d, uint32_t device, uint32_t server, bool only_server)
{
    int64_t rank = -1;
    int64_t number = -1;
    int64_t own = r->b->facts.rank >= 0 ? r->b->facts.rank : r->run->rank_is_device ? -1 : r->run->rank;
    if (!jdoc_i64(d, jdoc_member(d, device, "rank_id"), &rank)) {
        return false;
    }
    (void)jdoc_i64(d, jdoc_member(d, device, "device_id"), &number);
    bool by_device = own < 0 && only_server && r->run->rank_is_device && number == r->run->rank;
    if (rank != own && !by_device) {
        return false;
    }
    r->b->facts.rank = rank;
    r->place.device = number;
    r->place.host = run_node_string(r, d, jdoc_member(d, server, "server_id"));
    r->has_place = true;
    return true;
}

marey_status run_rank_table_read(run_reader *r, const run_file *f)
{
    jdoc *d = NULL;
    marey_status status = open_document(r, f, &d);
    if (status != MAREY_OK) {
        return status;
    }
    uint32_t servers = jdoc_member(d, 0, "server_list");
    bool only = servers != JDOC_NONE && d->nodes[servers].n_children == 1;
    bool found = false;
    for (uint32_t s = jdoc_first(d, servers); s != JDOC_NONE && !found; s = d->nodes[s].next) {
        uint32_t devices = jdoc_member(d, s, "device");
        for (uint32_t i = jdoc_first(d, devices); i != JDOC_NONE && !found; i = d->nodes[i].next) {
            found = take_device(r, d, i, s, only);
        }
    }
    if (!found) {
        diag_note(r->b->diag, f->path, DIAG_NO_OFFSET, "does not list %s", r->run->label);
    }
    jdoc_destroy(&d);
    return MAREY_OK;
}
