#include "app/report.h"

static const char *place_text(double v)
{
    return v > 0.3 ? "fault" : "note";
}

void report_put_breakdown(json_out *j, const rank_step *s)
{
    breakdown b = breakdown_of(s);
    json_kint(j, "step_ns", b.step_ns);
    json_kint(j, "compute_ns", b.compute_ns);
    json_kint(j, "exposed_communication_ns", b.exposed_communication_ns);
    json_kint(j, "overlapped_ns", b.overlapped_ns);
    json_kint(j, "copy_ns", b.copy_ns);
    json_kint(j, "idle_ns", b.idle_ns);
    json_kint(j, "idle_for_peers_ns", s->peer_gap_ns);
    json_kint(j, "idle_own_ns", s->own_gap_ns);
    if (s->n_launches_known > 0) {
        json_kint(j, "idle_host_wait_ns", s->host_wait_ns);
        json_kint(j, "idle_kernel_wait_ns", s->kernel_wait_ns);
    }
}

static void put_breakdowns(json_out *j, const diagnosis *g)
{
    json_key(j, "breakdown");
    json_begin(j, '[');
    for (size_t r = 0; r < g->data.n_ranks; r++) {
        for (size_t k = 0; k < g->data.n_steps; k++) {
            const rank_step *s = collected_cell(&g->data, r, k);
            if (!g->data.has_device[r] || s->end_ns <= s->start_ns) {
                continue;
            }
            json_begin(j, '{');
            json_kint(j, "rank", g->model->ranks[r].rank);
            json_kint(j, "step", g->data.step_index[k]);
            json_kint(j, "start_ns", s->start_ns);
            report_put_breakdown(j, s);
            json_kint(j, "wait_ns", s->wait_ns + s->p2p_wait_ns);
            json_kint(j, "bubble_ns", s->bubble_ns);
            json_end(j, '}');
        }
    }
    json_end(j, ']');
}

static void put_alignment(json_out *j, const diagnosis *g)
{
    json_key(j, "alignment");
    json_begin(j, '{');
    json_kstr(j, "method", g->clock_method);
    json_kuint(j, "matched", g->clock_matched);
    json_key(j, "residual_ns");
    json_begin(j, '{');
    json_kint(j, "median", g->clock_residual_median_ns);
    json_kint(j, "max", g->clock_residual_max_ns);
    json_end(j, '}');
    json_kuint(j, "violations", g->n_violations);
    json_kint(j, "worst_violation_ns", g->worst_violation_ns);
    json_end(j, '}');
}

static void put_impossible(json_out *j, const diagnosis *g)
{
    enum { LISTED = 100 };
    size_t listed = 0;
    json_key(j, "impossible_orders");
    json_begin(j, '[');
    for (size_t i = 0; i < g->n_transfers && listed < LISTED; i++) {
        const p2p_transfer *t = &g->transfers[i];
        if (!t->is_reversed) {
            continue;
        }
        const comm_event *s = &g->data.comm[t->send];
        const comm_event *r = &g->data.comm[t->receive];
        json_begin(j, '{');
        json_kint(j, "from", g->model->ranks[s->rank].rank);
        json_kint(j, "to", g->model->ranks[r->rank].rank);
        json_kint(j, "sent_ns", s->start_ns);
        json_kint(j, "received_ns", r->end_ns);
        json_kint(j, "by_ns", s->start_ns - r->end_ns);
        json_end(j, '}');
        listed++;
    }
    json_end(j, ']');
}

static void put_finding(json_out *j, const diagnosis *g, const finding *f)
{
    json_begin(j, '{');
    json_kstr(j, "kind", finding_kind_name(f->kind));
    json_kreal(j, "severity", f->severity);
    json_kstr(j, "level", place_text(f->severity));
    json_key(j, "ranks");
    json_begin(j, '[');
    for (uint32_t i = 0; i < f->n_ranks; i++) {
        json_int(j, g->model->ranks[f->ranks[i]].rank);
    }
    json_end(j, ']');
    json_key(j, "links");
    json_begin(j, '[');
    for (uint32_t i = 0; i < f->n_links; i++) {
        json_begin(j, '[');
        json_int(j, g->model->ranks[f->links[i][0]].rank);
        json_int(j, g->model->ranks[f->links[i][1]].rank);
        json_end(j, ']');
    }
    json_end(j, ']');
    json_key(j, "stage");
    f->stage < 0 ? json_null(j) : json_int(j, f->stage);
    json_key(j, "steps");
    json_begin(j, '[');
    for (uint32_t i = 0; i < f->n_steps; i++) {
        json_int(j, g->data.step_index[f->steps[i]]);
    }
    json_end(j, ']');
    json_key(j, "time");
    json_begin(j, '[');
    json_int(j, f->t0_ns);
    json_int(j, f->t1_ns);
    json_end(j, ']');
    json_kstr(j, "formula", f->formula);
    json_key(j, "evidence");
    json_begin(j, '{');
    for (uint32_t i = 0; i < f->n_numbers; i++) {
        json_kreal(j, f->numbers[i].name, f->numbers[i].value);
    }
    json_end(j, '}');
    json_kstr(j, "text", f->text);
    json_end(j, '}');
}

