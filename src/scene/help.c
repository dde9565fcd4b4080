/* The keys and gestures, over everything: in groups, in as many columns as it takes. A row without a key is the heading
 * of those below it. */
#include "scene/internal.h"

enum { PAD_DP = 20, TITLE_DP = 28, GAP_DP = 24 };

void scene_set_help(scene *s, const char *const (*rows)[2], size_t n)
{
    s->help = rows;
    s->n_help = n;
}

/* How large it is written; the smaller where the window is. */
typedef struct help_size {
    double line_dp, key_dp, text_dp;
} help_size;

static const help_size SIZES[] = {{22, 11.5, 12}, {18, 10.5, 11}, {16, 9.5, 10}};

static bool is_heading(const scene *s, size_t i)
{
    return s->help[i][0][0] == '\0';
}

/* Lines that a row takes in a column that is filled up to `used`. Headings stand off what is above them. */
static float lines_of(const scene *s, size_t i, float used)
{
    return is_heading(s, i) && used > 0 ? 1.5F : 1;
}

/* Lines of a heading and all below it. */
static float group_lines(const scene *s, size_t heading)
{
    size_t end = heading + 1;
    while (end < s->n_help && !is_heading(s, end)) {
        end++;
    }
    return (float)(end - heading);
}

/* Groups are not torn apart, but those that are higher than a column. */
static bool needs_next(const scene *s, size_t i, float used, float most)
{
    float lines = lines_of(s, i, used);
    if (is_heading(s, i)) {
        float group = group_lines(s, i);
        lines += group <= most ? group - 1 : 1;
    }
    return used > 0 && used + lines > most;
}

/* @return how many columns of at most `most` lines it takes */
static size_t count_columns(const scene *s, float most)
{
    size_t n = 1;
    float used = 0;
    for (size_t i = 0; i < s->n_help; i++) {
        if (needs_next(s, i, used, most)) {
            n++;
            used = 0;
        }
        used += lines_of(s, i, used);
    }
    return n;
}

static float widest(scene *s, int side, double dp)
{
    float w = 0;
    for (size_t i = 0; i < s->n_help; i++) {
        if (!is_heading(s, i)) {
            w = fmaxf(w, ceilf(width_of(s, side ? FACE_SANS : FACE_MONO, dp, s->help[i][side])));
        }
    }
    return w;
}

typedef struct help_plan {
    help_size size;
    size_t columns;
    float most;         /* lines of a column */
    float key_w, col_w; /* px */
} help_plan;

/* @return false: not all of it has room */
static bool plan_help(scene *s, const help_size *size, help_plan *p)
{
    float room_h = s->m.frame.h - px(s, 4 * PAD_DP + TITLE_DP);
    float room_w = s->m.frame.w - px(s, 4 * PAD_DP);
    float line = px(s, size->line_dp);
    p->size = *size;
    p->most = floorf(room_h / line);
    p->columns = p->most >= 2 ? count_columns(s, p->most) : 1;
    for (float most = 2; most < p->most; most += 0.5F) { /* columns of one height */
        if (count_columns(s, most) == p->columns) {
            p->most = most;
        }
    }
    p->key_w = widest(s, 0, size->key_dp) + px(s, 14);
    p->col_w = p->key_w + widest(s, 1, size->text_dp);
    float gaps = px(s, GAP_DP) * (float)(p->columns - 1);
    bool fits = p->most >= 2 && p->col_w * (float)p->columns + gaps <= room_w;
    if (!fits) { /* as much as there is room for */
        p->columns = (size_t)fmaxf(1, floorf((room_w + px(s, GAP_DP)) / (p->col_w + px(s, GAP_DP))));
        p->most = fmaxf(floorf(room_h / line), 2);
        p->col_w = fminf(p->col_w, room_w);
    }
    return fits;
}

static void draw_help_row(scene *s, const help_plan *p, size_t i, float x, float y)
{
    float line = px(s, p->size.line_dp);
    rect r = {x, y, p->key_w - px(s, 8), line};
    if (is_heading(s, i)) {
        r.w = p->col_w;
        (void)put_text(s, LAYER_TOP, FACE_SANS_MEDIUM, p->size.text_dp, r, TEXT_LEFT, s->t->dim, s->help[i][1]);
        return;
    }
    (void)put_text(s, LAYER_TOP, FACE_MONO, p->size.key_dp, r, TEXT_LEFT, s->t->accent, s->help[i][0]);
    rect what = {x + p->key_w, y, p->col_w - p->key_w, line};
    (void)put_text(s, LAYER_TOP, FACE_SANS, p->size.text_dp, what, TEXT_LEFT, s->t->text, s->help[i][1]);
}

/* @return how many rows there was room for */
static size_t draw_help_rows(scene *s, const help_plan *p, float x, float y)
{
    size_t column = 0;
    float used = 0;
    for (size_t i = 0; i < s->n_help; i++) {
        if (needs_next(s, i, used, p->most)) {
            column++;
            used = 0;
        }
        if (column >= p->columns) {
            return i;
        }
        float lines = lines_of(s, i, used);
        float at = y + floorf((used + lines - 1) * px(s, p->size.line_dp));
        draw_help_row(s, p, i, x + (p->col_w + px(s, GAP_DP)) * (float)column, at);
        used += lines;
    }
    return s->n_help;
}

void draw_help(scene *s)
{
    if (!s->v.show_help || s->n_help == 0) {
        return;
    }
    help_plan p;
    size_t size = 0;
    while (!plan_help(s, &SIZES[size], &p) && size + 1 < sizeof SIZES / sizeof *SIZES) {
        size++;
    }
    float pad = px(s, PAD_DP);
    float w = p.col_w * (float)p.columns + px(s, GAP_DP) * (float)(p.columns - 1) + 2 * pad;
    float h = ceilf(p.most * px(s, p.size.line_dp)) + 2 * pad + px(s, TITLE_DP);
    rect r = {floorf((s->m.frame.w - w) / 2), floorf((s->m.frame.h - h) / 2), w, h};
    draw_rect(s->l, LAYER_OVERLAY, s->m.frame, rgba_with_alpha(s->t->ground, 150));
    draw_round(s->l, LAYER_OVERLAY, r, px(s, 6), s->t->raised, fmaxf(1, px(s, 1)), s->t->line);
    rect title = {r.x + pad, r.y + pad - px(s, 6), w - 2 * pad, px(s, 22)};
    (void)put_text(s, LAYER_TOP, FACE_SANS_BOLD, 14, title, TEXT_LEFT, s->t->text, "Keys");
    size_t shown = draw_help_rows(s, &p, r.x + pad, r.y + pad + px(s, TITLE_DP));
    const char *hint = shown < s->n_help ? "all of them: marey help keys" : "Escape closes";
    (void)put_text(s, LAYER_TOP, FACE_SANS, 11, title, TEXT_RIGHT, s->t->dim, hint);
}
