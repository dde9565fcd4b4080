#include "parse/sqlite.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"
#include "parse/decns.h"
#include "parse/source.h"
#include "parse/sqlite_vfs.h"

struct sqldb {
    sqlite3 *db;
    int fd;
    char *path;
    diag *diag;
    uint32_t file;
    uint64_t bytes;
    intern tables;  /* names of plain tables */
    intern columns; /* "table\1column" */
};

struct sqlrows {
    sqldb *db;
    sqlite3_stmt *stmt; /* NULL: no rows */
    char *table;
    int rc;
};

static marey_status damaged(const sqldb *db, const char *what)
{
    return diag_error(db->diag, MAREY_FORMAT, db->path, DIAG_NO_OFFSET, "The SQLite database is damaged: %s.", what);
}

/* Copy the unpacked content to a scratch file. @return its descriptor, or -1 with a message */
static int unpack(const char *path, diag *d, uint32_t file)
{
    source *src = NULL;
    source_options options = {.diag = d, .file = file};
    if (source_open(path, &options, &src) != MAREY_OK) {
        return -1;
    }
    int fd = file_scratch(NULL);
    char *buf = mem_alloc(1 << 18);
    uint64_t at = 0;
    size_t got = 0;
    bool ok = fd >= 0;
    while (ok && (got = source_read(src, buf, 1 << 18)) > 0) {
        ok = file_pwrite(fd, buf, got, at);
        at += got;
    }
    free(buf);
    if (!ok) {
        (void)diag_error(d, MAREY_IO, path, DIAG_NO_OFFSET, "The database could not be unpacked to a scratch file: %s.",
                         strerror(errno));
    }
    if (fd >= 0 && (!ok || source_status(src) != MAREY_OK)) {
        (void)close(fd);
        fd = -1;
    }
    source_close(&src);
    return fd;
}

static const char magic[] = "SQLite format 3";

