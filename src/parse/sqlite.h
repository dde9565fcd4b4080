/*
 * Read-only access to SQLite files that may be damaged, compressed, half written or of another version.
 *
 * The file is read through descriptors of our own: nothing is locked, no journal is looked for, nothing is ever written
 * next to it, and a compressed file is unpacked to an unnamed scratch file first. Tables and columns that are missing
 * read as empty and NULL. Only plain tables are read: views and triggers of an untrusted file never run.
 *
 * Owner: the caller. Thread: one at a time per database.
 */
#ifndef MAREY_PARSE_SQLITE_H
#define MAREY_PARSE_SQLITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"

typedef struct sqldb sqldb;
typedef struct sqlrows sqlrows;

enum { SQLDB_MAX_SELECT = 32 };

/** @return OK; IO; FORMAT when it is no database or is damaged (one sentence in `d`) */
marey_status sqldb_open(const char *path, diag *d, uint32_t file, sqldb **out);
void sqldb_close(sqldb **db);

bool sqldb_has_table(const sqldb *db, const char *table);
bool sqldb_has_column(const sqldb *db, const char *table, const char *column);
size_t sqldb_n_tables(const sqldb *db);
uint64_t sqldb_bytes(const sqldb *db); /* of the file as stored */

/**
 * Rows of one table, in the order of the file (no sorting: a table may be larger than memory). Columns that the table
 * lacks read as NULL. A missing table has no rows.
 * @return OK; FORMAT when the table can't be read
 */
marey_status sqldb_select(sqldb *db, const char *table, const char *const *columns, size_t n, sqlrows **out);
/** @return false at the end, and on damage: see sqlrows_end() */
bool sqlrows_next(sqlrows *r);
bool sqlrows_null(const sqlrows *r, int column);
/** An integer; TEXT that is one counts (times are TEXT in some tables). @return false for NULL and anything else */
bool sqlrows_i64(const sqlrows *r, int column, int64_t *v);
bool sqlrows_double(const sqlrows *r, int column, double *v);
/** Text as stored, not checked to be UTF-8; "" for NULL. Valid until the next sqlrows_next(). */
const char *sqlrows_text(const sqlrows *r, int column, size_t *n);
/** Free, and say whether all rows were read: OK; FORMAT when the table is damaged (counted as a loss, rows before it
 * stay) */
marey_status sqlrows_end(sqlrows **r);

#endif
