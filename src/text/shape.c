#include "text/shape.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static const hb_feature_t features[] = {
    {HB_TAG('t', 'n', 'u', 'm'), 1, HB_FEATURE_GLOBAL_START, HB_FEATURE_GLOBAL_END},
    {HB_TAG('l', 'i', 'g', 'a'), 0, HB_FEATURE_GLOBAL_START, HB_FEATURE_GLOBAL_END},
    {HB_TAG('c', 'l', 'i', 'g'), 0, HB_FEATURE_GLOBAL_START, HB_FEATURE_GLOBAL_END},
    {HB_TAG('c', 'a', 'l', 't'), 0, HB_FEATURE_GLOBAL_START, HB_FEATURE_GLOBAL_END},
};

/* A character with where it stands, the font that will draw it and its script. */
typedef struct unit {
    uint32_t code;
    uint32_t offset;
    unsigned font;
    hb_script_t script; /* COMMON and INHERITED go with their neighbours */
} unit;

void run_cache_init(run_cache *c)
{
    memset(c, 0, sizeof *c);
    c->buffer = hb_buffer_create();
}

static void drop_runs(run_cache *c)
{
    for (int i = 0; i < FACE_COUNT; i++) {
        intern_deinit(&c->strings[i]);
        free(c->runs[i]);
        c->runs[i] = NULL;
        c->n[i] = c->cap[i] = 0;
    }
    arena_deinit(&c->memory);
    c->n_glyphs = 0;
}

void run_cache_deinit(run_cache *c)
{
    drop_runs(c);
    hb_buffer_destroy(c->buffer);
    free(c->glyphs);
    free(c->clusters);
    memset(c, 0, sizeof *c);
}

void run_cache_trim(run_cache *c)
{
    if (c->n_glyphs > RUN_CACHE_GLYPHS) {
        drop_runs(c);
    }
}

/* A character that belongs to the one before it: marks, joiners, variation selectors. */
static bool extends(uint32_t code)
{
    if (code < 0x300) {
        return false;
    }
    hb_unicode_general_category_t category = hb_unicode_general_category(hb_unicode_funcs_get_default(), code);
    return category == HB_UNICODE_GENERAL_CATEGORY_NON_SPACING_MARK ||
           category == HB_UNICODE_GENERAL_CATEGORY_ENCLOSING_MARK ||
           category == HB_UNICODE_GENERAL_CATEGORY_SPACING_MARK || code == 0x200d || code == 0x200c;
}

static unit next_unit(fonts *f, unsigned preferred, const unit *before, const char *s, size_t n, size_t *i)
{
    unit u = {.offset = (uint32_t)*i};
    u.code = utf8_next(s, n, i);
    if (u.code < 0x20 || u.code == 0x7f) {
        u.code = ' '; /* a control character has no picture */
    }
    bool joins = before && (extends(u.code) || before->code == 0x200d);
    u.font = joins ? before->font : fonts_for_code(f, preferred, u.code);
    u.script = u.code < 0x80 ? HB_SCRIPT_COMMON : hb_unicode_script(hb_unicode_funcs_get_default(), u.code);
    if ((u.code | 0x20) >= 'a' && (u.code | 0x20) <= 'z') {
        u.script = HB_SCRIPT_LATIN;
    }
    return u;
}

static bool is_neutral(hb_script_t script)
{
    return script == HB_SCRIPT_COMMON || script == HB_SCRIPT_INHERITED || script == HB_SCRIPT_UNKNOWN;
}

static void push_clusters(run_cache *c, const font *o, const hb_glyph_info_t *info, const hb_glyph_position_t *pos,
                          unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        float advance = (float)pos[i].x_advance / o->units_per_em;
        shaped_cluster *last = c->n_clusters > 0 ? &c->clusters[c->n_clusters - 1] : NULL;
        if (last && last->offset == info[i].cluster) {
            last->advance += advance;
        } else {
            VEC_PUSH(c->clusters, c->n_clusters, c->cap_clusters, ((shaped_cluster){info[i].cluster, advance}));
        }
    }
}

