/* The numbers behind the cells, and which findings are marked where. */
#include "scene/heat.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "scene/line_data.h"
#include "scene/steps.h"

static const double UNKNOWN = (double)NAN;
static const double MARKED_SEVERITY = 0.3; /* below, a finding describes the run and blames nobody */
static const double LEAST_SHARE = 0.1;     /* the ramp never spans less than this share of a step */
enum { CELLS_FROM_DP = 1000 };             /* narrower windows have no room for cells */

/* ------------------------------------------------------------------ which steps */

step_range heat_steps_in(const int64_t *start, const int64_t *end, size_t n, moment t0, moment t1)
{
    step_range r = {0, 0};
    size_t nearest = 0;
    double best = INFINITY;
    double length = moment_minus(t1, t0);
    for (size_t i = 0; i < n; i++) {
        if (end[i] <= start[i]) {
            continue;
        }
        double a = moment_minus(moment_at(start[i]), t0);
        double b = moment_minus(moment_at(end[i]), t0);
        double away = fmax(fmax(a - 0.5 * length, 0.5 * length - b), 0);
        if (0.5 * (a + b) >= 0 && 0.5 * (a + b) < length) {
            r.first = r.end == 0 ? i : r.first;
            r.end = i + 1;
        }
        if (away < best) {
            best = away;
            nearest = i;
        }
    }
    return r.end > 0 || isinf(best) ? r : (step_range){nearest, nearest + 1};
}

/* ------------------------------------------------------------------ values */

void heat_of_rank(const diagnosis *g, size_t rank, step_range steps, double out[HEAT_COLUMNS])
{
    breakdown sum = {0};
    int64_t wait = 0;
    for (size_t i = steps.first; i < steps.end; i++) {
        const rank_step *cell = collected_cell(&g->data, rank, i);
        breakdown b = breakdown_of(cell);
        sum.step_ns += b.step_ns;
        sum.busy_ns += b.busy_ns;
        sum.compute_ns += b.compute_ns;
        sum.exposed_communication_ns += b.exposed_communication_ns;
        sum.idle_ns += b.idle_ns;
        wait += b.step_ns > 0 ? cell->wait_ns + cell->p2p_wait_ns : 0;
    }
    double step = sum.step_ns > 0 ? (double)sum.step_ns : UNKNOWN;
    out[HEAT_BUSY] = (double)sum.busy_ns / step;
    out[HEAT_EXPOSED] = (double)sum.exposed_communication_ns / step;
    out[HEAT_WAIT] = (double)wait / step;
    out[HEAT_IDLE] = (double)sum.idle_ns / step;
    out[HEAT_COMPUTE] = (double)sum.compute_ns / step;
    out[HEAT_LATE] = out[HEAT_FLOPS] = out[HEAT_MFU] = out[HEAT_MEMORY] = UNKNOWN;
}

heat_scale heat_scale_of(const double *values, size_t n, size_t stride, bool is_share)
{
    heat_scale k = {.least = INFINITY, .most = -INFINITY};
    for (size_t i = 0; i < n; i++) {
        double v = values[i * stride];
        k.least = v < k.least ? v : k.least; /* NaN compares false */
        k.most = v > k.most ? v : k.most;
    }
    if (k.least > k.most) {
        k.low = 0;
        k.high = 1;
        return k;
    }
    double span = fmax(k.most - k.least, is_share ? LEAST_SHARE : fmax(0.05 * fabs(k.most), 1e-9));
    k.low = 0.5 * (k.least + k.most - span);
    if (is_share && k.low + span > 1) {
        k.low = 1 - span;
    }
    k.low = fmin(fmax(k.low, 0), k.least);
    k.high = k.low + span;
    return k;
}

double heat_place(const heat_scale *k, double value)
{
    return fmin(fmax((value - k->low) / (k->high - k->low), 0), 1);
}

