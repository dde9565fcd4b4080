/*
 * Rows of a CSV or TSV file, one at a time, of any length.
 *
 * Fields are separated by commas, or by tabs where the header holds no comma. Quotes as usual: "a ""b""" may hold
 * separators and line ends. Lines end with LF or CRLF. Names and fields come without blanks and tabs around them, since
 * profilers pad both ("Start Time(us)" is followed by values with a tab, " op_full_name" begins with a blank). Columns
 * are found by name, never by place: versions add, drop and reorder them.
 *
 * Empty files and files with a header only give no rows. Short and long rows are counted, not dropped: what is missing
 * reads as empty. A row beyond 16 MiB is skipped and counted (EVENT_TOO_LARGE); a quote that never closes ends the file
 * (TRUNCATED). Memory: one window. Owner: the caller, csv_close(). Thread: one at a time.
 */
#ifndef MAREY_PARSE_CSV_H
#define MAREY_PARSE_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"

enum { CSV_MAX_ROW_BYTES = 16 << 20, CSV_MAX_COLUMNS = 1 << 20 };

typedef struct csv csv;

/* A field: trimmed, unquoted; valid until the next csv_next(). */
typedef struct csv_field {
    const char *s; /* never NULL */
    size_t n;
} csv_field;

/**
 * Open a file (plain or compressed) and read its header. An empty file opens and has no columns.
 * @param file  diag_file() id for losses. @return OK; IO; LIMIT for an absurd header
 */
marey_status csv_open(const char *path, diag *d, uint32_t file, csv **out);
/** The same from memory, which must live as long as the reader. */
marey_status csv_open_memory(const void *data, size_t size, const char *name, diag *d, uint32_t file, csv **out);
void csv_close(csv **c);

size_t csv_n_columns(const csv *c);
const char *csv_column(const csv *c, size_t i); /* its name; "" */

/** The first column of that name (case does not matter), or -1. */
int csv_find(const csv *c, const char *name);
/** The first of several names that exists: versions rename columns. End the list with NULL. */
int csv_find_any(const csv *c, const char *const *names);
/** The next column at or after `from` whose name ends with `suffix` (case matters), or -1. */
int csv_find_suffix(const csv *c, const char *suffix, size_t from);

/** The next row that is not blank. @return false at the end (see csv_status) */
bool csv_next(csv *c);
/** OK, or IO when reading failed. */
marey_status csv_status(const csv *c);
/** Field of the row; empty where the row is short or `column` is -1. */
csv_field csv_get(const csv *c, int column);
bool csv_field_is(csv_field f, const char *text);
/** Empty, "N/A", "-" or "null": nothing is said. */
bool csv_field_none(csv_field f);

/** Numbers of a field. @return false when it is none */
bool csv_double(const csv *c, int column, double *v);
bool csv_i64(const csv *c, int column, int64_t *v);
bool csv_us(const csv *c, int column, int64_t *ns); /* microseconds to exact ns */

uint64_t csv_offset(const csv *c); /* of the row in the unpacked text */
uint64_t csv_n_rows(const csv *c);
uint64_t csv_n_short(const csv *c);
uint64_t csv_n_long(const csv *c);

#endif
