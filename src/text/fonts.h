/*
 * The font files: which face serves which text, found by fontconfig and opened when first needed.
 *
 * Faces 0 .. FACE_COUNT - 1 are the four named ones; the others are fallbacks, opened for characters that a named face
 * lacks. All measures are in em (1 = the font size), so that one shaped run serves every size.
 * Owner: the text context. Thread: the drawing thread.
 */
#ifndef MAREY_TEXT_FONTS_H
#define MAREY_TEXT_FONTS_H

#include <stdbool.h>
#include <stdint.h>

#include <fontconfig/fontconfig.h>
#include <ft2build.h>
#include FT_FREETYPE_H
#include <hb.h>

#include "base/diag.h"
#include "base/hash.h"
#include "text/text.h"

enum { FONTS_MAX = 48, FONTS_NONE = FONTS_MAX };

typedef enum font_state { FONT_CLOSED, FONT_OPEN, FONT_FAILED } font_state;

typedef struct font {
    font_state state;
    FcPattern *pattern; /* what fontconfig chose; owned */
    FT_Face ft;
    hb_font_t *hb;    /* scaled to units_per_em */
    hb_blob_t *blob;  /* the file's bytes, which ft reads too */
    uint32_t size_64; /* the size that ft is set to, 1/64 px */
    float units_per_em;
    float ascent, descent, cap_height; /* em; descent is positive */
} font;

typedef struct fonts {
    FcConfig *config;
    FT_Library ft;
    font list[FONTS_MAX];
    unsigned n;
    map64 fallback; /* code point -> font index, or FONTS_NONE */
} fonts;

/** Find the named faces and open the sans one. Errors: FONT when no usable font exists. */
marey_status fonts_init(fonts *f, diag *d);
void fonts_deinit(fonts *f);

/** The font to use for a face; opens it. A face that can't be opened is served by the sans one. */
unsigned fonts_of_face(fonts *f, text_face face);

/** The font that has `code`: `preferred`, else a fallback; `preferred` again (its box glyph) when none has it. */
unsigned fonts_for_code(fonts *f, unsigned preferred, uint32_t code);

#endif
