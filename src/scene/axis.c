/*
 * The time axis: ticks at 1, 2 or 5 times a power of ten down to a nanosecond (at minutes and hours above), labels that
 * never repeat or touch. Far from zero and deep inside, the labels count from a base that stands in the corner.
 */
#include <string.h>

#include "scene/step_map.h"
#include "scene/steps.h"

static const double TICK_APART_DP = 84, TICK_LEAST_DP = 64;

typedef struct tick_plan {
    int64_t step_ns, minor_ns;
    int64_t base_ns; /* labels count from here */
    int64_t unit_ns;
    const char *unit;
} tick_plan;

static const int64_t MINUTE_NS = 60000000000;

static int64_t floor_to(int64_t t, int64_t step)
{
    return t - t % step - (t % step < 0 ? step : 0);
}

static int64_t minute_step(double wanted_ns)
{
    static const int64_t minutes[] = {1, 2, 5, 10, 15, 30, 60, 120, 240, 480, 720, 1440};
    size_t n = sizeof minutes / sizeof *minutes;
    for (size_t i = 0; i < n; i++) {
        if ((double)(minutes[i] * MINUTE_NS) >= wanted_ns) {
            return minutes[i] * MINUTE_NS;
        }
    }
    return (int64_t)ceil(wanted_ns / 86400e9) * 1440 * MINUTE_NS;
}

static int64_t nice_step(double wanted_ns, int64_t *minor)
{
    if (wanted_ns > 20e9) {
        int64_t step = minute_step(wanted_ns);
        *minor = step / 5;
        return step;
    }
    double power = pow(10, floor(log10(fmax(wanted_ns, 1)) + 1e-9));
    double part = fmax(wanted_ns, 1) / power;
    int factor = part <= 1.0 + 1e-9 ? 1 : part <= 2 ? 2 : part <= 5 ? 5 : 10;
    int64_t step = factor * (int64_t)power;
    *minor = step / (factor == 2 ? 4 : 5);
    *minor = *minor > 1 ? *minor : 1;
    if (step % *minor != 0) {
        *minor = step;
    }
    return step;
}

static void plan_unit(tick_plan *p)
{
    static const struct {
        int64_t ns;
        const char *name;
    } units[] = {{1, "ns"}, {1000, "\xC2\xB5s"}, {1000000, "ms"}, {1000000000, "s"}};
    size_t k = p->step_ns >= MINUTE_NS ? 3 : 0;
    for (size_t i = 0; i < 4; i++) {
        k = p->step_ns >= units[i].ns ? i : k;
    }
    p->unit_ns = units[k].ns;
    p->unit = units[k].name;
}

static tick_plan plan_ticks(const scene *s)
{
    tick_plan p = {0};
    double room_dp = (double)(s->m.axis.w / s->m.s);
    double apart_dp = fmin(TICK_APART_DP, fmax(TICK_LEAST_DP, room_dp / 5));
    double wanted = s->src.grid.step_ns * apart_dp * (double)s->m.s;
    p.step_ns = nice_step(wanted, &p.minor_ns);
    plan_unit(&p);
    /* More than five digits are read as noise: count from a round time at the left edge instead. */
    int64_t t0 = s->v.t0.ns - s->origin_ns;
    int64_t t1 = s->v.t1.ns - s->origin_ns;
    double largest = fmax(fabs((double)t0), fabs((double)t1)) / (double)p.unit_ns;
    if (largest >= 1e5 && p.step_ns < MINUTE_NS) {
        p.base_ns = floor_to(t0, p.step_ns * 10);
    }
    return p;
}

static void tick_text(const tick_plan *p, int64_t t_ns, char *out, size_t cap)
{
    int64_t away = t_ns < 0 ? -t_ns : t_ns;
    if (p->step_ns >= MINUTE_NS && away >= MINUTE_NS) {
        long long minutes = (away + MINUTE_NS / 2) / MINUTE_NS;
        long long hours = minutes / 60;
        minutes %= 60;
        const char *sign = t_ns < 0 ? "\xE2\x88\x92" : "";
        if (hours > 0 && minutes > 0) {
            (void)snprintf(out, cap, "%s%lld h %02lld min", sign, hours, minutes);
        } else {
            (void)snprintf(out, cap, "%s%lld %s", sign, hours > 0 ? hours : minutes, hours > 0 ? "h" : "min");
        }
        return;
    }
    int64_t from_base = t_ns - p->base_ns;
    const char *sign = from_base < 0 ? "\xE2\x88\x92" : p->base_ns != 0 ? "+" : "";
    char digits[40];
    moment_in_unit(moment_at(from_base < 0 ? -from_base : from_base), p->unit_ns, p->unit, (double)p->unit_ns, digits,
                   sizeof digits);
    (void)snprintf(out, cap, "%s%s", sign, digits);
}

