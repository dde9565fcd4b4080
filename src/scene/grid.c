#include "scene/grid.h"

static time_grid make(moment t0, fine_ns span, uint32_t n)
{
    time_grid g = {.t0 = t0, .span = span, .part_ns = (double)t0.part * 0x1p-32, .n = n};
    g.step_ns = fine_to_ns(span) / (double)n;
    g.inverse = 1 / g.step_ns;
    return g;
}

time_grid grid_make(moment t0, moment t1, uint32_t n)
{
    return make(t0, moment_fine(t1) - moment_fine(t0), n);
}

time_grid grid_of_bins(int64_t first_ns, int64_t bin_ns, uint32_t n)
{
    return make(moment_at(first_ns), (fine_ns)bin_ns * MOMENT_PARTS * n, n);
}

/* n times what lies between t0 and the edge; n * t0 is at most 2^(63 + 32 + 20). */
static fine_ns edge_times_n(const time_grid *g, int64_t column)
{
    return (fine_ns)column * g->span;
}

/* An edge, rounded down and up; within 64 bits, where bins go on behind the end of a run. A double knows it where it is
 * clearly between two nanoseconds. */
typedef struct edge_ns {
    int64_t floor, ceil;
} edge_ns;

static edge_ns edge_of(const time_grid *g, int64_t column)
{
    double x = g->part_ns + time_edge(g, column);
    double whole = floor(x);
    double near = fabs(x) * 0x1p-50 + 0x1p-30;
    if (fabs(x) < 0x1p48 && x - whole > near && x - whole < 1 - near) {
        return (edge_ns){g->t0.ns + (int64_t)whole, g->t0.ns + (int64_t)whole + 1};
    }
    fine_ns per = (fine_ns)g->n * MOMENT_PARTS;
    fine_ns at = moment_fine(g->t0) * (fine_ns)g->n + edge_times_n(g, column);
    fine_ns down = at / per - (at % per < 0);
    if (down >= INT64_MAX || down < INT64_MIN) {
        int64_t bound = down < 0 ? INT64_MIN : INT64_MAX;
        return (edge_ns){bound, bound};
    }
    return (edge_ns){(int64_t)down, (int64_t)down + (at % per != 0)};
}

int64_t edge_floor_ns(const time_grid *g, int64_t column)
{
    return edge_of(g, column).floor;
}

int64_t edge_ceil_ns(const time_grid *g, int64_t column)
{
    return edge_of(g, column).ceil;
}

moment grid_moment(const time_grid *g, double columns)
{
    return moment_plus(g->t0, columns * g->step_ns);
}

event_window window_between(moment a, moment b)
{
    return (event_window){moment_floor(a), moment_ceil(a), moment_ceil(b)};
}

event_window window_of_columns(const time_grid *g, int64_t from, int64_t to)
{
    edge_ns begin = edge_of(g, from);
    return (event_window){begin.floor, begin.ceil, edge_ceil_ns(g, to)};
}

event_window window_of_grid(const time_grid *g)
{
    return window_of_columns(g, 0, g->n);
}

int64_t column_near_edge(const time_grid *g, int64_t t_ns, int64_t edge, int64_t at_edge)
{
    fine_ns t = ((fine_ns)t_ns * MOMENT_PARTS - moment_fine(g->t0)) * (fine_ns)g->n;
    fine_ns e = edge_times_n(g, edge);
    return t < e ? edge - 1 : t > e ? edge : at_edge;
}

int64_t bin_of_begin(const time_grid *g, int64_t bin_ns)
{
    return g->t0.ns / bin_ns - (g->t0.ns % bin_ns < 0);
}

bin_edge bin_of_edge(const time_grid *g, int64_t column, int64_t bin_ns, int64_t first_bin)
{
    const double near = 0x1p-20;
    double offset = (double)(g->t0.ns - first_bin * bin_ns) + g->part_ns;
    double place = (offset + time_edge(g, column)) / (double)bin_ns;
    double nearest = floor(place + 0.5);
    if (fabs(place - nearest) > near) {
        return (bin_edge){(int64_t)floor(place), false};
    }
    fine_ns n = (fine_ns)g->n;
    fine_ns begin = moment_fine(g->t0) - (fine_ns)first_bin * bin_ns * MOMENT_PARTS;
    fine_ns at = begin * n + edge_times_n(g, column);
    fine_ns edge = (fine_ns)nearest * bin_ns * MOMENT_PARTS * n;
    return (bin_edge){(int64_t)nearest - (at < edge), at == edge};
}
