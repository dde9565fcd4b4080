/* The camera's algebra. Widths are doubles, places are moments: what is added to a place may be rounded, the place is
 * not. */
#include "scene/view.h"

#include <math.h>
#include <string.h>

static const double MIN_SPAN_NS = 20;
static const double MARGIN = 0.05; /* of the run, on either side */

void view_init(view *v, int64_t duration_ns)
{
    memset(v, 0, sizeof *v);
    v->t1 = moment_at(duration_ns < (int64_t)MIN_SPAN_NS ? (int64_t)MIN_SPAN_NS : duration_ns);
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
    v->sort_t0 = v->t0;
    v->sort_t1 = v->t1;
}

void view_zoom(view *v, double factor, double at)
{
    double span = view_span_ns(v);
    double wanted = span / factor;
    if (!isfinite(at) || !isfinite(wanted) || !(wanted > 0)) {
        return;
    }
    moment fixed = moment_plus(v->t0, at * span);
    v->t0 = moment_plus(fixed, -at * wanted);
    v->t1 = moment_plus(v->t0, wanted);
}

/* Both ends by the same amount, and not beyond where moments end. */
static void shift(view *v, fine_ns by)
{
    fine_ns t0 = moment_fine(v->t0) + by;
    fine_ns t1 = moment_fine(v->t1) + by;
    moment a = moment_of_fine(t0);
    moment b = moment_of_fine(t1);
    if (moment_fine(a) == t0 && moment_fine(b) == t1) {
        v->t0 = a;
        v->t1 = b;
    }
}

void view_pan(view *v, double fraction)
{
    shift(v, fine_of(view_span_ns(v) * fraction));
}

void view_show_range(view *v, moment t0, moment t1)
{
    if (moment_compare(t0, t1) < 0) {
        v->t0 = t0;
        v->t1 = t1;
    }
}

void view_clamp(view *v, int64_t duration_ns)
{
    moment end = moment_at(duration_ns < (int64_t)MIN_SPAN_NS ? (int64_t)MIN_SPAN_NS : duration_ns);
    double margin = MARGIN * moment_minus(end, moment_at(0));
    moment lowest = moment_about(-margin);
    moment highest = moment_plus(end, margin);
    double most = moment_minus(highest, lowest);
    double span = view_span_ns(v);
    if (!(span >= MIN_SPAN_NS) || span > most) {
        moment middle = view_middle(v);
        span = fmin(fmax(span, MIN_SPAN_NS), most);
        v->t0 = moment_plus(middle, -0.5 * span);
        v->t1 = moment_plus(v->t0, span);
    }
    if (moment_compare(v->t0, lowest) < 0) {
        shift(v, moment_fine(lowest) - moment_fine(v->t0));
    } else if (moment_compare(v->t1, highest) > 0) {
        shift(v, moment_fine(highest) - moment_fine(v->t1));
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
    json_kint(j, "t0_ns", v->t0.ns);
    json_kuint(j, "t0_part", v->t0.part); /* of 2^32 */
    json_kint(j, "t1_ns", v->t1.ns);
    json_kuint(j, "t1_part", v->t1.part);
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

void view_motion_start(view_motion *m, const view *from, moment to_t0, moment to_t1, int64_t now_ns, int64_t length_ns)
{
    m->from_t0 = from->t0;
    m->from_t1 = from->t1;
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
        v->t0 = m->to_t0;
        v->t1 = m->to_t1;
        m->length_ns = 0;
        return true; /* this view is new, too: it has to be drawn once */
    }
    double p = eased(fmax(progress, 0));
    double from = moment_minus(m->from_t1, m->from_t0);
    double to = moment_minus(m->to_t1, m->to_t0);
    double span = from * pow(to / from, p);
    /* Left edge and width move together, so that the point that both views show at the same place never moves; told
     * from the narrower view, where a rounding would be seen. */
    bool zooms = fabs(to - from) > 1e-9 * from;
    double way = moment_minus(m->to_t0, m->from_t0);
    if (to < from) {
        v->t0 = moment_plus(m->to_t0, -way * (zooms ? (span - to) / (from - to) : 1 - p));
    } else {
        v->t0 = moment_plus(m->from_t0, way * (zooms ? (span - from) / (to - from) : p));
    }
    v->t1 = moment_plus(v->t0, span);
    return true;
}
