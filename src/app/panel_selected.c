/* What is selected: its times, its peers, their distribution, its arguments. And the legend. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/json_pairs.h"
#include "app/panels_internal.h"
#include "base/mem.h"

enum { MAX_BINS = 24, MAX_ARGUMENTS = 24, WIDTH_DP = 316 };

/* ---- keeping up with the selection ---- */

static void compare(void *job, cancel_flag *cancel)
{
    peers_job *j = job;
    diag d;
    diag_init(&d);
    j->failed = peers_find(j->file, &j->event, &j->found, cancel, &d) != MAREY_OK;
    diag_deinit(&d);
}

static void read_selected(panels *p)
{
    session *s = p->session;
    p->selected_row = s->view.selected_row;
    p->has_selected = p->selected_row != UINT64_MAX &&
                      store_read_event(s->file, p->selected_row, &p->selected, NULL) == MAREY_OK &&
                      p->selected.track < store_model(s->file)->n_tracks;
    p->collective = SIZE_MAX;
    if (p->peers) {
        free_peers(p->peers);
        p->peers = NULL;
    }
    work_cancel(&p->comparing);
    if (p->over_steps) {
        free_over_steps(p->over_steps);
        p->over_steps = NULL;
    }
    p->asked_over_steps = false;
    work_cancel(&p->stepping);
    strbuf_clear(&p->arguments);
    if (p->has_selected) {
        p->chosen = NO_FINDING; /* its numbers make room */
        (void)store_read_args(s->file, p->selected_row, &p->arguments, NULL);
    }
}

static void look_over_steps(void *job, cancel_flag *cancel)
{
    over_steps_job *j = job;
    diag d;
    diag_init(&d);
    j->failed = over_steps_find(j->file, &j->event, &j->found, cancel, &d) != MAREY_OK;
    diag_deinit(&d);
}

/* The same instance in the other steps, where there are several. */
static void update_over_steps(panels *p)
{
    void *done = p->over_steps;
    if (take_done(&p->stepping, &done, free_over_steps)) {
        p->over_steps = done;
        if (p->over_steps->event.row != p->selected_row) {
            free_over_steps(p->over_steps);
            p->over_steps = NULL;
        }
    }
    const scene_step *steps;
    bool several = scene_steps(p->session->scene, &steps) > 1;
    if (p->has_selected && several && !p->asked_over_steps && !work_is_busy(&p->stepping)) {
        over_steps_job *j = mem_calloc(1, sizeof *j);
        j->file = p->session->file;
        j->event = p->selected;
        p->asked_over_steps = true;
        work_start(&p->stepping, look_over_steps, j);
    }
}

static uint32_t rank_of(const panels *p)
{
    const trace_model *m = store_model(p->session->file);
    return m->lanes[m->tracks[p->selected.track].lane].rank;
}

/* The diagnosis matched it by communicator and order number: better than by name. */
static bool find_collective(panels *p)
{
    const diagnosis *g = p->g;
    uint32_t rank = rank_of(p);
    for (size_t i = 0; i < g->n_instances; i++) {
        const coll_instance *c = &g->instances[i];
        bool may_be = p->selected.start_ns >= c->start_ns && p->selected.start_ns <= c->end_ns;
        for (uint32_t k = 0; may_be && k < c->n; k++) {
            const comm_event *e = &g->data.comm[c->first + k];
            if (e->rank == rank && e->start_ns == p->selected.start_ns &&
                e->end_ns == p->selected.start_ns + p->selected.dur_ns) {
                p->collective = i;
                return true;
            }
        }
    }
    return false;
}

static void take_members(panels *p)
{
    const diagnosis *g = p->g;
    const coll_instance *c = &g->instances[p->collective];
    peers_job *j = mem_calloc(1, sizeof *j);
    j->event = p->selected;
    for (uint32_t k = 0; k < c->n; k++) {
        const comm_event *e = &g->data.comm[c->first + k];
        peer q = {e->rank, e->start_ns, e->end_ns - e->start_ns};
        VEC_PUSH(j->found.items, j->found.n, j->found.cap, q);
    }
    peers_measure(&j->found);
    p->peers = j;
}

