/* Messages written to the wire while their length is not known yet: its five bytes are filled in at the close. Shared
 * by pbtext.c and pbjson.c. */
#ifndef MAREY_PARSE_PBENCODE_H
#define MAREY_PARSE_PBENCODE_H

#include "parse/pbschema.h"

const pb_schema_field *pb_find_field(const pb_schema *schema, const char *name, size_t n);
/** @return where the length goes: for pb_encode_close() */
size_t pb_encode_open(strbuf *out, uint32_t number);
void pb_encode_close(strbuf *out, size_t length_at);
void pb_encode_bytes(strbuf *out, uint32_t number, const char *s, size_t n);
/** A number, a word (true, false, a name of the enumeration, inf, nan) or an index, as the field's kind wants it. */
void pb_encode_scalar(strbuf *out, const pb_schema_field *f, const char *s, size_t n);

#endif
