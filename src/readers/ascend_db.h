/* Inside the SQLite reader: what is loaded before the events, and the parts in other files. */
#ifndef MAREY_READERS_ASCEND_DB_H
#define MAREY_READERS_ASCEND_DB_H

#include "parse/sqlite.h"
#include "readers/ascend.h"

/* A string of the database. It becomes one of the builder's only when something is named by it: most are arguments. */
typedef struct db_text {
    const char *s;
    uint32_t n;
    uint32_t string; /* of the builder; NO_ID: not yet */
} db_text;

/* Texts are indices into `texts`, NO_ID where NULL; numbers -1 where NULL. */
typedef struct compute_info {
    uint32_t name, op_type, task_type, input_shapes, input_types, output_shapes;
    int64_t block_dim, wait_ns;
} compute_info;

typedef struct comm_info {
    uint32_t task_type, plane, group;
    int64_t src, dst, size, transport, link;
} comm_info;

typedef struct comm_group {
    uint32_t name, n_planes, first_tid;
} comm_group;

/* Device work that a connection id launched. */
typedef struct launch {
    int64_t start_ns;
    uint32_t thread;
    uint32_t next; /* + 1 */
} launch;

/* An entry of a list in a map: value, and the next entry + 1. */
typedef struct list_item {
    int64_t value;
    uint32_t next;
} list_item;

typedef struct ascend_db {
    run_reader *r;
    sqldb *db;
    strbuf args;
    uint64_t host_pid;
    bool has_steps; /* a ProfilerStep among the operators */
    uint32_t sources[ASCEND_OTHER];
    uint32_t next_tid;
    map64 strings;    /* id -> text + 1 */
    arena mem;        /* of the texts */
    map64 compute_of; /* globalTaskId -> index + 1 */
    map64 comm_of;
    map64 threads;                       /* process and thread -> builder's thread + 1 */
    map64 transports, links, data_types; /* id -> text + 1 */
    db_text *texts;
    size_t n_texts, cap_texts;
    map64 launches;    /* connection id -> index + 1 into launch_list */
    map64 connections; /* PYTORCH_API.connectionId -> index + 1 into connection_list */
    map64 stacks;      /* callchain id -> index + 1 into stack_list */
    compute_info *compute;
    comm_info *comm;
    comm_group *groups;
    launch *launch_list;
    list_item *connection_list, *stack_list;
    size_t n_compute, n_comm, n_groups, n_launches, n_connections, n_stacks;
    size_t cap_compute, cap_comm, cap_groups, cap_launches, cap_connections, cap_stacks;
} ascend_db;

/** The text of a STRING_IDS id, or NO_ID. */
uint32_t ascend_db_text(const ascend_db *a, int64_t id);
/** The text that a column refers to; NO_ID for NULL and unknown ids. */
uint32_t ascend_db_text_column(const ascend_db *a, const sqlrows *rows, int column);
/** Its bytes, NUL-terminated; "" for NO_ID. */
const char *ascend_db_bytes(const ascend_db *a, uint32_t text, size_t *n);
/** As a string of the builder; NO_ID for NO_ID. */
uint32_t ascend_db_string(ascend_db *a, uint32_t text);
/** Read an ENUM_ table into a map of texts. */
marey_status ascend_db_load_enum(ascend_db *a, const char *table, map64 *out);
uint32_t ascend_db_enum(const map64 *names, int64_t id);
/** Device work with this connection id (0: none). */
void ascend_db_note_launch(ascend_db *a, uint64_t connection, int64_t start_ns, uint32_t thread);

/* ascend_db_host.c */
marey_status ascend_db_load_host(ascend_db *a);
marey_status ascend_db_push_host(ascend_db *a);
/* ascend_db_counters.c */
marey_status ascend_db_push_counters(ascend_db *a);

#endif