void selected_update(panels *p)
{
    if (p->session->view.selected_row != p->selected_row) {
        read_selected(p);
    }
    update_over_steps(p);
    void *done = p->peers;
    if (take_done(&p->comparing, &done, free_peers)) {
        p->peers = done;
        if (p->peers->event.row != p->selected_row) {
            free_peers(p->peers);
            p->peers = NULL;
        }
    }
    bool waits = p->has_selected && p->selected.klass == CLASS_COLLECTIVE && work_is_busy(&p->diagnosing);
    if (!p->has_selected || p->peers || waits || work_is_busy(&p->comparing)) {
        return;
    }
    bool matched = p->selected.klass == CLASS_COLLECTIVE && p->g;
    if (matched && find_collective(p)) {
        take_members(p);
        return;
    }
    peers_job *j = mem_calloc(1, sizeof *j);
    j->file = p->session->file;
    j->event = p->selected;
    work_start(&p->comparing, compare, j);
}

/* ---- showing it ---- */

static void pair_time(panels *p, const char *key, int64_t ns)
{
    char text[64];
    time_format(ns, text, sizeof text);
    ui_key_value(p->ui, key, text);
}

static void show_head(panels *p)
{
    const trace_model *m = store_model(p->session->file);
    const trace_name *name = &m->names[p->selected.name < m->n_names ? p->selected.name : 0];
    const trace_lane *lane = &m->lanes[m->tracks[p->selected.track].lane];
    const char *category = name->category < m->n_categories ? m->categories[name->category].name : "";
    const char *klass = p->selected.klass < CLASS_COUNT ? trace_class_name((trace_class)p->selected.klass) : "other";
    char text[160];
    panels_short_name(name->text, text, sizeof text);
    ui_label_fill(p->ui, text, (ui_text_style){FACE_MONO, 12, UI_PLAIN, TEXT_LEFT});
    (void)snprintf(text, sizeof text, "%s%s%s \xC2\xB7 %s \xC2\xB7 %s", category,
                   strcmp(category, klass) != 0 ? " \xC2\xB7 " : "", strcmp(category, klass) != 0 ? klass : "",
                   lane->rank < m->n_ranks ? m->ranks[lane->rank].label : "", lane->name);
    ui_label_fill(p->ui, text, TEXT_SMALL);
    ui_space(p->ui, 4);
    time_format_exact(p->selected.start_ns, text, sizeof text);
    ui_key_value(p->ui, "start", text);
    time_format_exact(p->selected.dur_ns, text, sizeof text);
    ui_key_value(p->ui, "duration", text);
}

/* The operator that the event is a run of. */
static void show_in_graph(panels *p)
{
    scene_graph g;
    bool has = scene_graph_get(p->session->scene, &g) && g.join;
    uint32_t node = has ? graph_join_node(g.join, p->selected.row, p->selected.name) : GRAPH_NONE;
    uint32_t element = has && node < g.g->n_nodes ? g.plan->element_of[node] : GRAPH_NONE;
    if (element == GRAPH_NONE) {
        return;
    }
    strbuf path = {0};
    plan_path(g.plan, element, &path);
    ui_space(p->ui, 6);
    ui_section(p->ui, "In the graph", NULL);
    ui_paragraph(p->ui, strbuf_str(&path), WIDTH_DP, (ui_text_style){FACE_MONO, 11, UI_DIM, TEXT_LEFT});
    strbuf_deinit(&path);
    ui_space(p->ui, 2);
    if (ui_button(p->ui, "show in graph", "Show in graph").clicked) {
        p->session->view.layout = LAYOUT_GRAPH;
        p->session->is_dirty = true;
    }
}

static const char *label_of(const panels *p, uint32_t rank)
{
    const trace_model *m = store_model(p->session->file);
    return rank < m->n_ranks ? m->ranks[rank].label : "?";
}

static void show_peers(panels *p)
{
    const peers *q = &p->peers->found;
    char text[160];
    char time[48];
    char key[64];
    if (q->too_many || p->peers->failed) {
        ui_paragraph(p->ui,
                     q->too_many ? "Its step holds too many events to compare it with its peers."
                                 : "Its peers could not be read.",
                     WIDTH_DP, TEXT_SMALL);
        return;
    }
    if (q->n < 2) {
        ui_paragraph(p->ui, "No other rank runs the same instance.", WIDTH_DP, TEXT_SMALL);
        return;
    }
    (void)snprintf(key, sizeof key, "median of %zu ranks", q->n);
    pair_time(p, key, q->median_ns);
    time_format(q->max_ns, time, sizeof time);
    if (q->slowest_mads > 0) {
        (void)snprintf(text, sizeof text, "%s \xC2\xB7 %s (%.1f MAD)", label_of(p, q->slowest), time, q->slowest_mads);
    } else {
        (void)snprintf(text, sizeof text, "%s \xC2\xB7 %s", label_of(p, q->slowest), time);
    }
    ui_key_value(p->ui, "slowest", text);
    pair_time(p, "start lag, p99", q->start_lag_p99_ns);
}

