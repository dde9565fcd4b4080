/*
 * Shaping: a string in a face becomes glyphs with positions, in em, with what is needed to cut it between letters.
 *
 * A run is a chain of segments, each of one font and one script, shaped by HarfBuzz and set side by side. Digits are
 * tabular; ligatures and contextual forms are off, because a name must show the characters that it has.
 * Owner: the text context. Thread: the drawing thread.
 */
#ifndef MAREY_TEXT_SHAPE_H
#define MAREY_TEXT_SHAPE_H

#include "base/hash.h"
#include "base/mem.h"
#include "text/fonts.h"

/* All lengths in em; y points up. */
typedef struct shaped_glyph {
    uint16_t font;
    uint16_t glyph;
    float x, y;
} shaped_glyph;

/* A cluster: the least that may stand alone when a string is cut. */
typedef struct shaped_cluster {
    uint32_t offset; /* byte offset of its first byte */
    float advance;
} shaped_cluster;

typedef struct shaped_run {
    const shaped_glyph *glyphs;
    uint32_t n_glyphs;
    const shaped_cluster *clusters; /* ascending by offset */
    uint32_t n_clusters;
    float advance; /* the sum of the clusters' advances */
} shaped_run;

/* Every string that was shaped lately, by face. Dropped as a whole when it has grown too large. */
typedef struct run_cache {
    arena memory;
    intern strings[FACE_COUNT];
    shaped_run *runs[FACE_COUNT];
    size_t n[FACE_COUNT], cap[FACE_COUNT];
    size_t n_glyphs;
    hb_buffer_t *buffer;
    shaped_glyph *glyphs; /* scratch */
    size_t n_scratch, cap_glyphs;
    shaped_cluster *clusters;
    size_t n_clusters, cap_clusters;
} run_cache;

enum { RUN_MAX_BYTES = 1 << 16, RUN_CACHE_GLYPHS = 1 << 19 };

void run_cache_init(run_cache *c);
void run_cache_deinit(run_cache *c);
/** Drop all runs when they have grown beyond RUN_CACHE_GLYPHS. */
void run_cache_trim(run_cache *c);

/** The run of a string; at most RUN_MAX_BYTES of it. Valid until run_cache_trim. */
shaped_run run_shape(run_cache *c, fonts *f, text_face face, const char *s, size_t n);

#endif