rgba heat_colour(const theme *t, double place)
{
    enum { LAST = sizeof t->heat / sizeof *t->heat - 1 };
    double at = place * LAST;
    int i = at >= LAST ? LAST - 1 : (int)at;
    double part = at - i;
    rgba a = t->heat[i];
    rgba b = t->heat[i + 1];
    return (rgba){(uint8_t)lround(a.r + (b.r - a.r) * part), (uint8_t)lround(a.g + (b.g - a.g) * part),
                  (uint8_t)lround(a.b + (b.b - a.b) * part), 255};
}

static double peak_memory(const scene *s, uint32_t rank)
{
    double most = UNKNOWN;
    for (uint32_t i = s->rank_first_counter[rank]; i < s->rank_first_counter[rank + 1]; i++) {
        const trace_counter *c = &s->model->counters[s->rank_counters[i]];
        double unit = 1;
        if (c->n_samples > 0 && line_counter_is_memory(c->name, &unit) && !(c->max * unit <= most)) {
            most = c->max * unit;
        }
    }
    return most;
}

/* What is no number of steps: as stated, and who comes last. */
static double stated_value(const scene *s, uint32_t rank, heat_column c)
{
    if (c == HEAT_LATE) {
        const heat_view *h = s->heat;
        bool voted = h->late_chances && h->late_chances[rank] > 0;
        return voted ? (double)h->late_votes[rank] / h->late_chances[rank] : UNKNOWN;
    }
    const stated_metrics *m = s->heat->metrics ? &s->heat->metrics[rank] : NULL;
    if (c == HEAT_MEMORY) {
        return m && !isnan(m->peak_memory) ? m->peak_memory : peak_memory(s, rank);
    }
    return !m ? UNKNOWN : c == HEAT_FLOPS ? m->flops_rate : m->utilization;
}

/* ------------------------------------------------------------------ from the diagnosis, once */

static void find_steps(heat_view *h)
{
    const collected *c = &h->diagnosis->data;
    h->step_start_ns = mem_realloc_array(h->step_start_ns, c->n_steps + 1, sizeof *h->step_start_ns);
    h->step_end_ns = mem_realloc_array(h->step_end_ns, c->n_steps + 1, sizeof *h->step_end_ns);
    for (size_t i = 0; i < c->n_steps; i++) {
        h->step_start_ns[i] = INT64_MAX;
        h->step_end_ns[i] = INT64_MIN;
        for (size_t r = 0; r < c->n_ranks; r++) {
            const rank_step *cell = collected_cell(c, r, i);
            if (cell->end_ns > cell->start_ns) {
                h->step_start_ns[i] = cell->start_ns < h->step_start_ns[i] ? cell->start_ns : h->step_start_ns[i];
                h->step_end_ns[i] = cell->end_ns > h->step_end_ns[i] ? cell->end_ns : h->step_end_ns[i];
            }
        }
    }
}

static void keep_severer(const diagnosis *g, uint32_t *at, size_t i)
{
    if (*at == NO_ID || g->findings[*at].severity < g->findings[i].severity) {
        *at = (uint32_t)i;
    }
}

/* A finding about half of the ranks or more is about the run. */
static void find_marks(scene *s, heat_view *h)
{
    const diagnosis *g = h->diagnosis;
    size_t n = s->model->n_ranks;
    h->n_stages = 0;
    for (size_t r = 0; r < n; r++) {
        uint32_t stages = s->model->ranks[r].stage < 0 ? 0 : (uint32_t)s->model->ranks[r].stage + 1;
        h->n_stages = stages > h->n_stages && stages <= n ? stages : h->n_stages;
    }
    h->rank_finding = mem_realloc_array(h->rank_finding, n + 1, sizeof *h->rank_finding);
    h->stage_finding = mem_realloc_array(h->stage_finding, h->n_stages + 1, sizeof *h->stage_finding);
    memset(h->rank_finding, 0xFF, (n + 1) * sizeof *h->rank_finding);
    memset(h->stage_finding, 0xFF, (h->n_stages + 1) * sizeof *h->stage_finding);
    for (size_t i = 0; i < g->n_findings; i++) {
        const finding *f = &g->findings[i];
        if (f->severity < MARKED_SEVERITY) {
            continue;
        }
        for (uint32_t k = 0; (f->n_ranks <= 2 || f->n_ranks < n / 2) && k < f->n_ranks; k++) {
            keep_severer(g, &h->rank_finding[f->ranks[k]], i);
        }
        if (f->stage >= 0 && (uint32_t)f->stage < h->n_stages) {
            keep_severer(g, &h->stage_finding[f->stage], i);
        }
    }
}