/* Shape what stands in the buffer and append it at `x`. @return the segment's advance */
static float shape_segment(run_cache *c, const fonts *f, unsigned font_index, hb_script_t script, float x)
{
    const font *o = &f->list[font_index];
    bool han = script == HB_SCRIPT_HAN;
    hb_buffer_set_content_type(c->buffer, HB_BUFFER_CONTENT_TYPE_UNICODE);
    hb_buffer_set_script(c->buffer, is_neutral(script) ? HB_SCRIPT_LATIN : script);
    hb_direction_t direction = hb_script_get_horizontal_direction(hb_buffer_get_script(c->buffer));
    hb_buffer_set_direction(c->buffer, direction == HB_DIRECTION_RTL ? HB_DIRECTION_RTL : HB_DIRECTION_LTR);
    hb_buffer_set_language(c->buffer, hb_language_from_string(han ? "zh-Hans" : "en", -1));
    hb_shape(o->hb, c->buffer, features, sizeof features / sizeof features[0]);
    unsigned n = 0;
    const hb_glyph_info_t *info = hb_buffer_get_glyph_infos(c->buffer, &n);
    const hb_glyph_position_t *pos = hb_buffer_get_glyph_positions(c->buffer, &n);
    float start = x;
    for (unsigned i = 0; i < n; i++) {
        shaped_glyph g = {(uint16_t)font_index, (uint16_t)info[i].codepoint, x, 0};
        g.x += (float)pos[i].x_offset / o->units_per_em;
        g.y = (float)pos[i].y_offset / o->units_per_em;
        VEC_PUSH(c->glyphs, c->n_scratch, c->cap_glyphs, g);
        x += (float)pos[i].x_advance / o->units_per_em;
    }
    push_clusters(c, o, info, pos, n);
    hb_buffer_clear_contents(c->buffer);
    return x - start;
}

static float shape_all(run_cache *c, fonts *f, unsigned preferred, const char *s, size_t n)
{
    float x = 0;
    unit before = {.script = HB_SCRIPT_COMMON};
    hb_script_t script = HB_SCRIPT_COMMON;
    bool any = false;
    for (size_t i = 0; i < n;) {
        unit u = next_unit(f, preferred, any ? &before : NULL, s, n, &i);
        bool other_script = !is_neutral(u.script) && !is_neutral(script) && u.script != script;
        if (any && (u.font != before.font || other_script)) {
            x += shape_segment(c, f, before.font, script, x);
            script = HB_SCRIPT_COMMON;
        }
        script = is_neutral(u.script) ? script : u.script;
        hb_buffer_add(c->buffer, u.code, u.offset);
        before = u;
        any = true;
    }
    return any ? x + shape_segment(c, f, before.font, script, x) : 0;
}

static int by_offset(const void *a, const void *b)
{
    const shaped_cluster *x = a;
    const shaped_cluster *y = b;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

/* A right-to-left segment comes in the order of the eye; cutting wants the order of the bytes. */
static void sort_clusters(run_cache *c)
{
    for (size_t i = 1; i < c->n_clusters; i++) {
        if (c->clusters[i].offset < c->clusters[i - 1].offset) {
            qsort(c->clusters, c->n_clusters, sizeof *c->clusters, by_offset);
            return;
        }
    }
}

static void *keep(arena *a, const void *items, size_t n, size_t size)
{
    void *copy = arena_alloc(a, n * size + 1);
    if (n > 0) {
        memcpy(copy, items, n * size);
    }
    return copy;
}

static shaped_run make_run(run_cache *c, fonts *f, text_face face, const char *s, size_t n)
{
    c->n_scratch = c->n_clusters = 0;
    shaped_run run = {.advance = shape_all(c, f, fonts_of_face(f, face), s, n)};
    sort_clusters(c);
    run.glyphs = keep(&c->memory, c->glyphs, c->n_scratch, sizeof *c->glyphs);
    run.n_glyphs = (uint32_t)c->n_scratch;
    run.clusters = keep(&c->memory, c->clusters, c->n_clusters, sizeof *c->clusters);
    run.n_clusters = (uint32_t)c->n_clusters;
    c->n_glyphs += c->n_scratch + 4;
    return run;
}

shaped_run run_shape(run_cache *c, fonts *f, text_face face, const char *s, size_t n)
{
    n = n < RUN_MAX_BYTES ? n : RUN_MAX_BYTES;
    face = (unsigned)face < FACE_COUNT ? face : FACE_SANS;
    uint32_t id = intern_put(&c->strings[face], s, n);
    if (id == c->n[face]) {
        shaped_run run = make_run(c, f, face, s, n);
        VEC_PUSH(c->runs[face], c->n[face], c->cap[face], run);
    }
    return c->runs[face][id];
}
