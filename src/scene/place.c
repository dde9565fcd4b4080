/* Where rows lie: heights from one number, a rank's row, so that everything grows and shrinks together. */
#include "scene/internal.h"

typedef struct height_rule {
    double share; /* of a rank's row */
    double min_dp, max_dp;
} height_rule;

static const height_rule rules[] = {
    [ROW_GROUP] = {0.85, 15, 36}, [ROW_RANK] = {1, 0, 400},      [ROW_LANE] = {0.85, 15, 60},
    [ROW_TRACK] = {0.75, 13, 40}, [ROW_COUNTER] = {1.3, 22, 90},
};

static const double OPEN_RANK_DP = 15; /* it heads its lanes: its name must fit */
static const double GROUP_GAP_DP = 8;  /* between an open group and the next one */
static const double LOWEST_UNIT_DP = 1.0 / 64;

double rank_unit_default_dp(view_layout layout)
{
    return layout == LAYOUT_MAREY ? 38 : 28;
}

/* Few rows are given more than they need, so that a picture of two ranks is not mostly empty; beyond this they would
 * be walls. */
static double rank_unit_most_dp(view_layout layout)
{
    return layout == LAYOUT_MAREY ? 200 : 64;
}

static double row_height_dp(const scene_row *row, double unit_dp)
{
    const height_rule *rule = &rules[row->kind];
    double least = row->kind == ROW_RANK && row->is_open ? OPEN_RANK_DP : rule->min_dp;
    return fmin(fmax(rule->share * unit_dp, least), rule->max_dp);
}

static double gap_before_dp(const scene *s, size_t i, double unit_dp)
{
    const scene_row *rows = s->tree.rows;
    if (i == 0 || rows[i].indent != 0 || rows[i - 1].indent == 0) {
        return 0;
    }
    return unit_dp >= 8 ? GROUP_GAP_DP : fmin(GROUP_GAP_DP, 4);
}

static double total_dp(const scene *s, double unit_dp)
{
    double sum = 0;
    for (size_t i = 0; i < s->tree.n_rows; i++) {
        sum += gap_before_dp(s, i, unit_dp) + row_height_dp(&s->tree.rows[i], unit_dp);
    }
    return sum;
}

/* The largest rank row, up to a most, with which everything fits; rows with a least height may still not. */
static double fitting_unit_dp(const scene *s, double room_dp)
{
    double high = rank_unit_most_dp(s->v.layout);
    if (total_dp(s, high) <= room_dp) {
        return high;
    }
    double low = LOWEST_UNIT_DP;
    for (int i = 0; i < 24; i++) {
        double middle = 0.5 * (low + high);
        if (total_dp(s, middle) <= room_dp) {
            low = middle;
        } else {
            high = middle;
        }
    }
    /* Opened lanes have a least height. Where they don't fit anyway, ranks keep a readable one and the rows scroll. */
    if (low <= LOWEST_UNIT_DP * 1.01 && total_dp(s, low) > room_dp) {
        return fmin(20, rank_unit_default_dp(s->v.layout));
    }
    return low;
}

size_t row_at(const scene *s, double y)
{
    size_t low = 0;
    size_t high = s->tree.n_rows;
    while (low < high) { /* the first row that ends after y */
        size_t middle = low + (high - low) / 2;
        const scene_row *row = &s->tree.rows[middle];
        if (row->y + row->h <= y) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < s->tree.n_rows && s->tree.rows[low].y <= y ? low : SIZE_MAX;
}

static void find_visible(scene *s)
{
    const row_tree *t = &s->tree;
    double top = s->scroll;
    double bottom = s->scroll + (double)s->m.plot.h;
    size_t low = 0;
    while (low < t->n_rows && t->rows[low].y + t->rows[low].h <= top) {
        low++;
    }
    size_t end = low;
    while (end < t->n_rows && t->rows[end].y < bottom) {
        end++;
    }
    s->first_visible = low;
    s->end_visible = end;
}

/* Rows of one kind are equally high, so that all of them hold a label or none does; very low ones share pixels. */
static double whole_px(double h)
{
    return h >= 4 ? floor(h) : h;
}

void place_rows(scene *s)
{
    row_tree *t = &s->tree;
    double scale = (double)s->m.s;
    double unit = s->v.row_px > 0 ? s->v.row_px : fitting_unit_dp(s, (double)s->m.plot.h / scale);
    double y = 0;
    for (size_t i = 0; i < t->n_rows; i++) {
        double gap = gap_before_dp(s, i, unit) * scale;
        double h = whole_px(row_height_dp(&t->rows[i], unit) * scale);
        y += gap;
        t->rows[i].y = y;
        t->rows[i].h = h;
        y += h;
    }
    t->unit_dp = unit;
    s->frame.unit_px = unit;
    s->frame.content_px = y / scale;
    s->frame.unit_px = unit;
    s->frame.n_rows = t->n_rows;
    double highest = fmax(0, y - (double)s->m.plot.h);
    s->scroll = fmin(fmax(s->v.scroll_px * scale, 0), highest);
    find_visible(s);
    s->frame.n_rows_visible = s->end_visible - s->first_visible;
}