/* A collective that spans stages waits for where the pipeline ends, every time: that says nothing about a rank. */
static bool is_of_one_stage(const diagnosis *g, const coll_instance *c)
{
    const comm_event *e = &g->data.comm[c->first];
    for (uint32_t k = 1; k < c->n; k++) {
        if (g->model->ranks[e[k].rank].stage != g->model->ranks[e[0].rank].stage) {
            return false;
        }
    }
    return true;
}

static void count_late(heat_view *h, size_t n_ranks)
{
    enum { MIN_VOTERS = 3 };
    const diagnosis *g = h->diagnosis;
    h->late_votes = mem_realloc_array(h->late_votes, n_ranks + 1, sizeof *h->late_votes);
    h->late_chances = mem_realloc_array(h->late_chances, n_ranks + 1, sizeof *h->late_chances);
    memset(h->late_votes, 0, (n_ranks + 1) * sizeof *h->late_votes);
    memset(h->late_chances, 0, (n_ranks + 1) * sizeof *h->late_chances);
    for (size_t i = 0; i < g->n_instances; i++) {
        const coll_instance *c = &g->instances[i];
        if (c->n < MIN_VOTERS || !is_of_one_stage(g, c)) {
            continue;
        }
        for (uint32_t k = 0; k < c->n; k++) {
            h->late_chances[g->data.comm[c->first + k].rank]++;
        }
        h->late_votes[c->last_rank]++;
    }
}

static void sum_all(scene *s, heat_view *h)
{
    size_t n = s->model->n_ranks;
    h->values = mem_realloc_array(h->values, (n + 1) * HEAT_COLUMNS, sizeof *h->values);
    for (uint32_t r = 0; r < n; r++) {
        heat_of_rank(h->diagnosis, r, h->steps, &h->values[(size_t)r * HEAT_COLUMNS]);
        for (int c = HEAT_LATE; c < HEAT_COLUMNS; c++) {
            h->values[(size_t)r * HEAT_COLUMNS + (size_t)c] = stated_value(s, r, (heat_column)c);
        }
    }
    for (int c = 0; c < HEAT_COLUMNS; c++) {
        h->scales[c] = heat_scale_of(h->values + c, n, HEAT_COLUMNS, c != HEAT_MEMORY && c != HEAT_FLOPS);
    }
}

static void choose_columns(scene *s, heat_view *h)
{
    h->n_columns = 0;
    for (int c = 0; c < HEAT_COLUMNS; c++) {
        h->has[c] = c < HEAT_LATE;
        for (uint32_t r = 0; r < s->model->n_ranks && !h->has[c]; r++) {
            h->has[c] = !isnan(stated_value(s, r, (heat_column)c));
        }
        if (h->has[c]) {
            h->columns[h->n_columns++] = (heat_column)c;
        }
    }
}

static heat_view *heat_make(scene *s)
{
    heat_view *h = mem_calloc(1, sizeof *h);
    h->insight = insight_create(s->file);
    insight_set_wake(h->insight, s->wake, s->wake_ctx);
    return h;
}

/* Nothing of the diagnosis is read before it is whole, and it never changes after. */
static void take_diagnosis(scene *s, heat_view *h)
{
    const diagnosis *g = s->in.diagnosis;
    h->is_due = !g && s->in.diagnosis_is_due;
    if (!g && !h->is_due) {
        g = insight_get(h->insight, &h->is_due);
    }
    if (!g || g == h->diagnosis) {
        return;
    }
    h->diagnosis = g;
    h->serial++;
    find_steps(h);
    find_marks(s, h);
    count_late(h, s->model->n_ranks);
    choose_columns(s, h);
    arrivals_update(&h->arrivals, g);
    h->steps = (step_range){SIZE_MAX, SIZE_MAX};
}