static void show_collective(panels *p)
{
    const diagnosis *g = p->g;
    const coll_instance *c = &g->instances[p->collective];
    char text[64];
    if (c->transfer_ns >= 0) {
        pair_time(p, "transfer (shortest member)", c->transfer_ns);
        pair_time(p, "wait here", p->selected.dur_ns - c->transfer_ns);
    }
    ui_key_value(p->ui, "last to arrive", label_of(p, c->last_rank));
    pair_time(p, "skew of starts", c->skew_ns);
    if (c->bytes >= 0) {
        bytes_format((uint64_t)c->bytes, text, sizeof text);
        ui_key_value(p->ui, "data", text);
    }
    double bus = coll_bus_bandwidth(c, (comm_op)g->data.comm[c->first].op);
    if (bus >= 0) {
        (void)snprintf(text, sizeof text, "%.1f GB/s", bus / 1e9);
        ui_key_value(p->ui, "bus bandwidth", text);
    }
}

static bool has_spread_over_ranks(const panels *p)
{
    const peers *q = p->peers ? &p->peers->found : NULL;
    return q && q->n >= 3 && q->max_ns > q->min_ns; /* else all are alike: the median says it */
}

static bool has_steps(const panels *p)
{
    return p->over_steps && !p->over_steps->failed && p->over_steps->found.n >= 2;
}

static void show_over_steps(panels *p)
{
    const over_steps *o = &p->over_steps->found;
    const theme *t = theme_get(p->session->view.theme);
    double *v = ui_memory(p->ui, o->n * sizeof *v);
    int64_t least = o->items[0].dur_ns;
    for (size_t i = 0; i < o->n; i++) {
        v[i] = (double)o->items[i].dur_ns;
        least = o->items[i].dur_ns < least ? o->items[i].dur_ns : least;
    }
    char low[48];
    char high[48];
    char right[112];
    time_format(least, low, sizeof low);
    time_format(o->items[o->longest].dur_ns, high, sizeof high);
    (void)snprintf(right, sizeof right, "%s to %s", low, high);
    ui_section(p->ui, "Duration over steps", right);
    ui_sparkline(p->ui, "durations over steps", v, o->n, t->data[p->selected.klass % PALETTE_SIZE], 44);
    ui_style line = {.w = UI_SIZE_FILL, .h = UI_SIZE_CHILDREN, .axis = UI_ROW};
    char step[32];
    (void)ui_push(p->ui, "line", NULL, &line);
    (void)snprintf(step, sizeof step, "step %lld", (long long)o->items[0].step);
    ui_label_fill(p->ui, step, TEXT_SMALL);
    (void)snprintf(step, sizeof step, "step %lld", (long long)o->items[o->n - 1].step);
    ui_label(p->ui, step, TEXT_SMALL);
    ui_pop(p->ui);
    (void)snprintf(step, sizeof step, "median of %zu steps", o->n);
    pair_time(p, step, o->median_ns);
    (void)snprintf(right, sizeof right, "step %lld \xC2\xB7 %s", (long long)o->items[o->longest].step, high);
    ui_key_value(p->ui, "longest", right);
}

static void show_over_ranks(panels *p)
{
    const peers *q = &p->peers->found;
    const size_t bins = MAX_BINS;
    uint32_t counts[MAX_BINS] = {0};
    bool marked[MAX_BINS] = {0};
    double width = (double)(q->max_ns - q->min_ns) / (double)bins;
    uint32_t outliers = 0;
    for (size_t i = 0; i < q->n; i++) {
        size_t b = (size_t)((double)(q->items[i].dur_ns - q->min_ns) / width);
        b = b < bins ? b : bins - 1;
        bool is_out = peers_is_outlier(q, q->items[i].dur_ns);
        counts[b]++;
        marked[b] = marked[b] || is_out;
        outliers += is_out;
    }
    char low[48];
    char high[48];
    char right[64] = "";
    time_format(q->min_ns, low, sizeof low);
    time_format(q->max_ns, high, sizeof high);
    if (outliers > 0) {
        (void)snprintf(right, sizeof right, "%u beyond 5 MAD", outliers);
    }
    ui_section(p->ui, "Duration over ranks", right);
    const theme *t = theme_get(p->session->view.theme);
    ui_histogram h = {
        counts, marked, bins, t->data[p->selected.klass % PALETTE_SIZE], low, high, "duration over ranks"};
    ui_histogram_show(p->ui, "durations", &h, 56);
}

