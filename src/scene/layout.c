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
    double ns;
} time_unit;

static const time_unit units[] = {{"ns", 1}, {"\xC2\xB5s", 1e3}, {"ms", 1e6}, {"s", 1e9}};

static const time_unit *unit_for(double size_ns)
{
    const time_unit *u = &units[0];
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (size_ns >= units[i].ns) {
            u = &units[i];
        }
    }
    return u;
}

/* "1 h 02 min 03.5 s": runs of hours read better this way than in thousands of seconds. */
static void long_label(double t_ns, int decimals, char *out, size_t cap)
{
    double seconds = fabs(t_ns) / 1e9;
    double hours = floor(seconds / 3600);
    double minutes = floor((seconds - hours * 3600) / 60);
    double rest = seconds - hours * 3600 - minutes * 60;
    const char *sign = t_ns < 0 ? "\xE2\x88\x92" : "";
    if (hours > 0) {
        (void)snprintf(out, cap, "%s%.0f h %02.0f min %0*.*f s", sign, hours, minutes, decimals > 0 ? decimals + 3 : 2,
                       decimals, rest);
    } else {
        (void)snprintf(out, cap, "%s%.0f min %0*.*f s", sign, minutes, decimals > 0 ? decimals + 3 : 2, decimals, rest);
    }
}

/* Digits before the point in groups of three, where there are more than four. */
static void group_digits(double value, int decimals, char *out, size_t cap)
{
    char plain[64];
    (void)snprintf(plain, sizeof plain, "%.*f", decimals, value);
    size_t whole = strcspn(plain, ".");
    size_t n = 0;
    for (size_t i = 0; plain[i] && n + 5 < cap; i++) {
        if (whole > 4 && i > 0 && i < whole && (whole - i) % 3 == 0) {
            n += (size_t)snprintf(out + n, cap - n, "\xE2\x80\x89");
        }
        out[n++] = plain[i];
    }
    out[n] = '\0';
}

void time_in_unit(double t_ns, double unit_ns, const char *unit, double resolution_ns, char *out, size_t cap)
{
    int decimals = (int)ceil(log10(unit_ns / fmax(resolution_ns, 1e-3)) - 1e-9);
    decimals = decimals < 0 ? 0 : decimals > 12 ? 12 : decimals;
    double scale = pow(10, decimals);
    double value = round(t_ns / unit_ns * scale) / scale;
    char digits[80];
    group_digits(fabs(value), decimals, digits, sizeof digits);
    (void)snprintf(out, cap, "%s%s %s", value < 0 ? "\xE2\x88\x92" : "", digits, unit);
}

void time_label(double t_ns, double resolution_ns, char *out, size_t cap)
{
    time_label_like(t_ns, t_ns, resolution_ns, out, cap);
}

void time_label_like(double t_ns, double size_ns, double resolution_ns, char *out, size_t cap)
{
    const time_unit *u = unit_for(fmax(fabs(size_ns), resolution_ns));
    if (fabs(t_ns) >= 600e9) {
        int decimals = (int)ceil(log10(1e9 / fmax(resolution_ns, 1)) - 1e-9);
        decimals = decimals < 0 ? 0 : decimals > 9 ? 9 : decimals;
        double scale = pow(10, decimals);
        long_label(round(t_ns / 1e9 * scale) / scale * 1e9, decimals, out, cap);
        return;
    }
    time_in_unit(t_ns, u->ns, u->name, resolution_ns, out, cap);
}
