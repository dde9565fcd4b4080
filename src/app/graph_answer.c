#include "app/graph_answer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "app/program.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"

enum { SHOWN_FAMILIES = 12 };

/* ------------------------------------------------------------------ making it */

static double seconds_since(int64_t began_ns)
{
    return (double)(clock_now_ns() - began_ns) * 1e-9;
}

static marey_status make_view(const graph_plan *p, const graph_request *r, bool expand_all, visible **out)
{
    graph_state s;
    graph_state_init(&s, p);
    if (expand_all) {
        graph_state_expand_all(&s, p, false);
    } else {
        graph_state_default(&s, p, GRAPH_FIRST_VIEW);
        (void)graph_state_expand_random(&s, p, (size_t)r->expand, r->seed);
    }
    marey_status status = visible_create(out, p, &s, &program_cancel);
    graph_state_deinit(&s);
    return status;
}

/* The same graph with the first k steps only. */
static marey_status count_technique(const graph *g, const graph_request *r, unsigned k, technique_row *row, diag *d)
{
    plan_options o = r->plan;
    for (unsigned i = k; i < GRAPH_STEP_COUNT; i++) {
        o.steps[i] = false;
    }
    graph_plan *p = NULL;
    visible *v = NULL;
    marey_status status = graph_plan_create(&p, g, &o, d);
    MAREY_TRY(status);
    MAREY_TRY(make_view(p, &(graph_request){0}, false, &v));
    row->first_view = v->n_shown;
    row->lines_first = v->n_lines;
    visible_destroy(&v);
    MAREY_TRY(make_view(p, r, true, &v));
    row->expanded = v->n_shown;
    row->lines_expanded = v->n_lines;
fail:
    visible_destroy(&v);
    graph_plan_destroy(&p);
    return status;
}

static marey_status count_techniques(graph_answer *a, const graph_request *r, diag *d)
{
    marey_status status = MAREY_OK;
    for (unsigned k = 0; k <= GRAPH_STEP_COUNT && status == MAREY_OK; k++) {
        status = count_technique(a->g, r, k, &a->table[k], d);
    }
    a->has_table = status == MAREY_OK;
    return status;
}

marey_status graph_answer_make(graph_answer *a, const graph_request *request, diag *d)
{
    plan_options plan = request->plan;
    plan.cancel = &program_cancel;
    int64_t began_ns = clock_now_ns();
    marey_status status = graph_plan_create(&a->plan, a->g, &plan, d);
    MAREY_TRY(status);
    a->simplify_s = seconds_since(began_ns);
    began_ns = clock_now_ns();
    MAREY_TRY(make_view(a->plan, request, request->expand_all, &a->view));
    layout_options options;
    layout_options_init(&options);
    options.direction = request->direction;
    options.cancel = &program_cancel;
    MAREY_TRY(graph_layout_create(&a->layout, a->plan, a->view, &options, NULL));
    a->layout_s = seconds_since(began_ns);
    if (request->table) {
        MAREY_TRY(count_techniques(a, request, d));
    }
fail:
    return status;
}

void graph_answer_deinit(graph_answer *a)
{
    graph_layout_destroy(&a->layout);
    visible_destroy(&a->view);
    graph_plan_destroy(&a->plan);
}

/* ------------------------------------------------------------------ JSON */

static void put_steps(json_out *j, const graph_answer *a)
{
    json_key(j, "steps");
    json_begin(j, '[');
    for (unsigned i = 0; i < GRAPH_STEP_COUNT; i++) {
        const plan_step_count *c = &a->plan->steps[i];
        json_begin(j, '{');
        json_kstr(j, "name", graph_step_name((graph_step)i));
        json_key(j, "on");
        json_bool(j, c->on);
        json_kuint(j, "nodes_before", c->nodes_before);
        json_kuint(j, "nodes_after", c->nodes_after);
        json_kuint(j, "edges_before", c->edges_before);
        json_kuint(j, "edges_after", c->edges_after);
        json_kuint(j, "done", i == STEP_PRUNE ? a->view->n_stubbed : c->n_done);
        if (a->has_table) {
            json_kuint(j, "view_nodes_before", a->table[i].first_view);
            json_kuint(j, "view_nodes_after", a->table[i + 1].first_view);
            json_kuint(j, "expanded_nodes_before", a->table[i].expanded);
            json_kuint(j, "expanded_nodes_after", a->table[i + 1].expanded);
            json_kuint(j, "expanded_lines_before", a->table[i].lines_expanded);
            json_kuint(j, "expanded_lines_after", a->table[i + 1].lines_expanded);
        }
        json_end(j, '}');
    }
    json_end(j, ']');
}

