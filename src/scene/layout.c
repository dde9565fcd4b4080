/* Where the parts of the frame lie, and small helpers that every part uses. All edges are whole pixels. */
#include <string.h>

#include "scene/internal.h"

enum { START_MAX = 96 }; /* bytes */

enum { BAR_DP = 44, OVERVIEW_DP = 60, AXIS_DP = 28, STATUS_DP = 26 };

static rect box(float x, float y, float w, float h)
{
    return (rect){x, y, w > 0 ? w : 0, h > 0 ? h : 0};
}

/* The graph takes all that is between the bar and the status line, but for the inspector. */
static void place_graph(scene *s)
{
    metrics *m = &s->m;
    float right = px(s, s->in.right_dp);
    m->overview = m->axis = m->labels = m->heat = box(0, 0, 0, 0);
    m->plot = box(0, m->bar.h, m->frame.w - right, m->status.y - m->bar.h);
    s->frame.side = box(m->frame.w - right, m->bar.h, right, m->plot.h);
    s->frame.below = s->frame.overview = s->frame.labels = box(0, 0, 0, 0);
    s->frame.plot = m->plot;
}

void layout_frame(scene *s)
{
    metrics *m = &s->m;
    m->s = (float)(s->in.scale > 0 ? s->in.scale : 1);
    float w = (float)s->in.width_px;
    float h = (float)s->in.height_px;
    double wide_dp = (double)(w / m->s);
    double high_dp = (double)(h / m->s);
    m->pad = px(s, wide_dp >= 1000 ? 20 : 12);
    m->frame = box(0, 0, w, h);
    m->bar = box(0, 0, w, px(s, BAR_DP));
    m->status = box(0, h - px(s, STATUS_DP), w, px(s, STATUS_DP));
    /* A low window keeps its rows and lets the overview go. */
    float strip = high_dp >= 320 ? px(s, OVERVIEW_DP) : 0;
    float gap = px(s, 8);
    m->overview = box(m->pad, m->bar.h + gap, w - 2 * m->pad, strip);
    float axis_y = strip > 0 ? m->overview.y + strip + gap : m->bar.h;
    float heat_w = heat_width(s);
    float labels_w = px(s, fmin(fmax(wide_dp * 0.17, 112), 232)) + m->pad + heat_w;
    bool panels = s->v.layout != LAYOUT_COMMUNICATION;
    float right = panels ? px(s, s->in.right_dp) : 0;
    float bottom = panels ? px(s, s->in.bottom_dp) : 0;
    m->axis = box(labels_w, axis_y, w - labels_w - (right > 0 ? right + px(s, 8) : m->pad), px(s, AXIS_DP));
    float top = axis_y + m->axis.h;
    m->plot = box(labels_w, top, m->axis.w, m->status.y - bottom - top - px(s, 4));
    s->frame.side = box(w - right, axis_y, right, m->status.y - axis_y);
    s->frame.below = box(0, m->status.y - bottom, w - right, bottom);
    m->labels = box(0, top, labels_w, m->plot.h);
    m->heat = box(labels_w - heat_w, top, heat_w, m->plot.h);
    s->frame.plot = m->plot;
    s->frame.overview = m->overview;
    s->frame.labels = m->labels;
    if (s->v.layout == LAYOUT_GRAPH) {
        place_graph(s);
    }
}

bool text_fits_in(const scene *s, rect box, rect panel)
{
    float half = px(s, 7); /* of a line of 12 dp */
    float middle = box.y + box.h / 2;
    return middle - half >= panel.y && middle + half <= panel.y + panel.h;
}

float width_of(scene *s, text_face face, double size_dp, const char *text)
{
    return text_width(s->text, face, (float)(size_dp * (double)s->m.s), text, strlen(text));
}

float put_text(scene *s, draw_layer layer, text_face face, double size_dp, rect r, text_align align, rgba c,
               const char *text)
{
    float size = (float)(size_dp * (double)s->m.s);
    float x = align == TEXT_LEFT ? r.x : align == TEXT_RIGHT ? r.x + r.w : r.x + r.w / 2;
    float y = text_baseline(s->text, face, size, r.y, r.h);
    size_t n = strlen(text);
    if (n == 0 || r.w <= 0) {
        return 0;
    }
    return text_put_fit(s->text, s->l, layer, face, size, x, y, align, r.w, c, text, n);
}

/* Letters are added while they and the ellipsis fit. */
float put_text_start(scene *s, draw_layer layer, text_face face, double size_dp, rect r, text_align align, rgba c,
                     const char *text)
{
    size_t n = strlen(text);
    char cut[START_MAX + 4];
    if (n < 4 || width_of(s, face, size_dp, text) <= r.w) {
        return put_text(s, layer, face, size_dp, r, align, c, text);
    }
    for (n = n - 1 < START_MAX ? n - 1 : START_MAX; n > 1; n--) {
        if (((unsigned char)text[n] & 0xC0) == 0x80) {
            continue; /* not inside a character */
        }
        (void)snprintf(cut, sizeof cut, "%.*s\xE2\x80\xA6", (int)n, text);
        if (width_of(s, face, size_dp, cut) <= r.w) {
            return put_text(s, layer, face, size_dp, r, align, c, cut);
        }
    }
    return 0;
}