static marey_status open_descriptor(sqldb *db)
{
    char head[sizeof magic] = "";
    int fd = open(db->path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && file_pread(fd, head, sizeof magic, 0) && memcmp(head, magic, sizeof magic) == 0) {
        db->fd = fd;
        return MAREY_OK;
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    /* Compressed, inside an archive, not there, or no database. */
    db->fd = unpack(db->path, db->diag, db->file);
    if (db->fd < 0) {
        return MAREY_IO;
    }
    if (!file_pread(db->fd, head, sizeof magic, 0) || memcmp(head, magic, sizeof magic) != 0) {
        return diag_error(db->diag, MAREY_FORMAT, db->path, 0, "The file is no SQLite database.");
    }
    return MAREY_OK;
}

static marey_status read_columns(sqldb *db, const char *table)
{
    sqlite3_stmt *stmt = NULL;
    char *sql = sqlite3_mprintf("PRAGMA table_info(\"%w\")", table);
    int rc = sqlite3_prepare_v2(db->db, sql, -1, &stmt, NULL);
    sqlite3_free(sql);
    strbuf key = {0};
    while (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        const char *column = (const char *)sqlite3_column_text(stmt, 1);
        strbuf_clear(&key);
        strbuf_printf(&key, "%s\1%s", table, column ? column : "");
        (void)intern_put(&db->columns, key.s, key.n);
        rc = SQLITE_OK;
    }
    strbuf_deinit(&key);
    (void)sqlite3_finalize(stmt);
    return rc == SQLITE_DONE ? MAREY_OK : damaged(db, sqlite3_errmsg(db->db));
}

static marey_status read_schema(sqldb *db)
{
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(db->db, "SELECT name FROM sqlite_master WHERE type = 'table'", -1, &stmt, NULL);
    while (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(stmt, 0);
        (void)intern_put(&db->tables, name ? name : "", name ? strlen(name) : 0);
        rc = SQLITE_OK;
    }
    (void)sqlite3_finalize(stmt);
    marey_status status = rc == SQLITE_DONE ? MAREY_OK : damaged(db, sqlite3_errmsg(db->db));
    for (size_t i = 0; status == MAREY_OK && i < db->tables.n; i++) {
        status = read_columns(db, db->tables.text[i]);
    }
    return status;
}

static marey_status open_connection(sqldb *db)
{
    char name[32];
    (void)snprintf(name, sizeof name, "%d", db->fd);
    sqlite_fd_vfs_register();
    int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX;
    if (sqlite3_open_v2(name, &db->db, flags, SQLITE_FD_VFS) != SQLITE_OK) {
        return damaged(db, db->db ? sqlite3_errmsg(db->db) : "it can't be opened");
    }
    (void)sqlite3_db_config(db->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    (void)sqlite3_db_config(db->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    (void)sqlite3_exec(db->db, "PRAGMA temp_store = MEMORY; PRAGMA cell_size_check = ON; PRAGMA cache_size = -8192",
                       NULL, NULL, NULL);
    return read_schema(db);
}

marey_status sqldb_open(const char *path, diag *d, uint32_t file, sqldb **out)
{
    sqldb *db = mem_calloc(1, sizeof *db);
    db->fd = -1;
    db->path = mem_strdup(path);
    db->diag = d;
    db->file = file;
    db->bytes = file_size(path);
    marey_status status = open_descriptor(db);
    if (status == MAREY_OK) {
        status = open_connection(db);
    }
    if (status != MAREY_OK) {
        sqldb_close(&db);
    }
    *out = db;
    return status;
}

void sqldb_close(sqldb **db)
{
    if (*db) {
        (void)sqlite3_close((*db)->db);
        if ((*db)->fd >= 0) {
            (void)close((*db)->fd);
        }
        intern_deinit(&(*db)->tables);
        intern_deinit(&(*db)->columns);
        free((*db)->path);
        free(*db);
        *db = NULL;
    }
}

bool sqldb_has_table(const sqldb *db, const char *table)
{
    uint32_t id = 0;
    return intern_find(&db->tables, table, strlen(table), &id);
}

bool sqldb_has_column(const sqldb *db, const char *table, const char *column)
{
    char key[256];
    int n = snprintf(key, sizeof key, "%s\1%s", table, column);
    uint32_t id = 0;
    return n > 0 && (size_t)n < sizeof key && intern_find(&db->columns, key, (size_t)n, &id);
}

size_t sqldb_n_tables(const sqldb *db)
{
    return db->tables.n;
}

uint64_t sqldb_bytes(const sqldb *db)
{
    return db->bytes;
}

static char *select_text(const sqldb *db, const char *table, const char *const *columns, size_t n)
{
    sqlite3_str *s = sqlite3_str_new(db->db);
    sqlite3_str_appendall(s, "SELECT ");
    for (size_t i = 0; i < n; i++) {
        sqlite3_str_appendall(s, i ? ", " : "");
        if (sqldb_has_column(db, table, columns[i])) {
            sqlite3_str_appendf(s, "\"%w\"", columns[i]);
        } else {
            sqlite3_str_appendall(s, "NULL");
        }
    }
    sqlite3_str_appendf(s, " FROM \"%w\"", table);
    return sqlite3_str_finish(s);
}

marey_status sqldb_select(sqldb *db, const char *table, const char *const *columns, size_t n, sqlrows **out)
{
    MAREY_ASSERT(n > 0 && n <= SQLDB_MAX_SELECT);
    sqlrows *r = mem_calloc(1, sizeof *r);
    r->db = db;
    r->table = mem_strdup(table);
    r->rc = SQLITE_DONE;
    marey_status status = MAREY_OK;
    if (sqldb_has_table(db, table)) {
        char *sql = select_text(db, table, columns, n);
        r->rc = sqlite3_prepare_v2(db->db, sql, -1, &r->stmt, NULL);
        sqlite3_free(sql);
        if (r->rc != SQLITE_OK) {
            status = damaged(db, sqlite3_errmsg(db->db));
            (void)sqlite3_finalize(r->stmt);
            free(r->table);
            free(r);
            r = NULL;
        }
    }
    *out = r;
    return status;
}

bool sqlrows_next(sqlrows *r)
{
    if (!r->stmt || (r->rc != SQLITE_OK && r->rc != SQLITE_ROW)) {
        return false;
    }
    r->rc = sqlite3_step(r->stmt);
    return r->rc == SQLITE_ROW;
}

bool sqlrows_null(const sqlrows *r, int column)
{
    return sqlite3_column_type(r->stmt, column) == SQLITE_NULL;
}

bool sqlrows_i64(const sqlrows *r, int column, int64_t *v)
{
    switch (sqlite3_column_type(r->stmt, column)) {
    case SQLITE_INTEGER:
        *v = sqlite3_column_int64(r->stmt, column);
        return true;
    case SQLITE_FLOAT: {
        double x = sqlite3_column_double(r->stmt, column);
        bool fits = x > -9.2e18 && x < 9.2e18;
        *v = fits ? (int64_t)x : *v;
        return fits;
    }
    case SQLITE_TEXT: {
        size_t n = 0;
        const char *s = sqlrows_text(r, column, &n);
        return decns_parse_i64(s, n, v);
    }
    default:
        return false;
    }
}

bool sqlrows_double(const sqlrows *r, int column, double *v)
{
    int type = sqlite3_column_type(r->stmt, column);
    if (type == SQLITE_TEXT) {
        size_t n = 0;
        const char *s = sqlrows_text(r, column, &n);
        return decns_parse_double(s, n, v);
    }
    if (type == SQLITE_INTEGER || type == SQLITE_FLOAT) {
        *v = sqlite3_column_double(r->stmt, column);
        return true;
    }
    return false;
}

const char *sqlrows_text(const sqlrows *r, int column, size_t *n)
{
    const char *s = (const char *)sqlite3_column_text(r->stmt, column);
    int bytes = sqlite3_column_bytes(r->stmt, column);
    *n = s && bytes > 0 ? (size_t)bytes : 0;
    return s ? s : "";
}

marey_status sqlrows_end(sqlrows **rows)
{
    sqlrows *r = *rows;
    marey_status status = MAREY_OK;
    if (r && r->stmt && r->rc != SQLITE_ROW && r->rc != SQLITE_DONE && r->rc != SQLITE_OK) {
        char what[256];
        (void)snprintf(what, sizeof what, "table %s, %s", r->table, sqlite3_errmsg(r->db->db));
        status = damaged(r->db, what);
        diag_lose(r->db->diag, MAREY_LOSS_DAMAGED, r->db->file, DIAG_NO_OFFSET, 1, r->table);
    }
    if (r) {
        (void)sqlite3_finalize(r->stmt);
        free(r->table);
        free(r);
        *rows = NULL;
    }
    return status;
}