static void show_distribution(panels *p)
{
    static const char *const names[] = {"over ranks", "over steps"};
    bool ranks = has_spread_over_ranks(p);
    bool steps = has_steps(p);
    if (!ranks && !steps) {
        return;
    }
    ui_space(p->ui, 6);
    if (ranks && steps && ui_tabs(p->ui, "distribution", names, 2, &p->distribution)) {
        p->session->is_dirty = true;
    }
    if (steps && (!ranks || p->distribution == 1)) {
        show_over_steps(p);
    } else {
        show_over_ranks(p);
    }
}

static void show_arguments(panels *p)
{
    if (p->arguments.n == 0) {
        return;
    }
    ui_space(p->ui, 4);
    (void)ui_toggle(p->ui, "arguments", "Arguments", &p->show_arguments);
    char key[96];
    char value[256];
    int n = 0;
    for (size_t at = 0; p->show_arguments && n < MAX_ARGUMENTS; n++) {
        if (!json_next_pair(strbuf_str(&p->arguments), &at, key, sizeof key, value, sizeof value)) {
            break;
        }
        ui_key_value(p->ui, key, value);
    }
}

static void show_range(panels *p)
{
    const view *v = &p->session->view;
    char text[64];
    time_format_exact(v->selection_t0_ns, text, sizeof text);
    ui_key_value(p->ui, "from", text);
    time_format_exact(v->selection_t1_ns, text, sizeof text);
    ui_key_value(p->ui, "to", text);
    time_format_exact(v->selection_t1_ns - v->selection_t0_ns, text, sizeof text);
    ui_key_value(p->ui, "length", text);
}

void selected_show(panels *p)
{
    const view *v = &p->session->view;
    ui_section(p->ui, "Selected", NULL);
    if (!p->has_selected && v->selection_t1_ns > v->selection_t0_ns) {
        show_range(p);
        return;
    }
    if (!p->has_selected) {
        ui_paragraph(p->ui, "Click an event to see its times, its peers on other ranks, and its arguments.", WIDTH_DP,
                     TEXT_SMALL);
        return;
    }
    show_head(p);
    if (!p->peers) {
        ui_paragraph(p->ui, "Its peers are being looked for.", WIDTH_DP, TEXT_SMALL);
        return;
    }
    show_peers(p);
    if (p->collective != SIZE_MAX) {
        show_collective(p);
    }
    show_distribution(p);
    show_in_graph(p);
    show_arguments(p);
}

/* ---- the legend ---- */

/* Before anything was summed: what the names say. */
static uint32_t classes_of_names(const trace_model *m)
{
    uint32_t bits = 0;
    for (size_t i = 0; i < m->n_names; i++) {
        if (m->names[i].category < m->n_categories) {
            bits |= 1U << m->categories[m->names[i].category].klass;
        }
    }
    return bits;
}

/* The lines that are drawn, with what the rows' height stands for. @return how many there are then */
static size_t legend_of_lines(panels *p, ui_legend_item *items, size_t n)
{
    enum { CAP = 64 };
    const theme *t = theme_get(p->session->view.theme);
    const scene_frame *f = &p->session->frame;
    const double tops[2] = {f->line_memory_top, f->line_flops_top};
    for (int k = 0; k < 2; k++) {
        char value[48];
        if (!(tops[k] > 0)) {
            continue;
        }
        char *text = ui_memory(p->ui, CAP);
        scene_line_text(tops[k], k == 0, value, sizeof value);
        (void)snprintf(text, CAP, "%s to %s", k == 0 ? "memory" : "rate", value);
        items[n++] = (ui_legend_item){text, k == 0 ? t->line_memory : t->line_flops};
    }
    return n;
}

void legend_show(panels *p)
{
    const theme *t = theme_get(p->session->view.theme);
    uint32_t bits = p->classes ? p->classes : classes_of_names(store_model(p->session->file));
    ui_legend_item items[CLASS_COUNT + 3];
    size_t n = 0;
    for (uint32_t c = 0; c < CLASS_COUNT; c++) {
        if (bits & (1U << c)) {
            items[n++] = (ui_legend_item){trace_class_name((trace_class)c), t->data[c]};
            if (c == CLASS_COLLECTIVE && p->session->view.layout == LAYOUT_MAREY) {
                items[n++] = (ui_legend_item){"wait in collective", rgba_with_alpha(t->data[c], 107)};
            }
        }
    }
    n = legend_of_lines(p, items, n);
    ui_section(p->ui, "Legend", NULL);
    ui_legend(p->ui, "classes", items, n);
}
