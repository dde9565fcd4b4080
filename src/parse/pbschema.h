/*
 * Protocol buffers in their two text forms, the text format and JSON, turned into bytes on the wire, so that one reader
 * serves all three. The caller gives the part of the schema that it reads; all other fields are left out, whatever they
 * hold. Names match whatever their case and underscores are ("tensor_shape", "tensorShape").
 *
 * No recursion; memory grows with the text. What comes out is at most 8 times as long as the text.
 * Owner of `out`: the caller. Thread: any, on separate objects.
 */
#ifndef MAREY_PARSE_PBSCHEMA_H
#define MAREY_PARSE_PBSCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "parse/json_doc.h"

typedef enum pb_kind {
    PB_KIND_INT, /* and enumerations, whose names are in `names` */
    PB_KIND_FLOAT,
    PB_KIND_DOUBLE,
    PB_KIND_STRING,
    PB_KIND_BYTES, /* base64 in JSON */
    PB_KIND_MESSAGE,
    PB_KIND_MAP /* `message` is the entry {key#1, value#2}; in JSON an object */
} pb_kind;

typedef struct pb_name {
    const char *name; /* NULL ends the table */
    int64_t value;
} pb_name;

typedef struct pb_schema pb_schema;
typedef struct pb_schema_field {
    const char *name; /* NULL ends the table */
    uint32_t number;
    pb_kind kind;
    const pb_schema *message;
    const pb_name *names;
} pb_schema_field;

struct pb_schema {
    const pb_schema_field *fields;
};

/* Where the text stopped making sense: what came before was taken. */
typedef struct pb_text_end {
    bool is_cut;     /* the text ends inside a message */
    bool is_damaged; /* something that is no field */
    uint64_t at;     /* byte offset */
} pb_text_end;

/** Text format: "node { name: \"a\" attr { key: \"k\" value { i: 1 } } }", lists in [], comments behind '#'. */
pb_text_end pbtext_to_wire(const char *text, size_t n, const pb_schema *root, strbuf *out);
/** JSON as protobuf's own printer writes it, from node `root` of the document. */
void pbjson_to_wire(const jdoc *d, uint32_t root, const pb_schema *schema, strbuf *out);

#endif