static void put_view(json_out *j, const graph_answer *a)
{
    const visible *v = a->view;
    json_key(j, "view");
    json_begin(j, '{');
    json_kuint(j, "nodes", v->n_shown);
    json_kuint(j, "lines", v->n_lines);
    json_kuint(j, "drawn", v->n_drawn);
    json_kuint(j, "bundled", v->n_bundled);
    json_kuint(j, "stubbed", v->n_stubbed);
    json_kuint(j, "folded", v->n_folded);
    json_kuint(j, "back_edges", v->n_back);
    json_kuint(j, "expanded", v->n_expanded);
    json_kuint(j, "crossings", a->layout->n_crossings);
    json_kreal(j, "edge_length", a->layout->edge_length_px);
    json_kreal(j, "width", a->layout->width);
    json_kreal(j, "height", a->layout->height);
    json_end(j, '}');
}

static void put_families(json_out *j, const graph_plan *p)
{
    json_key(j, "families");
    json_begin(j, '[');
    for (size_t i = 0; i < p->n_families; i++) {
        const plan_family *f = &p->families[i];
        char signature[40];
        (void)snprintf(signature, sizeof signature, "%016" PRIx64 "%016" PRIx64, f->signature[0], f->signature[1]);
        json_begin(j, '{');
        json_kstr(j, "signature", signature);
        json_kuint(j, "members", f->n_members);
        json_kuint(j, "size", f->size);
        json_kstr(j, "level", graph_strictness_name((graph_strictness)f->level));
        json_kstr(j, "form", f->form == STACK_SERIES ? "series" : "parallel");
        json_kstr(j, "exemplar", plan_label(p, p->members[f->first_member]));
        json_key(j, "stacked");
        json_bool(j, f->stack != GRAPH_NONE);
        json_end(j, '}');
    }
    json_end(j, ']');
}

static void put_losses(json_out *j, const diag *d)
{
    json_key(j, "losses");
    json_begin(j, '[');
    for (size_t i = 0; d && i < d->n_losses; i++) {
        const diag_loss *l = &d->losses[i];
        json_begin(j, '{');
        json_kstr(j, "code", marey_loss_code(l->loss));
        json_kuint(j, "count", l->count);
        json_kstr(j, "file", l->file < d->n_files ? d->files[l->file] : NULL);
        json_key(j, "first_offset");
        if (l->first_offset == DIAG_NO_OFFSET) {
            json_null(j);
        } else {
            json_uint(j, l->first_offset);
        }
        json_kstr(j, "text", marey_loss_text(l->loss));
        json_kstr(j, "detail", l->detail && *l->detail ? l->detail : NULL);
        json_end(j, '}');
    }
    json_end(j, ']');
}

void graph_answer_print_json(const graph_answer *a)
{
    const graph *g = a->g;
    json_out j = {.file = stdout};
    json_begin(&j, '{');
    json_kint(&j, "schema", 1);
    json_kstr(&j, "format", graph_string(g, g->format));
    json_kstr(&j, "name", graph_string(g, g->name));
    json_kuint(&j, "nodes", g->n_nodes - g->n_implied_nodes);
    json_kuint(&j, "edges", g->n_edges - g->n_implied_edges);
    json_kuint(&j, "control_edges", g->n_control_edges);
    json_kuint(&j, "implied_nodes", g->n_implied_nodes);
    json_kuint(&j, "implied_edges", g->n_implied_edges);
    json_kuint(&j, "scopes", g->n_scopes - 1);
    json_kuint(&j, "depth", graph_depth(g));
    json_kuint(&j, "cyclic_nodes", graph_cyclic_nodes(g));
    json_key(&j, "inferred_scopes");
    json_bool(&j, g->scopes_inferred);
    json_kuint(&j, "stages", g->n_stages);
    put_steps(&j, a);
    put_view(&j, a);
    put_families(&j, a->plan);
    json_key(&j, "time_ms");
    json_begin(&j, '{');
    json_kreal(&j, "read", a->read_s * 1e3);
    json_kreal(&j, "simplify", a->simplify_s * 1e3);
    json_kreal(&j, "layout", a->layout_s * 1e3);
    json_end(&j, '}');
    size_t attributes = 0;
    json_kuint(&j, "graph_bytes", graph_bytes(g, &attributes));
    json_kuint(&j, "attribute_bytes", attributes);
    json_kuint(&j, "rss_peak_bytes", mem_peak_rss());
    put_losses(&j, a->losses);
    json_end(&j, '}');
    (void)fputc('\n', stdout);
}