static void base_text(const tick_plan *p, char *out, size_t cap)
{
    char text[64];
    moment_label(moment_at(p->base_ns), (double)p->base_ns, (double)p->step_ns, text, sizeof text);
    (void)snprintf(out, cap, "from %s", text);
}

/* Without "from" where there is no room for it: all digits count. */
static void draw_base(scene *s, const tick_plan *p)
{
    if (p->base_ns == 0) {
        return;
    }
    char line[96];
    base_text(p, line, sizeof line);
    rect r = {s->m.pad, s->m.axis.y, s->m.axis.x - s->m.heat.w - s->m.pad - px(s, 10), s->m.axis.h};
    const char *text = width_of(s, FACE_SANS, 11, line) <= r.w ? line : line + strlen("from ");
    (void)put_text(s, LAYER_PANELS, FACE_SANS, 11, r, TEXT_RIGHT, s->t->dim, text);
}

/* The column heading gives way to the base of the ticks where both don't fit. */
static void draw_heading(scene *s, const tick_plan *p)
{
    const char *heading = !s->tree.grouped                  ? ranks_are_processes(s) ? "Process" : "Rank"
                          : s->v.grouping == GROUP_BY_STAGE ? "Stage / rank"
                                                            : "Host / rank";
    float need = 0;
    if (p->base_ns != 0) {
        char line[96];
        base_text(p, line, sizeof line);
        need = fmaxf(px(s, 130), width_of(s, FACE_SANS, 11, line) + px(s, 22));
    }
    rect r = {s->m.pad, s->m.axis.y, s->m.axis.x - s->m.heat.w - s->m.pad - need, s->m.axis.h};
    if (r.w >= width_of(s, FACE_SANS, 12, heading)) {
        (void)put_text(s, LAYER_PANELS, FACE_SANS, 12, r, TEXT_LEFT, s->t->dim, heading);
    }
}

static bool is_clear(rect taken, float x, float w)
{
    return taken.w <= 0 || x + w < taken.x || x > taken.x + taken.w;
}

/* The labels leave room for what stands in the axis already: the pointer's time, the step. */
static void draw_ticks(scene *s, const tick_plan *p, rect tag, rect heading)
{
    rect plot = s->m.plot;
    int64_t before = floor_to(moment_ceil(s->v.t0) - 1 - s->origin_ns, p->minor_ns); /* the tick before the first */
    int64_t last = moment_floor(s->v.t1) - s->origin_ns;
    float right = -1e9F;
    if ((last - before) / p->minor_ns > 4096) {
        return;
    }
    for (int64_t t = before + p->minor_ns; t <= last; t += p->minor_ns) {
        float x = snap(x_of(s, s->origin_ns + t));
        bool major = t % p->step_ns == 0;
        draw_vline(s->l, LAYER_GROUND, x, plot.y, plot.y + plot.h, major ? s->t->line : s->t->hairline);
        if (!major) {
            continue;
        }
        char text[48];
        tick_text(p, t, text, sizeof text);
        float w = width_of(s, FACE_SANS, 11, text);
        float at = x + px(s, 4);
        bool is_whole = at >= s->m.axis.x && at + w <= s->m.axis.x + s->m.axis.w; /* every label right of its tick */
        bool is_free = is_clear(tag, at, w) && is_clear(heading, at, w);
        if (at >= right && is_whole && is_free) {
            rect r = {at, s->m.axis.y, w + 1, s->m.axis.h};
            (void)put_text(s, LAYER_MARKS, FACE_SANS, 11, r, TEXT_LEFT, s->t->dim, text);
            right = at + w + px(s, 12);
        }
    }
}

/* Every n-th step is marked, by its number, so that marks stand evenly and well apart. */
long long step_stride(double steps_per_px, double apart_px)
{
    static const int factors[] = {1, 2, 5};
    double wanted = steps_per_px * apart_px;
    for (double power = 1; power < 1e15; power *= 10) {
        for (size_t i = 0; i < sizeof factors / sizeof *factors; i++) {
            if (factors[i] * power >= wanted) {
                return (long long)(factors[i] * power);
            }
        }
    }
    return (long long)1e15;
}

