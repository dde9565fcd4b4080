#include "text/fonts.h"

#include <string.h>

#include FT_MULTIPLE_MASTERS_H
#include FT_TRUETYPE_TABLES_H
#include <hb-ot.h>

#include "base/mem.h"

static const struct {
    const char *family, *generic;
    int weight;
} named[FACE_COUNT] = {
    [FACE_SANS] = {"Inter", "sans-serif", FC_WEIGHT_REGULAR},
    [FACE_SANS_MEDIUM] = {"Inter", "sans-serif", FC_WEIGHT_MEDIUM},
    [FACE_SANS_BOLD] = {"Inter", "sans-serif", FC_WEIGHT_DEMIBOLD},
    [FACE_MONO] = {"JetBrains Mono", "monospace", FC_WEIGHT_REGULAR},
};

/* ---- fontconfig ---- */

/* Only outlines: a bitmap font has no size of its own choice, a colour font no coverage. */
static FcPattern *match(fonts *f, const char *family, const char *generic, int weight, const FcCharSet *wanted)
{
    FcPattern *p = FcPatternCreate();
    if (!p) {
        return NULL;
    }
    if (family) {
        FcPatternAddString(p, FC_FAMILY, (const FcChar8 *)family);
    }
    FcPatternAddString(p, FC_FAMILY, (const FcChar8 *)generic);
    FcPatternAddInteger(p, FC_WEIGHT, weight);
    FcPatternAddInteger(p, FC_SLANT, FC_SLANT_ROMAN);
    FcPatternAddBool(p, FC_SCALABLE, FcTrue);
    FcPatternAddBool(p, FC_OUTLINE, FcTrue);
    FcPatternAddBool(p, FC_COLOR, FcFalse);
    if (wanted) {
        FcPatternAddCharSet(p, FC_CHARSET, wanted);
        FcPatternAddString(p, FC_LANG, (const FcChar8 *)"zh-cn");
    }
    FcConfigSubstitute(f->config, p, FcMatchPattern);
    FcDefaultSubstitute(p);
    FcResult result;
    FcPattern *found = FcFontMatch(f->config, p, &result);
    FcPatternDestroy(p);
    return found;
}

static const char *pattern_string(const FcPattern *p, const char *object)
{
    FcChar8 *s = NULL;
    return p && FcPatternGetString(p, object, 0, &s) == FcResultMatch ? (const char *)s : NULL;
}

static int pattern_index(const FcPattern *p)
{
    int index = 0;
    return FcPatternGetInteger(p, FC_INDEX, 0, &index) == FcResultMatch ? index : 0;
}

/* ---- one font ---- */

/* A variable font serves a weight by its axes: fontconfig says "wght=600", both libraries are set to that. */
static void set_variations(font *o)
{
    const char *text = pattern_string(o->pattern, FC_FONT_VARIATIONS);
    FT_MM_Var *axes = NULL;
    if (!text || FT_Get_MM_Var(o->ft, &axes) != 0) {
        return;
    }
    FT_Fixed coords[16];
    unsigned n_axes = axes->num_axis < 16 ? axes->num_axis : 16;
    for (unsigned i = 0; i < n_axes; i++) {
        coords[i] = axes->axis[i].def;
    }
    for (const char *s = text; s && *s;) {
        const char *end = strchr(s, ',');
        hb_variation_t v;
        if (hb_variation_from_string(s, end ? (int)(end - s) : -1, &v)) {
            for (unsigned i = 0; i < n_axes; i++) {
                coords[i] = axes->axis[i].tag == v.tag ? (FT_Fixed)(v.value * 65536.0F) : coords[i];
            }
            hb_font_set_variations(o->hb, &v, 1);
        }
        s = end ? end + 1 : NULL;
    }
    FT_Set_Var_Design_Coordinates(o->ft, n_axes, coords);
    FT_Done_MM_Var(o->ft->glyph->library, axes);
}

/* The height of capitals: from the font's own table, else as high as most fonts have it. */
static void read_metrics(font *o)
{
    o->units_per_em = (float)o->ft->units_per_EM;
    o->ascent = (float)o->ft->ascender / o->units_per_em;
    o->descent = -(float)o->ft->descender / o->units_per_em;
    const TT_OS2 *os2 = FT_Get_Sfnt_Table(o->ft, FT_SFNT_OS2);
    bool has_cap = os2 && os2->version >= 2 && os2->sCapHeight > 0;
    o->cap_height = has_cap ? (float)os2->sCapHeight / o->units_per_em : 0.72F;
}

static void font_close(font *o)
{
    if (o->ft) {
        FT_Done_Face(o->ft);
    }
    if (o->hb) {
        hb_font_destroy(o->hb);
    }
    if (o->blob) {
        hb_blob_destroy(o->blob);
    }
    o->ft = NULL;
    o->hb = NULL;
    o->blob = NULL;
}

static bool font_load(fonts *f, font *o)
{
    const char *path = pattern_string(o->pattern, FC_FILE);
    int index = pattern_index(o->pattern);
    o->blob = path ? hb_blob_create_from_file_or_fail(path) : NULL;
    if (!o->blob) {
        return false;
    }
    unsigned size = 0;
    const char *bytes = hb_blob_get_data(o->blob, &size);
    if (FT_New_Memory_Face(f->ft, (const FT_Byte *)bytes, (FT_Long)size, index, &o->ft) != 0) {
        return false;
    }
    if (!FT_IS_SCALABLE(o->ft) || o->ft->units_per_EM == 0) {
        return false;
    }
    hb_face_t *face = hb_face_create(o->blob, (unsigned)index & 0xffff);
    o->hb = hb_font_create(face);
    hb_face_destroy(face);
    hb_font_set_scale(o->hb, o->ft->units_per_EM, o->ft->units_per_EM);
    set_variations(o);
    read_metrics(o);
    return hb_face_get_glyph_count(face) > 0;
}

