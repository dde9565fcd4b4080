/* The calls of include/marey that need no picture. */
#include <stdlib.h>

#include "api/message.h"
#include "base/mem.h"
#include "convert/convert.h"
#include "graph/model.h"
#include "store/query.h"
#include "store/store.h"

#include <marey/marey.h> /* last: it takes marey_status from above */

struct marey_file {
    store_file *store;
};

const char *marey_version(void)
{
    return MAREY_PROGRAM_VERSION;
}

marey_status marey_convert(const char *const *paths, size_t n_paths, const char *out,
                           const marey_convert_options *options, char *message, size_t cap)
{
    const marey_convert_options none = {0};
    const marey_convert_options *o = options ? options : &none;
    const convert_options all = {.out = out,
                                 .jobs = o->jobs,
                                 .force = o->force,
                                 .strict = o->strict,
                                 .graph_paths = &o->graph,
                                 .n_graphs = o->graph ? 1 : 0,
                                 .rules_path = o->rules,
                                 .memory_bytes = o->memory_bytes};
    convert_summary summary = {0};
    diag d;
    diag_init(&d);
    return api_tell(convert_paths(paths, n_paths, &all, &summary, &d), &d, message, cap);
}

marey_status marey_file_open(marey_file **out, const char *path, char *message, size_t cap)
{
    diag d;
    diag_init(&d);
    *out = mem_calloc(1, sizeof **out);
    marey_status status = store_open(&(*out)->store, path, &d);
    if (status != MAREY_OK) {
        free(*out);
        *out = NULL;
    }
    return api_tell(status, &d, message, cap);
}

void marey_file_close(marey_file **f)
{
    if (*f) {
        store_close(&(*f)->store);
        free(*f);
        *f = NULL;
    }
}

/* ------------------------------------------------------------------ what is inside */

marey_run_info marey_file_info(const marey_file *f)
{
    const trace_model *m = store_model(f->store);
    marey_run_info info = {.name = m->name,
                           .format_version = store_version(f->store),
                           .start_epoch_ns = m->start_epoch_ns,
                           .duration_ns = m->duration_ns,
                           .n_events = m->n_events,
                           .n_ranks = m->n_ranks,
                           .n_steps = m->n_steps,
                           .has_graph = store_has_graph(f->store)};
    for (size_t i = 0; i < m->n_losses; i++) {
        info.n_losses += m->losses[i].count;
    }
    return info;
}

static bool has_device(const trace_model *m, const trace_rank *r)
{
    bool any = false;
    for (uint32_t i = 0; i < r->n_lanes; i++) {
        any = any || kind_is_device(m->lanes[r->first_lane + i].kind);
    }
    return any;
}

bool marey_file_rank(const marey_file *f, uint64_t index, marey_rank *out)
{
    const trace_model *m = store_model(f->store);
    if (index >= m->n_ranks) {
        return false;
    }
    const trace_rank *r = &m->ranks[index];
    *out = (marey_rank){.rank = r->rank,
                        .label = r->label,
                        .host = r->host,
                        .device = r->device,
                        .stage = r->stage,
                        .dp = r->dp,
                        .tp = r->tp,
                        .ep = r->ep,
                        .has_device = has_device(m, r)};
    for (uint32_t i = 0; i < r->n_lanes; i++) {
        const trace_lane *l = &m->lanes[r->first_lane + i];
        out->n_events += kind_is_derived(l->kind) ? 0 : l->n_events;
    }
    return true;
}

marey_status marey_file_graph(marey_file *f, marey_graph_info *out, char *message, size_t cap)
{
    graph g;
    diag d;
    diag_init(&d);
    *out = (marey_graph_info){0};
    marey_status status = store_read_graph(f->store, &g, &d);
    if (status == MAREY_OK) {
        *out = (marey_graph_info){g.n_nodes, g.n_edges, g.n_scopes};
        graph_deinit(&g);
    }
    return api_tell(status, &d, message, cap);
}

/* ------------------------------------------------------------------ events and sums */