void add_command(scene *s, rect r, const char *command)
{
    if (s->n_commands < MAX_COMMANDS) {
        s->commands[s->n_commands++] = (command_area){r, command};
    }
}

/* ------------------------------------------------------------------ times as text */

typedef struct time_unit {
    const char *name;
    int64_t ns;
} time_unit;

static const time_unit units[] = {{"ns", 1}, {"\xC2\xB5s", 1000}, {"ms", 1000000}, {"s", 1000000000}};

static const time_unit *unit_for(double size_ns)
{
    const time_unit *u = &units[0];
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (size_ns >= (double)units[i].ns) {
            u = &units[i];
        }
    }
    return u;
}

static int decimals_for(double unit_ns, double resolution_ns, int most)
{
    int decimals = (int)ceil(log10(unit_ns / resolution_ns) - 1e-9);
    return decimals < 0 ? 0 : decimals > most ? most : decimals;
}

static int64_t power_of_ten(int n)
{
    int64_t power = 1;
    for (; n > 0; n--) {
        power *= 10;
    }
    return power;
}

/* A time as so many units and so many 10^-decimals of one, rounded to that. */
typedef struct unit_count {
    bool is_negative;
    int64_t whole, part;
} unit_count;

static unit_count count_units(moment t, int64_t unit_ns, int decimals)
{
    fine_ns fine = moment_fine(t);
    fine_ns size = fine < 0 ? -fine : fine;
    fine_ns unit = (fine_ns)unit_ns * MOMENT_PARTS;
    int64_t scale = power_of_ten(decimals);
    unit_count k = {.whole = (int64_t)(size / unit)};
    k.part = (int64_t)(((size % unit) * scale + unit / 2) / unit);
    if (k.part == scale) {
        k.whole++;
        k.part = 0;
    }
    k.is_negative = fine < 0 && (k.whole > 0 || k.part > 0);
    return k;
}

static const char *sign_of(const unit_count *k)
{
    return k->is_negative ? "\xE2\x88\x92" : "";
}

static void part_text(const unit_count *k, int decimals, char *out, size_t cap)
{
    out[0] = '\0';
    if (decimals > 0) {
        (void)snprintf(out, cap, ".%0*lld", decimals, (long long)k->part);
    }
}

/* "1 h 02 min 03.5 s": runs of hours read better this way than in thousands of seconds. */
static void long_label(moment t, int decimals, char *out, size_t cap)
{
    unit_count k = count_units(t, 1000000000, decimals);
    long long hours = k.whole / 3600;
    long long minutes = k.whole / 60 % 60;
    char part[24];
    part_text(&k, decimals, part, sizeof part);
    if (hours > 0) {
        (void)snprintf(out, cap, "%s%lld h %02lld min %02lld%s s", sign_of(&k), hours, minutes, (long long)k.whole % 60,
                       part);
    } else {
        (void)snprintf(out, cap, "%s%lld min %02lld%s s", sign_of(&k), minutes, (long long)k.whole % 60, part);
    }
}

void moment_in_unit(moment t, int64_t unit_ns, const char *unit, double resolution_ns, char *out, size_t cap)
{
    int decimals = decimals_for((double)unit_ns, fmax(resolution_ns, 1e-3), 12);
    unit_count k = count_units(t, unit_ns, decimals);
    char whole[48];
    char part[24];
    if (k.whole > 9999) {
        count_format((uint64_t)k.whole, whole, sizeof whole); /* in groups of three, where there are more than four */
    } else {
        (void)snprintf(whole, sizeof whole, "%lld", (long long)k.whole);
    }
    part_text(&k, decimals, part, sizeof part);
    (void)snprintf(out, cap, "%s%s%s %s", sign_of(&k), whole, part, unit);
}

void moment_label(moment t, double size_ns, double resolution_ns, char *out, size_t cap)
{
    const time_unit *u = unit_for(fmax(fabs(size_ns), resolution_ns));
    if (t.ns >= INT64_C(600000000000) || t.ns < -INT64_C(600000000000)) {
        long_label(t, decimals_for(1e9, fmax(resolution_ns, 1), 9), out, cap);
        return;
    }
    moment_in_unit(t, u->ns, u->name, resolution_ns, out, cap);
}

void time_label(double t_ns, double resolution_ns, char *out, size_t cap)
{
    moment_label(moment_about(t_ns), t_ns, resolution_ns, out, cap);
}
