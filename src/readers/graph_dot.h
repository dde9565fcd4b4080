/*
 * DOT between its two steps: a lexer and a parser with a stack of its own for subgraphs fill columns of nodes, edges
 * and attributes of one graph (attributes may follow anywhere), then the reader pushes them.
 *
 * Source: "The DOT Language", graphviz.org/doc/info/lang.html. Owner: the reader, dot_deinit(). Spans point into the
 * input or the arena. Thread: one.
 */
#ifndef MAREY_READERS_GRAPH_DOT_H
#define MAREY_READERS_GRAPH_DOT_H

#include "base/hash.h"
#include "readers/graph_reader.h"
#include "readers/graph_text.h"

typedef enum dot_token { DOT_END, DOT_ID, DOT_HTML, DOT_ARROW, DOT_MARK } dot_token;

typedef struct dot_attr {
    gspan key, value;
    bool html;
} dot_attr;

typedef struct dot_node {
    gspan name;
    uint32_t scope; /* into scopes */
    uint32_t first_attr, last_attr;
    uint32_t next_slot; /* of edges into it */
    uint32_t seen;      /* the last set it was counted in */
} dot_node;

typedef struct dot_link {
    uint32_t attr, next; /* attributes of a node, in order */
} dot_link;

typedef struct dot_scope {
    gspan name, label;
    uint32_t parent;
    uint32_t depth;
    bool cluster;
} dot_scope;

/* An open subgraph. */
typedef struct dot_frame {
    uint32_t scope;
    size_t first_defaults; /* into defaults: those of this subgraph begin here */
    size_t first_mention;
    /* The chain of edges that it is an operand of. */
    size_t left_from, left_to;
    bool after_arrow;
} dot_frame;

typedef struct dot_text {
    const graph_input *in;
    const char *start, *p, *end;
    dot_token kind; /* of the token read last */
    gspan token;
    const char *token_at;
    intern names;
    dot_node *nodes; /* by name */
    dot_attr *attrs;
    dot_link *links;
    dot_scope *scopes;
    dot_frame *frames;
    uint32_t *defaults;   /* attributes of "node [...]" */
    uint32_t *mentions;   /* nodes, in the order of the text: a subgraph's set is a piece of it */
    uint32_t (*edges)[4]; /* from, to, slots */
    size_t n_nodes, cap_nodes, n_attrs, cap_attrs, n_links, cap_links, n_scopes, cap_scopes, n_frames, cap_frames,
        n_defaults, cap_defaults, n_mentions, cap_mentions, n_edges, cap_edges;
    map64 pairs; /* of a strict graph */
    bool strict, closed;
    uint32_t sets;
    gspan name;
    arena mem;
    uint64_t bytes_left; /* that strings and brackets without an end may still cost */
} dot_text;

/** Begin to read; the first token is there afterwards. */
void dot_open(dot_text *t, const graph_input *in, size_t size);
void dot_deinit(dot_text *t);
/** The next graph of the file. What the last one held is forgotten. Errors: FORMAT where none begins; CANCELLED. */
marey_status dot_parse(dot_text *t);
/** Does a graph begin here? */
bool dot_is_head(const dot_text *t);
/** Is it "[strict] (di)graph [name] {"? Reads on. */
bool dot_take_head(dot_text *t);
/** Bytes that are no statement, at the token read last. */
void dot_lose(dot_text *t, marey_loss loss, const char *at, uint64_t n);

#endif