static void take_metrics(scene *s, heat_view *h)
{
    bool is_due = false;
    const stated_metrics *m = insight_metrics(h->insight, &is_due);
    h->is_due = h->is_due || is_due;
    if (m && !h->metrics) {
        h->metrics = m;
        h->serial++;
        choose_columns(s, h);
        h->steps = (step_range){SIZE_MAX, SIZE_MAX};
    }
}

void heat_prepare(scene *s)
{
    double wide_dp = s->in.width_px / (s->in.scale > 0 ? s->in.scale : 1) - s->in.right_dp;
    bool room = wide_dp >= CELLS_FROM_DP && s->model->n_ranks > 0;
    bool is_map = s->v.layout == LAYOUT_STEPS;
    bool shown = (s->v.layout == LAYOUT_MAREY || is_map) && s->v.show_heat && room;
    bool wanted = shown || is_map || s->v.order == ORDER_HEAT || s->v.overview != OVERVIEW_SHARES;
    if (!s->heat && wanted) {
        s->heat = heat_make(s);
        choose_columns(s, s->heat);
    }
    heat_view *h = s->heat;
    if (!h) {
        return;
    }
    h->is_shown = shown;
    if (wanted) {
        take_diagnosis(s, h);
        take_metrics(s, h);
        s->frame.complete = s->frame.complete && !h->is_due;
    }
}

void heat_sum_up(scene *s)
{
    heat_view *h = s->heat;
    if (!h || !h->diagnosis || !h->is_shown) {
        return;
    }
    moment t1 = s->n_columns > 1 ? s->steps->columns[s->n_columns - 1].t1 : s->v.t1; /* steps side by side */
    step_range steps = heat_steps_in(h->step_start_ns, h->step_end_ns, h->diagnosis->data.n_steps, s->v.t0, t1);
    if (steps.first != h->steps.first || steps.end != h->steps.end) {
        h->steps = steps;
        sum_all(s, h);
    }
}

void heat_set_wake(scene *s)
{
    if (s->heat) {
        insight_set_wake(s->heat->insight, s->wake, s->wake_ctx);
    }
}

bool heat_settle(scene *s)
{
    return s->heat && insight_settle(s->heat->insight);
}

const diagnosis *scene_diagnosis(const scene *s)
{
    return s->heat ? s->heat->diagnosis : NULL;
}

/* ------------------------------------------------------------------ rows */

uint64_t heat_sorting(const scene *s)
{
    if (s->v.order != ORDER_HEAT) {
        return 0;
    }
    struct {
        moment t0, t1;
        uint64_t serial, column, ascending;
    } k = {s->v.sort_t0, s->v.sort_t1, s->heat ? s->heat->serial : 0, s->v.sort_column, s->v.sort_ascending};
    return hash_bytes(&k, sizeof k) | 1;
}

int64_t heat_order_key(const scene *s, uint32_t rank)
{
    const heat_view *h = s->heat;
    if (!h || !h->diagnosis) {
        return 0;
    }
    step_range steps =
        heat_steps_in(h->step_start_ns, h->step_end_ns, h->diagnosis->data.n_steps, s->v.sort_t0, s->v.sort_t1);
    double values[HEAT_COLUMNS];
    heat_of_rank(h->diagnosis, rank, steps, values);
    heat_column c = s->v.sort_column;
    double v = c == HEAT_MEMORY || c == HEAT_FLOPS ? stated_value(s, rank, c)
               : c >= HEAT_LATE                    ? 1e12 * stated_value(s, rank, c)
                                                   : 1e12 * values[c];
    if (isnan(v)) {
        return INT64_MAX; /* last, whichever way */
    }
    int64_t key = (int64_t)fmin(v, 9e18);
    return s->v.sort_ascending ? key : -key;
}