static bool font_open(fonts *f, font *o)
{
    if (o->state == FONT_CLOSED) {
        o->state = font_load(f, o) ? FONT_OPEN : FONT_FAILED;
        if (o->state == FONT_FAILED) {
            font_close(o);
        }
    }
    return o->state == FONT_OPEN;
}

/* ---- the set ---- */

static void note_substitute(const fonts *f, text_face face, diag *d)
{
    const char *family = pattern_string(f->list[face].pattern, FC_FAMILY);
    if (family && strcmp(family, named[face].family) != 0) {
        diag_note(d, NULL, DIAG_NO_OFFSET, "the font %s is not installed; %s serves instead", named[face].family,
                  family);
    }
}

/* When what fontconfig prefers is damaged, any font of the system that opens will do. */
static bool open_any(fonts *f, font *o)
{
    FcFontSet *all = FcConfigGetFonts(f->config, FcSetSystem);
    for (int i = 0; all && i < all->nfont && i < 256; i++) {
        if (o->pattern) {
            FcPatternDestroy(o->pattern);
        }
        o->pattern = FcPatternDuplicate(all->fonts[i]);
        o->state = FONT_CLOSED;
        if (font_open(f, o)) {
            return true;
        }
    }
    return false;
}

marey_status fonts_init(fonts *f, diag *d)
{
    memset(f, 0, sizeof *f);
    f->n = FACE_COUNT;
    f->config = FcInitLoadConfigAndFonts();
    if (!f->config) {
        return diag_error(d, MAREY_FONT, NULL, DIAG_NO_OFFSET, "fontconfig could not be started");
    }
    if (FT_Init_FreeType(&f->ft) != 0) {
        return diag_error(d, MAREY_FONT, NULL, DIAG_NO_OFFSET, "FreeType could not be started");
    }
    for (text_face face = FACE_SANS; face < FACE_COUNT; face++) {
        f->list[face].pattern = match(f, named[face].family, named[face].generic, named[face].weight, NULL);
    }
    if (!font_open(f, &f->list[FACE_SANS]) && !open_any(f, &f->list[FACE_SANS])) {
        return diag_error(d, MAREY_FONT, NULL, DIAG_NO_OFFSET,
                          "no usable font: install Inter (Debian: fonts-inter) or any other outline font");
    }
    note_substitute(f, FACE_SANS, d);
    note_substitute(f, FACE_MONO, d);
    return MAREY_OK;
}

void fonts_deinit(fonts *f)
{
    for (unsigned i = 0; i < f->n; i++) {
        font_close(&f->list[i]);
        if (f->list[i].pattern) {
            FcPatternDestroy(f->list[i].pattern);
        }
    }
    if (f->ft) {
        FT_Done_FreeType(f->ft);
    }
    if (f->config) {
        FcConfigDestroy(f->config);
    }
    map64_deinit(&f->fallback);
    memset(f, 0, sizeof *f);
}

unsigned fonts_of_face(fonts *f, text_face face)
{
    return (unsigned)face < FACE_COUNT && font_open(f, &f->list[face]) ? (unsigned)face : FACE_SANS;
}

static bool has_glyph(const font *o, uint32_t code)
{
    hb_codepoint_t glyph = 0;
    return o->state == FONT_OPEN && hb_font_get_nominal_glyph(o->hb, code, &glyph) && glyph != 0;
}

/* One more file for a character that no open font has. @return its index or FONTS_NONE */
static unsigned open_fallback(fonts *f, unsigned preferred, uint32_t code)
{
    if (f->n >= FONTS_MAX) {
        return FONTS_NONE;
    }
    FcCharSet *wanted = FcCharSetCreate();
    FcCharSetAddChar(wanted, code);
    font *o = &f->list[f->n];
    memset(o, 0, sizeof *o);
    o->pattern = match(f, NULL, named[preferred < FACE_COUNT ? preferred : 0].generic, FC_WEIGHT_REGULAR, wanted);
    FcCharSetDestroy(wanted);
    if (o->pattern && font_open(f, o) && has_glyph(o, code)) {
        return f->n++;
    }
    font_close(o);
    if (o->pattern) {
        FcPatternDestroy(o->pattern);
    }
    memset(o, 0, sizeof *o);
    return FONTS_NONE;
}

static unsigned find_fallback(fonts *f, unsigned preferred, uint32_t code)
{
    for (unsigned i = FACE_COUNT; i < f->n; i++) {
        if (has_glyph(&f->list[i], code)) {
            return i;
        }
    }
    return open_fallback(f, preferred, code);
}

unsigned fonts_for_code(fonts *f, unsigned preferred, uint32_t code)
{
    if (has_glyph(&f->list[preferred], code)) {
        return preferred;
    }
    const uint64_t *known = map64_get(&f->fallback, code);
    unsigned index = known ? (unsigned)*known : find_fallback(f, preferred, code);
    if (!known) {
        *map64_put(&f->fallback, code) = index;
    }
    return index == FONTS_NONE ? preferred : index;
}
