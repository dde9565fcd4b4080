/*
 * A whole small JSON document as a tree: for the files that describe a run (communication.json, metadata, a Marey
 * export), not for event streams.
 *
 * Nodes lie in one array in document order: the children of node i start at i + 1, `next` leads to the next sibling.
 * Numbers stay text, so that a timestamp of more than 53 bits loses nothing; strings stay escaped until they are asked
 * for. The parser is one loop without recursion; depth costs nothing.
 *
 * Tolerated and counted in n_repairs: commas too many or missing, NaN and Infinity, a byte order mark, control bytes in
 * strings, text behind the document. A document that ends too early gives all that was complete (`truncated`).
 * Anything else is an error with its byte offset.
 *
 * Owner: the caller, jdoc_destroy(). Thread: built by one; read by any.
 */
#ifndef MAREY_PARSE_JSON_DOC_H
#define MAREY_PARSE_JSON_DOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/text.h"

typedef enum jdoc_kind { JDOC_SCALAR, JDOC_STRING, JDOC_ARRAY, JDOC_OBJECT } jdoc_kind;

#define JDOC_NONE UINT32_MAX

enum { JDOC_MAX_BYTES = 256 << 20, JDOC_MAX_NODES = 32 << 20 };

typedef struct jdoc_node {
    const char *s;   /* scalar or string as written, without quotes, still escaped; NULL for containers */
    const char *key; /* in an object: as written, still escaped; else NULL */
    uint32_t n;      /* bytes of s */
    uint32_t key_n;
    uint32_t next;       /* next sibling; JDOC_NONE */
    uint32_t n_children; /* of a container */
    uint64_t offset;     /* of the value in the text */
    jdoc_kind kind;
} jdoc_node;

typedef struct jdoc {
    jdoc_node *nodes; /* [0] is the root */
    size_t n;
    bool truncated;
    uint64_t truncated_at;
    uint64_t n_repairs;
    uint64_t first_repair; /* byte offset */
    /* private */
    char *text;
    size_t size, cap_nodes;
} jdoc;

/**
 * Parse text that is kept alive by the caller for as long as the document. `name` is for messages.
 * @return OK; FORMAT with offset; LIMIT beyond JDOC_MAX_BYTES or JDOC_MAX_NODES. On failure *out is NULL.
 */
marey_status jdoc_parse(const char *text, size_t size, const char *name, diag *d, jdoc **out);
/**
 * Read and parse a file (plain, gzip, zstd, zip member). Truncation is counted as a loss in `d` under `file`.
 * @return as jdoc_parse(), and IO
 */
marey_status jdoc_read(const char *path, diag *d, uint32_t file, jdoc **out);
void jdoc_destroy(jdoc **d);

/** First child of a container, or JDOC_NONE; go on with nodes[i].next. */
static inline uint32_t jdoc_first(const jdoc *d, uint32_t i)
{
    return i != JDOC_NONE && d->nodes[i].n_children ? i + 1 : JDOC_NONE;
}
static inline bool jdoc_is(const jdoc *d, uint32_t i, jdoc_kind kind)
{
    return i != JDOC_NONE && d->nodes[i].kind == kind;
}
/** The last member of that name (compared as written), or JDOC_NONE. `i` may be JDOC_NONE or anything else. */
uint32_t jdoc_member(const jdoc *d, uint32_t i, const char *key);
/** The k-th child of an array or object, or JDOC_NONE. */
uint32_t jdoc_at(const jdoc *d, uint32_t i, size_t k);
bool jdoc_key_is(const jdoc *d, uint32_t i, const char *key);
bool jdoc_text_is(const jdoc *d, uint32_t i, const char *text);
/** A string or scalar as clean UTF-8, or its key. Clears `out` first. @return out's text; "" where there is none */
const char *jdoc_text(const jdoc *d, uint32_t i, strbuf *out);
const char *jdoc_key(const jdoc *d, uint32_t i, strbuf *out);

/* Numbers, also when written as strings. @return false when it is none (the value is untouched) */
bool jdoc_double(const jdoc *d, uint32_t i, double *v);
bool jdoc_i64(const jdoc *d, uint32_t i, int64_t *v);
/** Microseconds to exact ns. */
bool jdoc_us(const jdoc *d, uint32_t i, int64_t *ns);

#endif
