/*
 * What the text formats of graphs share: pieces of the input, brackets skipped without recursion, operator paths as JAX
 * and PyTorch write them, and sizes of tensor types. Nothing here allocates but module_stack_split(). Thread: any.
 */
#ifndef MAREY_READERS_GRAPH_TEXT_H
#define MAREY_READERS_GRAPH_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "graph/builder.h"

/* A piece of the input (or of an arena); not terminated. */
typedef struct gspan {
    const char *s;
    size_t n;
} gspan;

static inline bool gspan_is(gspan a, const char *text)
{
    size_t n = strlen(text);
    return a.n == n && memcmp(a.s, text, n) == 0;
}
static inline bool gspan_equal(gspan a, gspan b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.s, b.s, a.n) == 0);
}
static inline bool gspan_starts(gspan a, const char *text)
{
    size_t n = strlen(text);
    return a.n >= n && memcmp(a.s, text, n) == 0;
}
static inline bool gspan_has(gspan a, const char *text)
{
    return a.s && a.n && memmem(a.s, a.n, text, strlen(text));
}
static inline gspan gspan_of(const char *text)
{
    return (gspan){text, strlen(text)};
}
/** Without blanks at both ends. */
gspan gspan_trim(gspan a);
/** Decimal digits only. @return false for anything else, and beyond 18 digits */
bool gspan_u64(gspan a, uint64_t *v);

/** Behind the string that begins at `p` (a quote); `end` where it does not end. */
const char *text_skip_string(const char *p, const char *end);
/** Behind the bracket that closes the one at `p`, any of ( [ {, also < when `angles`; strings are skipped. `end` where
 *  there is none. One counter, not a stack: brackets of different kinds are not told apart. */
const char *text_skip_balanced(const char *p, const char *end, bool angles);

enum { SCOPED_PARTS_MAX = 64 };
/* A path of scopes and the name below them. */
typedef struct scoped_name {
    gspan parts[SCOPED_PARTS_MAX];   /* scopes, outermost first; what is deeper is left out of them */
    gspan classes[SCOPED_PARTS_MAX]; /* class of the module; n 0: not stated */
    size_t n;
    gspan leaf;
    graph_phase phase;
} scoped_name;

/**
 * "jit(f)/jit(main)/transpose(jvp(Layer))/dot_general" as JAX writes it: split at '/' outside brackets only. jit(main)
 * and pjit are no scopes; jvp, transpose, checkpoint and rematted computations say the phase and are no scopes either.
 */
void jax_name_split(gspan name, scoped_name *out);
/** "ResNet[resnet]|Conv[resnet.conv]|file.py:3|forward|54|aten__add": the modules around an operator, by path.
 *  @return false when it is nothing of the kind. Parts may lie in `mem`. */
bool module_stack_split(gspan name, arena *mem, scoped_name *out);
/** The scope of parts [from, n) below `parent`. */
uint32_t scoped_name_scope(const scoped_name *s, size_t from, graph_builder *b, uint32_t parent);

/** Bytes of one element of that type ("bf16", "s32", "f8E4M3FN", "i1"); 0: not known. */
unsigned element_bits(gspan type);

#endif
