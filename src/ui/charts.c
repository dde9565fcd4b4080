/* Small charts: bars and a line, each value where it is, no smoothing. */
#include "ui/internal.h"

#include <math.h>
#include <string.h>

typedef struct bars {
    uint32_t *counts;
    bool *marked;
    size_t n;
    rgba colour;
} bars;

/* A bin that holds anything is at least 2 px high, or a lone outlier would not be seen. */
static void paint_bars(ui *u, draw_list *l, rect r, void *ctx)
{
    const bars *b = ctx;
    uint32_t most = 1;
    for (size_t i = 0; i < b->n; i++) {
        most = b->counts[i] > most ? b->counts[i] : most;
    }
    float floor_y = r.y + r.h - 1;
    draw_hline(l, ui_layer(u), r.x, r.x + r.w, floor_y, u->t->line);
    float gap = r.w / (float)b->n >= 4 ? 1 : 0;
    for (size_t i = 0; i < b->n; i++) {
        if (b->counts[i] == 0) {
            continue;
        }
        float x0 = r.x + floorf(r.w * (float)i / (float)b->n);
        float x1 = r.x + floorf(r.w * (float)(i + 1) / (float)b->n);
        float h = fmaxf(ui_px(u, 2), floorf((r.h - 1) * (float)b->counts[i] / (float)most));
        rgba c = b->marked && b->marked[i] ? u->t->severity : b->colour;
        draw_rect(l, ui_layer(u), (rect){x0, floor_y - h, fmaxf(1, x1 - x0 - gap), h}, c);
    }
}

static void axis_line(ui *u, const char *low, const char *high)
{
    ui_style s = {.w = UI_SIZE_FILL, .h = UI_SIZE_PX(18), .axis = UI_ROW};
    (void)ui_push(u, "ends", NULL, &s);
    ui_label(u, low, (ui_text_style){FACE_SANS, 11, UI_DIM, TEXT_LEFT});
    ui_spring(u);
    ui_label(u, high, (ui_text_style){FACE_SANS, 11, UI_DIM, TEXT_RIGHT});
    ui_pop(u);
}

void ui_histogram_show(ui *u, const char *id, const ui_histogram *h, float height_dp)
{
    if (h->n == 0) {
        return;
    }
    ui_style column = {.w = UI_SIZE_FILL, .h = UI_SIZE_CHILDREN};
    (void)ui_push(u, "chart", id, &column);
    ui_style s = {.w = UI_SIZE_FILL, .h = UI_SIZE_PX(height_dp)};
    ui_box_id box = ui_push(u, "histogram", "bars", &s);
    ui_describe(u, box, h->label ? h->label : "");
    bars *b = ui_memory(u, sizeof *b);
    *b = (bars){.n = h->n, .colour = h->colour, .counts = ui_memory(u, h->n * sizeof *b->counts)};
    memcpy(b->counts, h->counts, h->n * sizeof *b->counts);
    if (h->marked) {
        b->marked = ui_memory(u, h->n * sizeof *b->marked);
        memcpy(b->marked, h->marked, h->n * sizeof *b->marked);
    }
    ui_set_paint(u, box, paint_bars, b);
    ui_pop(u);
    axis_line(u, h->low, h->high);
    ui_pop(u);
}

typedef struct spark {
    double *values;
    size_t n;
    rgba colour;
} spark;

/* More values than pixels: each column spans from the least to the largest of its values, so that no peak is lost. */
static void paint_spark(ui *u, draw_list *l, rect r, void *ctx)
{
    const spark *k = ctx;
    double low = k->values[0];
    double high = k->values[0];
    for (size_t i = 0; i < k->n; i++) {
        low = fmin(low, k->values[i]);
        high = fmax(high, k->values[i]);
    }
    double span = high > low ? high - low : 1;
    size_t columns = (size_t)r.w;
    float last_x = 0;
    float last_y = 0;
    for (size_t c = 0, i = 0; c < columns && i < k->n; c++) {
        size_t end = k->n <= columns ? i + 1 : (c + 1) * k->n / columns;
        double a = k->values[i];
        double b = a;
        for (; i < end; i++) {
            a = fmin(a, k->values[i]);
            b = fmax(b, k->values[i]);
        }
        float x = k->n <= columns && k->n > 1 ? r.x + (r.w - 1) * (float)c / (float)(k->n - 1) : r.x + (float)c;
        float y0 = r.y + r.h - 1 - (float)((b - low) / span) * (r.h - 2);
        float y1 = r.y + r.h - 1 - (float)((a - low) / span) * (r.h - 2);
        if (c > 0) {
            draw_segment(l, ui_layer(u), last_x, last_y, x, y0, fmaxf(1, ui_px(u, 1.25)), k->colour);
        }
        if (y1 > y0 + 1) {
            draw_vline(l, ui_layer(u), x, y0, y1, k->colour);
        }
        last_x = x;
        last_y = y1;
    }
}

void ui_sparkline(ui *u, const char *id, const double *values, size_t n, rgba colour, float height_dp)
{
    ui_style s = {.w = UI_SIZE_FILL, .h = UI_SIZE_PX(height_dp)};
    ui_box_id box = ui_push(u, "sparkline", id, &s);
    spark *k = ui_memory(u, sizeof *k);
    *k = (spark){.values = ui_memory(u, (n + 1) * sizeof *k->values), .colour = colour};
    for (size_t i = 0; i < n; i++) {
        if (isfinite(values[i])) {
            k->values[k->n++] = values[i];
        }
    }
    if (k->n > 0) {
        ui_set_paint(u, box, paint_spark, k);
    }
    ui_pop(u);
}