/* ------------------------------------------------------------------ for people */

/* "  label   1 234, 56 of it" */
static void print_count(const char *label, uint64_t n, uint64_t more, const char *of_it)
{
    char text[48];
    char second[48];
    count_format(n, text, sizeof text);
    count_format(more, second, sizeof second);
    (void)printf("  %-14s %s, %s %s\n", label, text, second, of_it);
}

static void print_steps(const graph_answer *a)
{
    (void)printf("\n  %-14s %12s %12s %12s%s\n", "simplified", "elements", "edges", "done",
                 a->has_table ? "   first view     expanded" : "");
    for (unsigned i = 0; i < GRAPH_STEP_COUNT; i++) {
        const plan_step_count *c = &a->plan->steps[i];
        (void)printf("  %-14s %12zu %12zu %12zu", graph_step_name((graph_step)i), c->nodes_after, c->edges_after,
                     i == STEP_PRUNE ? a->view->n_stubbed : c->n_done);
        if (a->has_table) {
            (void)printf(" %12zu %12zu", a->table[i + 1].first_view, a->table[i + 1].expanded);
        }
        (void)printf("%s\n", c->on ? "" : "  (off)");
    }
}

static void print_families(const graph_plan *p)
{
    size_t n = 0;
    for (size_t i = 0; i < p->n_families; i++) {
        const plan_family *f = &p->families[i];
        if (f->stack == GRAPH_NONE) {
            continue;
        }
        if (n++ == 0) {
            (void)printf("\n  %-28s %8s %10s  %-10s %s\n", "stacks", "members", "operators", "equal", "form");
        }
        if (n <= SHOWN_FAMILIES) {
            (void)printf("  %-28.28s %8u %10u  %-10s %s\n", plan_label(p, f->stack), f->n_members, f->size,
                         graph_strictness_name((graph_strictness)f->level),
                         f->form == STACK_SERIES ? "in series" : "in parallel");
        }
    }
    if (n > SHOWN_FAMILIES) {
        (void)printf("  and %zu more\n", n - SHOWN_FAMILIES);
    }
}

/* What the input had wrong, and what was made of it. */
static void print_losses(const diag *d)
{
    for (size_t i = 0; d && i < d->n_losses; i++) {
        const diag_loss *l = &d->losses[i];
        (void)printf("%s  %-14s %" PRIu64 " x %s: %s\n", i == 0 ? "\n" : "", i == 0 ? "faults" : "", l->count,
                     marey_loss_code(l->loss), marey_loss_text(l->loss));
    }
}

void graph_answer_print(const graph_answer *a)
{
    const graph *g = a->g;
    const visible *v = a->view;
    (void)printf("%s (%s)\n", g->name ? graph_string(g, g->name) : "graph", graph_string(g, g->format));
    print_count("operators", g->n_nodes - g->n_implied_nodes, graph_cyclic_nodes(g), "on cycles");
    print_count("edges", g->n_edges - g->n_implied_edges, g->n_control_edges, "of them control");
    print_count("modules", g->n_scopes - 1, graph_depth(g), g->scopes_inferred ? "deep, some inferred" : "deep");
    if (g->n_stages) {
        print_count("stages", g->n_stages, g->n_stage_ranks, "ranks");
    }
    print_steps(a);
    print_families(a->plan);
    (void)printf("\n  %-14s %zu elements, %zu lines, %" PRIu64 " crossings\n", "on the page", v->n_shown, v->n_lines,
                 a->layout->n_crossings);
    (void)printf("  %-14s %zu edges = %zu drawn + %zu bundled + %zu stubbed + %zu folded; %zu run back\n", "",
                 g->n_edges - g->n_implied_edges, v->n_drawn, v->n_bundled, v->n_stubbed, v->n_folded, v->n_back);
    (void)printf("  %-14s read %.1f ms, simplify %.1f ms, lay out %.1f ms\n", "time", a->read_s * 1e3,
                 a->simplify_s * 1e3, a->layout_s * 1e3);
    print_losses(a->losses);
}