double heat_of_row(const scene *s, const scene_row *row, heat_column c)
{
    const heat_view *h = s->heat;
    if (!h->diagnosis || (row->kind != ROW_RANK && row->kind != ROW_GROUP)) {
        return UNKNOWN;
    }
    if (row->kind == ROW_RANK) {
        return h->values[(size_t)row->id * HEAT_COLUMNS + c];
    }
    const rank_group *g = &s->tree.groups[row->id];
    double sum = 0;
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->n; i++) {
        double v = h->values[(size_t)s->tree.group_ranks[g->first + i] * HEAT_COLUMNS + c];
        sum += isnan(v) ? 0 : v;
        n += isnan(v) ? 0 : 1;
    }
    return n > 0 ? sum / n : UNKNOWN;
}

/* A closed stage answers for its ranks, too. */
const finding *heat_finding(const scene *s, const scene_row *row)
{
    const heat_view *h = s->heat;
    uint32_t at = NO_ID;
    if (!h || !h->diagnosis || (s->v.layout != LAYOUT_MAREY && s->v.layout != LAYOUT_STEPS)) {
        return NULL;
    }
    if (row->kind == ROW_RANK) {
        at = h->rank_finding[row->id];
    } else if (row->kind == ROW_GROUP) {
        const rank_group *g = &s->tree.groups[row->id];
        int32_t stage = s->model->ranks[s->tree.group_ranks[g->first]].stage;
        if (s->v.grouping == GROUP_BY_STAGE && stage >= 0 && (uint32_t)stage < h->n_stages) {
            at = h->stage_finding[stage];
        }
        for (uint32_t i = 0; !row->is_open && i < g->n; i++) {
            uint32_t of_rank = h->rank_finding[s->tree.group_ranks[g->first + i]];
            if (of_rank != NO_ID) {
                keep_severer(h->diagnosis, &at, of_rank);
            }
        }
    }
    return at == NO_ID ? NULL : &h->diagnosis->findings[at];
}

/* ------------------------------------------------------------------ as text */

const char *heat_column_name(heat_column c)
{
    static const char *const names[HEAT_COLUMNS] = {"busy", "calc", "exp", "wait", "idle",
                                                    "late", "flop", "MFU", "mem"};
    return names[c];
}

void heat_value_text(heat_column c, double value, char *out, size_t cap)
{
    if (isnan(value)) {
        (void)snprintf(out, cap, "\xE2\x80\x93");
    } else if (c == HEAT_MEMORY) {
        bytes_format((uint64_t)fmax(value, 0), out, cap);
    } else if (c == HEAT_FLOPS) {
        (void)snprintf(out, cap, "%.4g TFLOP/s", value / 1e12);
    } else {
        (void)snprintf(out, cap, "%.2f %%", 100 * value);
    }
}

void heat_steps_text(const scene *s, step_range steps, char *out, size_t cap)
{
    const collected *c = &s->heat->diagnosis->data;
    if (!c->has_steps) {
        (void)snprintf(out, cap, "the whole run");
    } else if (steps.end == steps.first + 1) {
        (void)snprintf(out, cap, "step %lld", (long long)c->step_index[steps.first]);
    } else if (steps.end > steps.first) {
        (void)snprintf(out, cap, "steps %lld\xE2\x80\x93%lld", (long long)c->step_index[steps.first],
                       (long long)c->step_index[steps.end - 1]);
    } else {
        (void)snprintf(out, cap, "no step");
    }
}

void heat_free(heat_view **ph)
{
    heat_view *h = *ph;
    if (h) {
        insight_destroy(&h->insight);
        free(h->values);
        free(h->step_start_ns);
        free(h->step_end_ns);
        free(h->rank_finding);
        free(h->late_votes);
        free(h->late_chances);
        arrivals_deinit(&h->arrivals);
        free(h->stage_finding);
        free(h);
        *ph = NULL;
    }
}
