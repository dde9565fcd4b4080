/* The camera's algebra. Times are double ns: exact to 1/32 ns over 48 hours. */
#include "scene/view.h"

#include <math.h>
#include <string.h>

static const double MIN_SPAN_NS = 20;
static const double MIN_SPAN = 0x1p-43; /* of the run: over two days a view has at least some 600 distinct times */
static const double MARGIN = 0.05;      /* of the run, on either side */

void view_init(view *v, int64_t duration_ns)
{
    memset(v, 0, sizeof *v);
    v->t0_ns = 0;
    v->t1_ns = fmax((double)duration_ns, MIN_SPAN_NS);
    v->grouping = GROUP_BY_STAGE;
    v->selected_row = UINT64_MAX;
    v->show_cpu = true;
    v->show_heat = true;
    v->n_columns = 3;
}

void view_sort_by(view *v, heat_column c)
{
    if (v->order == ORDER_HEAT && v->sort_column == c) {
        v->order = v->sort_ascending ? ORDER_RANK : ORDER_HEAT;
        v->sort_ascending = !v->sort_ascending;
        return;
    }
    v->order = ORDER_HEAT;
    v->sort_column = c;
    v->sort_ascending = false;
    v->sort_t0_ns = v->t0_ns;
    v->sort_t1_ns = v->t1_ns;
}

void view_zoom(view *v, double factor, double at)
{
    double span = v->t1_ns - v->t0_ns;
    double fixed = v->t0_ns + at * span;
    double wanted = span / factor;
    if (!isfinite(fixed) || !isfinite(wanted) || !(wanted > 0)) {
        return;
    }
    v->t0_ns = fixed - at * wanted;
    v->t1_ns = fixed + (1 - at) * wanted;
}

void view_pan(view *v, double fraction)
{
    double shift = (v->t1_ns - v->t0_ns) * fraction;
    if (isfinite(shift)) {
        v->t0_ns += shift;
        v->t1_ns += shift;
    }
}

void view_show_range(view *v, double t0_ns, double t1_ns)
{
    if (isfinite(t0_ns) && isfinite(t1_ns) && t1_ns >= t0_ns) {
        v->t0_ns = t0_ns;
        v->t1_ns = t1_ns;
    }
}

void view_clamp(view *v, int64_t duration_ns)
{
    double run = fmax((double)duration_ns, MIN_SPAN_NS);
    double lowest = -MARGIN * run;
    double highest = run + MARGIN * run;
    double least = fmax(MIN_SPAN_NS, MIN_SPAN * run);
    double span = v->t1_ns - v->t0_ns;
    if (!isfinite(v->t0_ns) || !isfinite(v->t1_ns)) {
        v->t0_ns = 0;
        v->t1_ns = run;
        return;
    }
    if (!(span >= least) || span > highest - lowest) {
        double middle = v->t0_ns + 0.5 * span;
        span = fmin(fmax(span, least), highest - lowest);
        v->t0_ns = middle - 0.5 * span;
        v->t1_ns = v->t0_ns + span;
    }
    if (v->t0_ns < lowest) {
        v->t0_ns = lowest;
        v->t1_ns = lowest + span;
    } else if (v->t1_ns > highest) {
        v->t1_ns = highest;
        v->t0_ns = highest - span;
    }
}

static const char *const layout_names[] = {"timeline", "marey", "communication", "steps", "graph"};
static const char *const grouping_names[] = {"none", "stage", "host"};
static const char *const lines_names[] = {"all", "memory", "flops", "off"};
static const char *const steps_names[] = {"run", "one", "columns", "overlaid"};
static const char *const order_names[] = {"rank", "busy", "name", "heat"};

void view_to_json(const view *v, json_out *j)
{
    json_begin(j, '{');
    json_kreal(j, "t0_ns", v->t0_ns);
    json_kreal(j, "t1_ns", v->t1_ns);
    json_kreal(j, "scroll_px", v->scroll_px);
    json_kreal(j, "row_px", v->row_px);
    json_kstr(j, "layout", layout_names[v->layout]);
    json_kstr(j, "grouping", grouping_names[v->grouping]);
    json_kstr(j, "order", order_names[v->order]);
    json_kuint(j, "overview", v->overview);
    json_kstr(j, "steps", steps_names[v->steps_mode]);
    json_kuint(j, "step", v->step);
    json_kstr(j, "lines", lines_names[v->lines % LINES_MODES]);
    json_kstr(j, "theme", theme_get(v->theme)->name);
    json_key(j, "selected_row");
    if (v->selected_row == UINT64_MAX) {
        json_null(j);
    } else {
        json_uint(j, v->selected_row);
    }
    json_key(j, "selection_ns");
    if (v->selection_t1_ns <= v->selection_t0_ns) {
        json_null(j);
    } else {
        json_begin(j, '[');
        json_int(j, v->selection_t0_ns);
        json_int(j, v->selection_t1_ns);
        json_end(j, ']');
    }
    json_kstr(j, "rows", v->rows_pattern);
    json_key(j, "show_cpu");
    json_bool(j, v->show_cpu);
    json_kuint(j, "comm_group", v->comm.group);
    json_kuint(j, "comm_measure", v->comm.measure);
    json_kuint(j, "comm_sort", v->comm.sort);
    json_end(j, '}');
}

void view_motion_start(view_motion *m, const view *from, double to_t0, double to_t1, int64_t now_ns, int64_t length_ns)
{
    m->from_t0 = from->t0_ns;
    m->from_t1 = from->t1_ns;
    m->to_t0 = to_t0;
    m->to_t1 = to_t1;
    m->begin_ns = now_ns;
    m->length_ns = length_ns > 0 ? length_ns : 0;
}

/* How far along, 0 to 1: fast at first, then settling. */
static double eased(double progress)
{
    const double sharpness = 5;
    return (1 - exp(-sharpness * progress)) / (1 - exp(-sharpness));
}

bool view_motion_step(view_motion *m, view *v, int64_t now_ns)
{
    if (m->length_ns == 0) {
        return false;
    }
    double progress = (double)(now_ns - m->begin_ns) / (double)m->length_ns;
    if (progress >= 1) {
        v->t0_ns = m->to_t0;
        v->t1_ns = m->to_t1;
        m->length_ns = 0;
        return true; /* this view is new, too: it has to be drawn once */
    }
    double p = eased(fmax(progress, 0));
    double from = m->from_t1 - m->from_t0;
    double to = m->to_t1 - m->to_t0;
    double span = from * pow(to / from, p);
    /* Left edge and width move together, so that the point that both views show at the same place never moves. */
    double part = fabs(to - from) > 1e-9 * from ? (span - from) / (to - from) : p;
    v->t0_ns = m->from_t0 + (m->to_t0 - m->from_t0) * part;
    v->t1_ns = v->t0_ns + span;
    return true;
}