static void put_links(json_out *j, const diagnosis *g)
{
    json_key(j, "links");
    json_begin(j, '[');
    for (size_t i = 0; i < g->n_links; i++) {
        const rank_link *l = &g->links[i];
        json_begin(j, '{');
        json_kint(j, "from", g->model->ranks[l->from].rank);
        json_kint(j, "to", g->model->ranks[l->to].rank);
        json_kuint(j, "transfers", l->n);
        json_kint(j, "bytes", l->bytes);
        json_kint(j, "sum_ns", l->sum_ns);
        json_kint(j, "median_ns", l->median_ns);
        json_kint(j, "peers_median_ns", l->peers_ns);
        json_kreal(j, "bytes_per_s", l->bytes >= 0 && l->sum_ns > 0 ? (double)l->bytes / (double)l->sum_ns * 1e9 : 0);
        json_key(j, "crosses_hosts");
        json_bool(j, l->crosses_hosts);
        json_end(j, '}');
    }
    json_end(j, ']');
}

static void put_what_ifs(json_out *j, const diagnosis *g)
{
    json_key(j, "what_if");
    json_begin(j, '[');
    for (size_t i = 0; i < g->n_what_ifs; i++) {
        const what_if *w = &g->what_ifs[i];
        json_begin(j, '{');
        json_kstr(j, "without", w->without);
        json_kint(j, "step_ns", w->step_ns);
        json_kint(j, "step_without_ns", w->step_without_ns);
        json_kreal(j, "speedup", w->speedup);
        json_kstr(j, "method", w->is_replayed ? "replay" : "upper bound");
        json_end(j, '}');
    }
    json_end(j, ']');
}

static void put_outliers(json_out *j, const diagnosis *g)
{
    static const char *const what[] = {"duration", "start", "end"};
    json_key(j, "operator_outliers");
    json_begin(j, '[');
    for (size_t i = 0; i < g->n_outliers; i++) {
        const operator_outlier *o = &g->outliers[i];
        json_begin(j, '{');
        json_kint(j, "rank", g->model->ranks[o->event.rank].rank);
        json_kint(j, "step", g->data.step_index[g->outlier_step]);
        json_kstr(j, "name", g->model->names[o->event.name].text);
        json_kuint(j, "occurrence", o->event.occurrence);
        json_kint(j, "start_ns", o->event.start_ns);
        json_kint(j, "dur_ns", o->event.end_ns - o->event.start_ns);
        json_kstr(j, "deviates", what[o->what]);
        json_kint(j, "excess_ns", o->excess_ns);
        json_kint(j, "median_ns", o->median_ns);
        json_kreal(j, "z", o->z);
        json_kuint(j, "peers", o->n_peers);
        json_end(j, '}');
    }
    json_end(j, ']');
}

static void put_steps(json_out *j, const diagnosis *g)
{
    json_key(j, "steps");
    json_begin(j, '[');
    for (size_t k = 0; k < g->data.n_steps; k++) {
        json_begin(j, '{');
        json_kint(j, "step", g->data.step_index[k]);
        json_kint(j, "median_ns", g->step_ns[k]);
        json_end(j, '}');
    }
    json_end(j, ']');
}

void report_json(json_out *j, const diagnosis *g)
{
    json_begin(j, '{');
    json_kint(j, "schema", 1);
    put_alignment(j, g);
    put_impossible(j, g);
    json_key(j, "matching");
    json_begin(j, '{');
    json_kuint(j, "collectives", g->n_instances);
    json_kuint(j, "collectives_of_one_rank", g->data.match.n_unmatched);
    json_kuint(j, "transfers", g->n_transfers);
    json_kuint(j, "unpaired", g->n_unpaired);
    json_end(j, '}');
    put_steps(j, g);
    put_breakdowns(j, g);
    put_links(j, g);
    put_what_ifs(j, g);
    put_outliers(j, g);
    json_key(j, "findings");
    json_begin(j, '[');
    for (size_t i = 0; i < g->n_findings; i++) {
        put_finding(j, g, &g->findings[i]);
    }
    json_end(j, ']');
    json_end(j, '}');
}
