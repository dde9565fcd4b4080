/*
 * The SQLite reader: exact 64-bit integers whether stored as INTEGER or TEXT, missing tables and columns as empty and
 * NULL, compressed files, odd paths, and one clear error for what is no database or is damaged. It never writes next to
 * the file.
 */
#include "cm.h"

#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/diag.h"
#include "base/file.h"
#include "parse/sqlite.h"

static char dir[] = "/tmp/marey-sqlite-XXXXXX";
static diag sink;

static const char *at(const char *name)
{
    static char path[256];
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static void make(const char *path, const char *sql)
{
    sqlite3 *db = NULL;
    (void)remove(path);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static const char *const columns[] = {"startNs", "name", "gone"};
static const char sample[] = "CREATE TABLE TASK(startNs INTEGER, name TEXT);"
                             "CREATE TABLE VACANT(a INTEGER);"
                             "INSERT INTO TASK VALUES(1736407067946125104, 'Cast');"
                             "INSERT INTO TASK VALUES('1736407067946125105', 'x');"
                             "INSERT INTO TASK VALUES(NULL, NULL);";

static void check_sample(const char *path)
{
    sqldb *db = NULL;
    assert_int_equal(sqldb_open(path, &sink, 0, &db), MAREY_OK);
    assert_true(sqldb_has_table(db, "TASK"));
    assert_false(sqldb_has_table(db, "TASKS"));
    assert_true(sqldb_has_column(db, "TASK", "name"));
    assert_false(sqldb_has_column(db, "TASK", "gone"));
    sqlrows *r = NULL;
    assert_int_equal(sqldb_select(db, "TASK", columns, 3, &r), MAREY_OK);
    int64_t v = 0;
    size_t n = 0;
    assert_true(sqlrows_next(r));
    assert_true(sqlrows_i64(r, 0, &v));
    assert_true(v == INT64_C(1736407067946125104));
    assert_string_equal(sqlrows_text(r, 1, &n), "Cast");
    assert_int_equal(n, 4);
    assert_true(sqlrows_null(r, 2));
    assert_false(sqlrows_i64(r, 2, &v));
    assert_true(sqlrows_next(r));
    assert_true(sqlrows_i64(r, 0, &v));
    assert_true(v == INT64_C(1736407067946125105));
    assert_true(sqlrows_next(r));
    assert_false(sqlrows_i64(r, 0, &v));
    assert_string_equal(sqlrows_text(r, 1, &n), "");
    assert_false(sqlrows_next(r));
    assert_false(sqlrows_next(r));
    assert_int_equal(sqlrows_end(&r), MAREY_OK);
    sqldb_close(&db);
    assert_null(db);
}

static void plain(void **state)
{
    (void)state;
    make(at("a %41?#.db"), sample);
    check_sample(at("a %41?#.db"));
}

static void text_times(void **state)
{
    (void)state;
    make(at("text.db"), "CREATE TABLE P(startNs TEXT, x NUMERIC);"
                        "INSERT INTO P VALUES('1736407067942010500', 2.5);INSERT INTO P VALUES('soon', 'y');");
    sqldb *db = NULL;
    sqlrows *r = NULL;
    int64_t v = 0;
    double x = 0;
    assert_int_equal(sqldb_open(at("text.db"), &sink, 0, &db), MAREY_OK);
    assert_int_equal(sqldb_select(db, "P", (const char *const[]){"startNs", "x"}, 2, &r), MAREY_OK);
    assert_true(sqlrows_next(r));
    assert_true(sqlrows_i64(r, 0, &v));
    assert_true(v == INT64_C(1736407067942010500));
    assert_true(sqlrows_double(r, 1, &x) && x == 2.5);
    assert_true(sqlrows_next(r));
    assert_false(sqlrows_i64(r, 0, &v));
    assert_false(sqlrows_double(r, 1, &x));
    assert_int_equal(sqlrows_end(&r), MAREY_OK);
    sqldb_close(&db);
}

static void nothing_there(void **state)
{
    (void)state;
    make(at("b.db"), sample);
    sqldb *db = NULL;
    sqlrows *r = NULL;
    assert_int_equal(sqldb_open(at("b.db"), &sink, 0, &db), MAREY_OK);
    static const char *const tables[] = {"VACANT", "MISSING"};
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(sqldb_select(db, tables[i], columns, 3, &r), MAREY_OK);
        assert_false(sqlrows_next(r));
        assert_int_equal(sqlrows_end(&r), MAREY_OK);
    }
    sqldb_close(&db);
}

static void views_do_not_run(void **state)
{
    (void)state;
    make(at("view.db"), "CREATE TABLE a(x);INSERT INTO a VALUES(1);CREATE VIEW TASK AS SELECT x AS startNs FROM a;");
    sqldb *db = NULL;
    sqlrows *r = NULL;
    assert_int_equal(sqldb_open(at("view.db"), &sink, 0, &db), MAREY_OK);
    assert_false(sqldb_has_table(db, "TASK"));
    assert_int_equal(sqldb_select(db, "TASK", columns, 1, &r), MAREY_OK);
    assert_false(sqlrows_next(r));
    assert_int_equal(sqlrows_end(&r), MAREY_OK);
    sqldb_close(&db);
}

static void compressed(void **state)
{
    (void)state;
    make(at("c.db"), sample);
    char *data = NULL;
    size_t size = 0;
    assert_int_equal(file_read_all(at("c.db"), 1 << 20, &data, &size, NULL), MAREY_OK);
    gzFile z = gzopen(at("c.db.gz"), "wb");
    assert_int_equal(gzwrite(z, data, (unsigned)size), (int)size);
    assert_int_equal(gzclose(z), Z_OK);
    free(data);
    check_sample(at("c.db.gz"));
}

static void wal_mode_and_no_trace_left(void **state)
{
    (void)state;
    make(at("w.db"), sample);
    make(at("wal.db"), "PRAGMA journal_mode = WAL;CREATE TABLE TASK(startNs INTEGER, name TEXT);");
    sqldb *db = NULL;
    assert_int_equal(sqldb_open(at("wal.db"), &sink, 0, &db), MAREY_OK);
    assert_true(sqldb_has_table(db, "TASK"));
    sqldb_close(&db);
    assert_false(file_exists(at("wal.db-wal")));
    assert_false(file_exists(at("wal.db-shm")));
    assert_int_equal(chmod(at("w.db"), 0400), 0);
    check_sample(at("w.db"));
}

static void refuse(const char *name, const void *bytes, size_t n, marey_status expected)
{
    assert_int_equal(file_write_all(at(name), bytes, n, NULL), MAREY_OK);
    diag d;
    diag_init(&d);
    sqldb *db = NULL;
    marey_status got = sqldb_open(at(name), &d, 0, &db);
    assert_int_equal(got, expected);
    assert_null(db);
    assert_true(d.n_messages >= 1);
    diag_deinit(&d);
}

static void no_database(void **state)
{
    (void)state;
    refuse("empty.db", "", 0, MAREY_FORMAT);
    refuse("text.db", "hello", 5, MAREY_FORMAT);
    refuse("head.db", "SQLite format 3", 16, MAREY_FORMAT);
    char page[4096] = "SQLite format 3";
    memset(page + 16, 0xA5, sizeof page - 16);
    refuse("noise.db", page, sizeof page, MAREY_FORMAT);
    sqldb *db = NULL;
    assert_int_equal(sqldb_open(at("no-such.db"), &sink, 0, &db), MAREY_IO);
    assert_null(db);
}

/* Every cut and many overwritten bytes: an error or rows, never a crash, and a loss where rows are missing. */
static void damage(void **state)
{
    (void)state;
    make(at("d.db"), "CREATE TABLE TASK(startNs INTEGER, name TEXT);"
                     "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000) "
                     "INSERT INTO TASK SELECT i * 1000, 'operator ' || i FROM n;");
    char *data = NULL;
    size_t size = 0;
    assert_int_equal(file_read_all(at("d.db"), 1 << 20, &data, &size, NULL), MAREY_OK);
    uint32_t seed = 7;
    size_t failed = 0;
    for (int round = 0; round < 300; round++) {
        char *copy = malloc(size);
        memcpy(copy, data, size);
        size_t n = size;
        seed = seed * 1664525U + 1013904223U;
        if (round % 3 == 0) {
            n = seed % size;
        } else {
            for (int k = 0; k < 40; k++) {
                seed = seed * 1664525U + 1013904223U;
                copy[(seed >> 4) % size] = (char)(seed >> 24);
            }
        }
        assert_int_equal(file_write_all(at("e.db"), copy, n, NULL), MAREY_OK);
        diag d;
        diag_init(&d);
        sqldb *db = NULL;
        marey_status status = sqldb_open(at("e.db"), &d, 0, &db);
        uint64_t rows = 0;
        sqlrows *r = NULL;
        if (status == MAREY_OK) {
            status = sqldb_select(db, "TASK", columns, 3, &r);
        }
        while (status == MAREY_OK && sqlrows_next(r)) {
            size_t len = 0;
            (void)sqlrows_text(r, 1, &len);
            rows++;
        }
        if (status == MAREY_OK) {
            status = sqlrows_end(&r);
        }
        assert_true(rows <= 100000);
        assert_true(status == MAREY_OK || d.n_messages > 0);
        failed += status != MAREY_OK;
        sqldb_close(&db);
        diag_deinit(&d);
        free(copy);
    }
    assert_true(failed > 50);
    free(data);
}

int main(void)
{
    if (!mkdtemp(dir)) {
        return 1;
    }
    diag_init(&sink);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain),         cmocka_unit_test(text_times),
        cmocka_unit_test(nothing_there), cmocka_unit_test(views_do_not_run),
        cmocka_unit_test(compressed),    cmocka_unit_test(wal_mode_and_no_trace_left),
        cmocka_unit_test(no_database),   cmocka_unit_test(damage),
    };
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    diag_deinit(&sink);
    char command[128];
    (void)snprintf(command, sizeof command, "rm -rf %s", dir);
    return system(command) == 0 ? rc : 1;
}