/* The tracks of a rank's lanes; those of its row only, where `of_row`. The array is the caller's. */
static query_row tracks_of(const trace_model *m, const trace_rank *r, bool of_row)
{
    size_t n = 0;
    bool device_only = of_row && has_device(m, r);
    for (uint32_t i = 0; i < r->n_lanes; i++) {
        n += m->lanes[r->first_lane + i].n_tracks;
    }
    uint32_t *tracks = mem_alloc((n + 1) * sizeof *tracks);
    n = 0;
    for (uint32_t i = 0; i < r->n_lanes; i++) {
        const trace_lane *l = &m->lanes[r->first_lane + i];
        bool is_wanted = device_only ? kind_is_device(l->kind) : !kind_is_derived(l->kind);
        for (uint32_t k = 0; is_wanted && k < l->n_tracks; k++) {
            tracks[n++] = l->first_track + k;
        }
    }
    return (query_row){tracks, n};
}

static marey_status check_range(const marey_file *f, uint64_t rank, int64_t t0_ns, int64_t t1_ns, diag *d)
{
    if (rank >= store_model(f->store)->n_ranks) {
        return diag_error(d, MAREY_RANGE, store_path(f->store), DIAG_NO_OFFSET, "there is no rank at place %llu",
                          (unsigned long long)rank);
    }
    return t1_ns > t0_ns ? MAREY_OK
                         : diag_error(d, MAREY_RANGE, NULL, DIAG_NO_OFFSET, "a range of time ends after it begins");
}

typedef struct visit_job {
    const trace_model *model;
    marey_event_visitor visit;
    void *ctx;
} visit_job;

static bool visit_one(void *ctx, const store_event_info *e)
{
    const visit_job *job = ctx;
    const trace_model *m = job->model;
    const trace_track *track = &m->tracks[e->track];
    const trace_lane *lane = &m->lanes[track->lane];
    const trace_name *name = &m->names[e->name];
    const marey_event event = {.start_ns = e->start_ns,
                               .dur_ns = e->dur_ns,
                               .row = e->row,
                               .rank = m->ranks[lane->rank].rank,
                               .name = name->text,
                               .category = m->categories[name->category].name,
                               .klass = trace_class_name((trace_class)e->klass),
                               .lane = lane->name,
                               .depth = track->depth,
                               .severity = e->flags & EVENT_SEVERITY};
    return job->visit(job->ctx, &event);
}

marey_status marey_file_events(marey_file *f, uint64_t rank_index, int64_t t0_ns, int64_t t1_ns,
                               marey_event_visitor visit, void *ctx, char *message, size_t cap)
{
    diag d;
    diag_init(&d);
    marey_status status = check_range(f, rank_index, t0_ns, t1_ns, &d);
    if (status == MAREY_OK) {
        const trace_model *m = store_model(f->store);
        visit_job job = {m, visit, ctx};
        query_row row = tracks_of(m, &m->ranks[rank_index], false);
        status = store_visit(f->store, &row, t0_ns, t1_ns, visit_one, &job, &d);
        free((void *)(uintptr_t)row.tracks);
    }
    return api_tell(status, &d, message, cap);
}

marey_status marey_file_grid(marey_file *f, uint64_t rank_index, int64_t t0_ns, int64_t t1_ns, uint64_t n_bins,
                             marey_cell *out, char *message, size_t cap)
{
    diag d;
    diag_init(&d);
    marey_status status = check_range(f, rank_index, t0_ns, t1_ns, &d);
    if (status != MAREY_OK) {
        return api_tell(status, &d, message, cap);
    }
    const trace_model *m = store_model(f->store);
    query_row row = tracks_of(m, &m->ranks[rank_index], true);
    query_result sums = {0};
    query_grid q = {t0_ns, t1_ns, n_bins, KEY_CATEGORY, &row, 1, NULL};
    status = store_query(f->store, &q, &sums, &d);
    for (uint64_t i = 0; status == MAREY_OK && i < n_bins; i++) {
        out[i] = (marey_cell){.busy_ns = sums.busy_ns[i],
                              .count = sums.count[i],
                              .longest_ns = sums.longest_ns[i],
                              .severity = sums.severity[i]};
        out[i].category = sums.dominant[i] == NO_ID ? NULL : m->categories[sums.dominant[i]].name;
    }
    if (status == MAREY_OK) {
        query_free(&sums, 1);
    }
    free((void *)(uintptr_t)row.tracks);
    return api_tell(status, &d, message, cap);
}