/* Where a step begins: of the first visible rank. */
static void draw_steps(scene *s)
{
    if (s->first_visible >= s->end_visible) {
        return;
    }
    const scene_row *row = &s->tree.rows[s->first_visible];
    uint32_t rank = row->kind == ROW_GROUP ? s->tree.group_ranks[s->tree.groups[row->id].first] : row->rank;
    uint32_t first = s->rank_first_step[rank];
    uint32_t n = s->rank_first_step[rank + 1] - first;
    const uint32_t *ids = s->rank_steps + first;
    double length = n > 1 ? (double)(s->model->steps[ids[n - 1]].start_ns - s->model->steps[ids[0]].start_ns) : 0;
    double density = length > 0 ? (n - 1) / (length * s->src.grid.inverse) : 0; /* steps a pixel */
    long long stride = step_stride(density, (double)px(s, 48));
    for (uint32_t i = 0; i < n; i++) {
        const trace_step *step = &s->model->steps[ids[i]];
        float x = snap(x_of(s, step->start_ns));
        if (x < s->m.plot.x || x >= s->m.plot.x + s->m.plot.w || step->index % stride != 0) {
            continue;
        }
        draw_dashed(s->l, LAYER_GROUND, x + 0.5F, s->m.plot.y, x + 0.5F, s->m.plot.y + s->m.plot.h, 1, px(s, 3),
                    s->t->faint);
    }
}

/* The time under the pointer, as the ticks count it. */
static void tag_text(const scene *s, const tick_plan *p, char *out, size_t cap)
{
    char text[64];
    double step = s->src.grid.step_ns;
    moment t = moment_shift(moment_under(s, floor(s->in.cursor_x) + 0.5), -s->origin_ns);
    moment from_base = moment_shift(t, -p->base_ns);
    double digit = pow(10, floor(log10(fmax(step, 1)) + 1e-9));
    if (p->step_ns >= MINUTE_NS) {
        moment_label(t, (double)t.ns, digit, text, sizeof text);
    } else {
        moment_in_unit(from_base, p->unit_ns, p->unit, digit, text, sizeof text);
    }
    (void)snprintf(out, cap, "%s%s", from_base.ns >= 0 ? "+" : "", text);
}

/* Where the pointer's time stands on the axis; no width: nowhere. */
static rect tag_place(scene *s, const char *tag)
{
    rect plot = s->m.plot;
    double x = s->in.cursor_x;
    bool over_time = x >= (double)plot.x && x < (double)(plot.x + plot.w) && s->in.cursor_y >= (double)s->m.axis.y &&
                     s->in.cursor_y < (double)(plot.y + plot.h);
    if (!over_time) {
        return (rect){0, 0, 0, 0};
    }
    float w = ceilf(width_of(s, FACE_SANS, 11, tag)) + px(s, 12);
    float left = fminf(fmaxf((float)floor(x) - floorf(w / 2), s->m.axis.x), plot.x + plot.w - w);
    return (rect){left, s->m.axis.y + px(s, 4), w, s->m.axis.h - px(s, 8)};
}

static void draw_cursor(scene *s, rect r, const char *tag)
{
    if (r.w <= 0) {
        return;
    }
    rect plot = s->m.plot;
    draw_vline(s->l, LAYER_MARKS, (float)floor(s->in.cursor_x), plot.y, plot.y + plot.h,
               rgba_with_alpha(s->t->accent, 170));
    draw_round(s->l, LAYER_PANELS, r, px(s, 4), s->t->raised, fmaxf(1, px(s, 1)), s->t->line);
    (void)put_text(s, LAYER_PANELS, FACE_SANS, 11, r, TEXT_CENTRE, s->t->text, tag);
}

void draw_axis(scene *s)
{
    tick_plan p = plan_ticks(s);
    draw_push_clip(s->l, (rect){s->m.plot.x, s->m.axis.y, s->m.plot.w, s->m.axis.h + s->m.plot.h});
    char tag[80];
    tag_text(s, &p, tag, sizeof tag);
    rect place = tag_place(s, tag);
    char step[48];
    rect heading = step_heading(s, step, sizeof step);
    rect key = step_layout_key(s, false);
    draw_ticks(s, &p, place, key.w > 0 ? key : heading);
    if (key.w > 0 && is_clear(place, key.x, key.w)) {
        (void)step_layout_key(s, true);
    }
    if (heading.w > 0 && is_clear(place, heading.x, heading.w)) {
        draw_round(s->l, LAYER_PANELS, heading, px(s, 4), s->t->raised, 0, s->t->line);
        (void)put_text(s, LAYER_PANELS, FACE_SANS_MEDIUM, 11, heading, TEXT_CENTRE, s->t->text, step);
    }
    if (s->model->n_ranks > 0 && s->tree.n_rows > 0) {
        draw_steps(s);
    }
    draw_cursor(s, place, tag);
    draw_pop_clip(s->l);
    if (s->column == 0) {
        draw_heading(s, &p);
        draw_base(s, &p);
    }
}
