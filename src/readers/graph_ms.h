/*
 * What the parts of the MindSpore reader share (graph_ms*.c); field numbers are those of anf_ir.proto and
 * profiling_parallel.proto.
 */
#ifndef MAREY_READERS_GRAPH_MS_H
#define MAREY_READERS_GRAPH_MS_H

#include "base/hash.h"
#include "parse/json_doc.h"
#include "parse/pbschema.h"
#include "parse/pbwire.h"
#include "readers/graph_dtype.h"
#include "readers/graph_formats.h"

/* A Send or Receive that waits for its partner. */
typedef struct ms_transfer {
    uint32_t node;
    int32_t stage;
    int64_t peer; /* rank, or stage: both occur */
    int64_t tag;
    bool is_send;
    uint64_t group; /* hash of its communication group; 0: none */
} ms_transfer;

typedef struct ms_stage {
    int32_t stage;
    size_t first_rank, n_ranks; /* in reader.ranks */
    bool is_read;               /* its operators are in the graph; else another file only names its ranks */
} ms_stage;

typedef struct ms_reader {
    const graph_input *in;
    graph_builder *b;
    bool has_offsets; /* the bytes that are read are the input's own */
    bool is_cut;
    ms_transfer *transfers;
    size_t n_transfers, cap_transfers;
    ms_stage *stages;
    size_t n_stages, cap_stages;
    uint32_t *ranks;
    size_t n_ranks, cap_ranks;
    intern paths; /* scopes' paths -> index in scope_of */
    uint32_t *scope_of;
    size_t n_scopes, cap_scopes;
    strbuf text, sharding;
} ms_reader;

/* One operator, whatever form it came in. */
typedef struct ms_operator {
    const char *id, *op, *scope, *full_name, *instance;
    size_t n_id, n_op, n_scope, n_full_name, n_instance;
    int32_t stage;
} ms_operator;

/* graph_ms.c */
void ms_lose(const ms_reader *r, marey_loss loss, uint64_t offset);
/** Pushes it in its scope, with phase and flags by its scope and instance name. */
uint32_t ms_push_operator(ms_reader *r, const ms_operator *o);
uint32_t ms_push_data(ms_reader *r, const char *name, size_t n, graph_role role, int32_t stage);

/* graph_ms_text.c */
/** A ValueProto as text: tuples as "(a, b)". */
void ms_value_text(const pb_reader *outer, const pb_field *value, strbuf *out);
/** A TypeProto: one output per element of a tuple. */
void ms_push_outputs(ms_reader *r, const pb_reader *outer, const pb_field *type, uint32_t node);
/** "[[8, 1], [1, 4]]" becomes "((8,1),(1,4))": the spelling that graph_sharding() reads. Clears out first. */
void ms_sharding_text(const char *s, size_t n, strbuf *out);
/** Outputs from "DT_TUPLE['DT_TENSOR[DT_FLOAT32]', ...]" and the text of their shapes "[[1, 2], [3]]". */
void ms_push_named_outputs(ms_reader *r, uint32_t node, const char *types, size_t n_types, const char *shapes,
                           size_t n_shapes);

/* graph_ms_merged.c */
/** {graphs: {"stage": {rank_ids, op_nodes, const_nodes, parameter_nodes}}}: the form with all stages. */
marey_status ms_read_merged(ms_reader *r, const jdoc *d);
/** Ties each Send to its Receive: implied edges GRAPH_P2P by sender, receiver and tag; what is left, between stages, by
 *  communication group and tag. */
void ms_join_transfers(ms_reader *r);

/* graph_ms_stages.c: of several files */
/** The number that a stage gets: what the file says, or the next where other ranks have it. @return -1: it has been
 * read from another file */
int32_t ms_stage_number(ms_reader *r, int32_t stated, const uint32_t *ranks, size_t n_ranks);
/** Was a file with the same content read before? Said in a note. */
bool ms_came_before(ms_reader *r);
/** The file is read: its transfers are joined, or kept until all files are. */
void ms_end_file(ms_reader *r);

/* graph_ms_schema.c */
extern const pb_schema MS_GRAPH, MS_MODEL, MS_PARALLEL;

#endif
