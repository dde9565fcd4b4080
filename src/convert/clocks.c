#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "convert/source.h"
#include "diagnose/topology.h"

/* The hosts' clocks, fitted on the ends of collectives before anything is placed on the run's axis. */

/* Ranks are numbered by source until the model numbers them. The times of a source are given back as they are taken. */
static void collect_source(conversion *c, uint32_t index, uint32_t first_rank)
{
    source *s = &c->sources[index];
    for (size_t k = 0; k < s->n_kept; k++) {
        const kept_collective *in = &s->kept[k];
        const collective_time *t = &s->times[k];
        if (!in->on_device || t->end_ns < t->start_ns) {
            continue;
        }
        collective_shape shape = collective_shape_of(c, in);
        c->comm[c->n_comm++] =
            (comm_event){.start_ns = source_time(s, t->start_ns),
                         .end_ns = source_time(s, t->end_ns),
                         .bytes = shape.in_elements > shape.out_elements ? shape.in_elements : shape.out_elements,
                         .seq = in->seq,
                         .rank = first_rank + t->rank,
                         .group = shape.group,
                         .what = shape.what,
                         .lane = t->thread,
                         .step = index,
                         .op = in->op};
    }
    free(s->times);
    s->times = NULL;
}

static void collect(conversion *c)
{
    size_t n = 0;
    for (size_t i = 0; i < c->n_sources; i++) {
        c->n_comm_ranks += c->sources[i].n_ranks;
        for (size_t k = 0; k < c->sources[i].n_kept; k++) {
            n += c->sources[i].kept[k].on_device;
        }
    }
    c->comm = mem_alloc((n + 1) * sizeof *c->comm);
    c->comm_rank = mem_alloc((c->n_comm_ranks + 1) * sizeof *c->comm_rank);
    uint32_t first_rank = 0;
    for (uint32_t i = 0; i < c->n_sources; i++) {
        collect_source(c, i, first_rank);
        first_rank += (uint32_t)c->sources[i].n_ranks;
    }
}

/* Domains: hosts by name; a source whose host is unknown has a clock of its own. */
static uint32_t find_domains(const conversion *c, uint32_t *domain)
{
    intern hosts = {0};
    uint32_t *of_host = mem_calloc(c->n_sources + 1, sizeof *of_host);
    uint32_t n = 0;
    uint32_t rank = 0;
    for (size_t i = 0; i < c->n_sources; i++) {
        const source *s = &c->sources[i];
        uint32_t d = n;
        if (s->n_ranks > 0 && s->host[0]) {
            size_t before = hosts.n;
            uint32_t host = intern_put(&hosts, s->host, strlen(s->host));
            if (hosts.n > before) {
                of_host[host] = n++;
            }
            d = of_host[host];
        } else if (s->n_ranks > 0) {
            n++;
        }
        for (size_t r = 0; r < s->n_ranks; r++) {
            domain[rank++] = d;
        }
    }
    intern_deinit(&hosts);
    free(of_host);
    return n;
}

static void give_clocks(conversion *c, const uint32_t *domain, const align_clock *clocks, const align_method *methods)
{
    uint32_t rank = 0;
    for (size_t i = 0; i < c->n_sources; i++) {
        source *s = &c->sources[i];
        if (s->n_ranks > 0) {
            s->clock = clocks[domain[rank]];
            s->clock_method = methods[domain[rank]];
            s->is_moved = s->clock_method == ALIGN_COLLECTIVES;
        }
        rank += (uint32_t)s->n_ranks;
    }
    for (size_t i = 0; i < c->n_comm; i++) {
        const source *s = &c->sources[c->comm[i].step];
        if (s->is_moved) {
            c->comm[i].start_ns = align_time(&s->clock, c->comm[i].start_ns);
            c->comm[i].end_ns = align_time(&s->clock, c->comm[i].end_ns);
        }
    }
}

marey_status clocks_align(conversion *c)
{
    collect(c);
    if (c->options->no_align || c->n_comm_ranks == 0) {
        return MAREY_OK;
    }
    uint32_t *domain = mem_calloc(c->n_comm_ranks, sizeof *domain);
    uint32_t n_domains = find_domains(c, domain);
    align_clock *clocks = mem_calloc(n_domains + 1, sizeof *clocks);
    align_method *methods = mem_calloc(n_domains + 1, sizeof *methods);
    marey_status status = align_run(c->comm, c->n_comm, domain, n_domains, clocks, methods, c->options->cancel);
    if (status == MAREY_OK) {
        give_clocks(c, domain, clocks, methods);
    }
    free(domain);
    free(clocks);
    free(methods);
    return status;
}

static void infer_places(conversion *c)
{
    size_t n = 0;
    for (size_t i = 0; i < c->n_comm; i++) {
        comm_event e = c->comm[i];
        e.rank = c->comm_rank[e.rank];
        if (e.rank != NO_ID) {
            c->comm[n++] = e;
        }
    }
    c->n_comm = n;
    comm_matching m;
    comm_match(c->comm, n, &m);
    topology_infer(&c->model, c->comm, m.n_collective, n);
    comm_matching_free(&m);
}

void clocks_apply(conversion *c)
{
    uint32_t rank = 0;
    for (size_t i = 0; i < c->n_sources; i++) {
        const source *s = &c->sources[i];
        for (size_t r = 0; r < s->n_ranks; r++, rank++) {
            c->comm_rank[rank] = s->ranks[r].global;
            if (s->ranks[r].global == NO_ID) {
                continue;
            }
            trace_rank *out = &c->model.ranks[s->ranks[r].global];
            out->clock_method = align_method_name(s->clock_method);
            out->clock_offset_ns = s->is_moved ? s->clock.offset_ns : 0;
            out->clock_drift_ppm = s->is_moved ? s->clock.drift * 1e6 : 0;
            out->clock_residual_ns = s->clock.residual_ns;
            out->clock_matched = s->clock.n_matched;
            c->model.clock_pivot_ns = s->is_moved ? s->clock.pivot_ns : c->model.clock_pivot_ns;
        }
    }
    infer_places(c);
}

void clocks_release(conversion *c)
{
    free(c->comm);
    free(c->comm_rank);
    c->comm = NULL;
    c->comm_rank = NULL;
    c->n_comm = c->n_comm_ranks = 0;
}
