/*
 * Contract: what hdf_file writes is HDF5, as the library itself reads it.
 *
 * Datasets of every type, in their header, of one chunk, of some, of more than a page of the library's own index, and
 * of none; with one, two and four dimensions; with a last chunk that reaches behind the end. Groups in groups, texts
 * and numbers as attributes, a text that is too long for one. A disk that is full is an error, and stays one.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/mem.h"
#include "store/codec.h"
#include "store/h5.h"
#include "store/hdf_file.h"

static const char *file_path(void)
{
    static char path[128];
    (void)snprintf(path, sizeof path, "/tmp/marey-hdf-%ld.h5", (long)getpid());
    return path;
}

/* Element i of every dataset, as a number of its type. */
static uint64_t value_of(uint64_t i)
{
    return i * i * 31 + 7;
}

static void fill(schema_type t, uint64_t first, uint64_t n, uint8_t *out)
{
    for (uint64_t i = 0; i < n; i++) {
        uint64_t v = value_of(first + i);
        double f = (double)v;
        const size_t size = schema_type_size(t);
        memcpy(out + i * size, t == TYPE_F64 ? (const void *)&f : (const void *)&v, size);
    }
}

static uint64_t product(const uint64_t *v, unsigned n)
{
    uint64_t all = 1;
    for (unsigned i = 0; i < n; i++) {
        all *= v[i];
    }
    return all;
}

/* Whole chunks of rows into the file; `d->chunks` is the caller's to free. */
static void put_chunks(hdf_file *f, hdf_dataset *d)
{
    uint64_t elements = product(d->chunk, d->n_dims);
    uint64_t n = (d->size[0] + d->chunk[0] - 1) / d->chunk[0];
    hdf_chunk *chunks = mem_calloc(n, sizeof *chunks);
    uint8_t *bytes = mem_alloc(elements * 8);
    codec c = {0};
    for (uint64_t i = 0; i < n; i++) {
        fill(d->type, i * elements, elements, bytes);
        size_t length = codec_pack(&c, bytes, elements, schema_type_size(d->type));
        chunks[i] = (hdf_chunk){hdf_put(f, c.packed, length), (uint32_t)length};
        assert_int_not_equal(chunks[i].addr, HDF_NOWHERE);
    }
    codec_deinit(&c);
    free(bytes);
    d->chunks = chunks;
    d->n_chunks = n;
}

static const hdf_dataset cases[] = {
    {.type = TYPE_U8, .n_dims = 1, .size = {100}, .chunk = {100}},
    {.type = TYPE_I64, .n_dims = 1, .size = {1000}, .chunk = {1000}},
    {.type = TYPE_F64, .n_dims = 1, .size = {5000}, .chunk = {512}},
    {.type = TYPE_U32, .n_dims = 1, .size = {16 * 3000 + 5}, .chunk = {16}},
    {.type = TYPE_U64, .n_dims = 2, .size = {700, 6}, .chunk = {64, 6}},
    {.type = TYPE_I32, .n_dims = 2, .size = {10, 3}, .chunk = {10, 3}},
    {.type = TYPE_U8, .n_dims = 4, .size = {9, 19, 8, 16}, .chunk = {1, 19, 8, 16}},
    {.type = TYPE_F64, .n_dims = 1, .size = {0}, .chunk = {64}},
    {.type = TYPE_U64, .n_dims = 2, .size = {0, 6}, .chunk = {64, 6}},
};
enum { N_CASES = sizeof cases / sizeof cases[0] };

static int new_file(void)
{
    int fd = open(file_path(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    assert_true(fd >= 0);
    return fd;
}

/* Case i lies in its header where `in_header` has bit i. */
static void write_file(unsigned in_header, const char *text)
{
    static const hdf_attribute of_dataset[] = {{"unit", "ns", 0}, {"number", NULL, INT64_MIN + 3}};
    const hdf_attribute of_root[] = {{"text", text, 0}, {"empty", "", 0}};
    hdf_file f;
    hdf_begin(&f, new_file());
    hdf_dataset d[N_CASES];
    uint8_t *held[N_CASES] = {0};
    for (unsigned i = 0; i < N_CASES; i++) {
        d[i] = cases[i];
        d[i].attributes = of_dataset;
        d[i].n_attributes = 2;
        if (in_header >> i & 1) {
            d[i].n_bytes = product(d[i].size, d[i].n_dims) * schema_type_size(d[i].type);
            held[i] = mem_alloc(d[i].n_bytes);
            fill(d[i].type, 0, product(d[i].size, d[i].n_dims), held[i]);
            d[i].bytes = held[i];
        } else if (d[i].size[0] > 0) {
            put_chunks(&f, &d[i]);
        }
    }
    hdf_metadata m = {.base = f.end};
    char names[N_CASES][8];
    hdf_link links[N_CASES];
    for (unsigned i = 0; i < N_CASES; i++) {
        (void)snprintf(names[i], sizeof names[i], "d%u", i);
        links[i] = (hdf_link){names[i], 2, hdf_add_dataset(&m, &d[i])};
    }
    const hdf_link inner = {"inner", 5, hdf_add_group(&m, links, N_CASES, NULL, 0)};
    const hdf_link outer = {"outer", 5, hdf_add_group(&m, &inner, 1, of_dataset, 2)};
    assert_true(hdf_finish(&f, &m, hdf_add_group(&m, &outer, 1, of_root, 2)));
    hdf_end(&f);
    assert_int_equal(f.error, 0);
    (void)close(f.fd);
    strbuf_deinit(&m.bytes);
    for (unsigned i = 0; i < N_CASES; i++) {
        free(held[i]);
        free((void *)(uintptr_t)d[i].chunks);
    }
}

static void check_dataset(hid_t file, unsigned i)
{
    const hdf_dataset *d = &cases[i];
    char path[32];
    (void)snprintf(path, sizeof path, "/outer/inner/d%u", i);
    hid_t id = H5Dopen2(file, path, H5P_DEFAULT);
    assert_true(id >= 0);
    hid_t space = H5Dget_space(id);
    hsize_t size[HDF_DIMS];
    assert_int_equal(H5Sget_simple_extent_dims(space, size, NULL), d->n_dims);
    assert_memory_equal(size, d->size, d->n_dims * sizeof *size);
    hid_t type = H5Dget_type(id);
    assert_true(H5Tequal(type, h5_type(d->type)) > 0);
    const uint64_t n = product(d->size, d->n_dims);
    const size_t bytes = n * schema_type_size(d->type);
    uint8_t *wanted = mem_alloc(bytes + 1);
    uint8_t *got = mem_alloc(bytes + 1);
    fill(d->type, 0, n, wanted);
    assert_true(H5Dread(id, h5_type(d->type), H5S_ALL, H5S_ALL, H5P_DEFAULT, got) >= 0);
    assert_memory_equal(got, wanted, bytes);
    free(wanted);
    free(got);
    char unit[8];
    int64_t number = 0;
    assert_true(h5_get_text(id, "unit", unit, sizeof unit));
    assert_string_equal(unit, "ns");
    assert_true(h5_get_i64(id, "number", &number));
    assert_true(number == INT64_MIN + 3);
    assert_true(H5Aexists(id, "unit") > 0);
    (void)H5Tclose(type);
    (void)H5Sclose(space);
    (void)H5Dclose(id);
}

static void check_file(const char *text)
{
    hid_t file = H5Fopen(file_path(), H5F_ACC_RDONLY, H5P_DEFAULT);
    assert_true(file >= 0);
    for (unsigned i = 0; i < N_CASES; i++) {
        check_dataset(file, i);
    }
    char got[40000];
    assert_true(h5_get_text(file, "text", got, sizeof got));
    assert_string_equal(got, text);
    assert_true(h5_get_text(file, "empty", got, sizeof got));
    assert_string_equal(got, "");
    (void)H5Fclose(file);
    (void)unlink(file_path());
}

static void test_chunks(void **state)
{
    (void)state;
    write_file(0, "in chunks");
    check_file("in chunks");
}

static void test_headers(void **state)
{
    (void)state;
    write_file(1U << 0 | 1U << 1 | 1U << 5, "in headers");
    check_file("in headers");
}

static void test_long_text(void **state)
{
    (void)state;
    static char text[40001];
    memset(text, 'x', sizeof text - 1);
    write_file(0, text);
    text[32768] = '\0';
    check_file(text);
}

static void limit_files(rlim_t bytes, struct rlimit *old)
{
    assert_int_equal(getrlimit(RLIMIT_FSIZE, old), 0);
    (void)signal(SIGXFSZ, SIG_IGN);
    const struct rlimit small = {bytes, old->rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
}

static void check_that_it_failed(hdf_file *f)
{
    hdf_metadata m = {.base = f->end};
    assert_false(hdf_finish(f, &m, hdf_add_group(&m, NULL, 0, NULL, 0)));
    assert_int_not_equal(f->error, 0);
    strbuf_deinit(&m.bytes);
    hdf_end(f);
    (void)close(f->fd);
    (void)unlink(file_path());
}

static void test_full_disk(void **state)
{
    (void)state;
    struct rlimit old;
    static const char bytes[1 << 20] = {0};
    limit_files(sizeof bytes + 1000, &old);
    hdf_file f;
    hdf_begin(&f, new_file());
    assert_int_not_equal(hdf_put(&f, bytes, sizeof bytes), HDF_NOWHERE);
    assert_int_not_equal(hdf_put(&f, bytes, 600), HDF_NOWHERE);
    assert_int_equal(hdf_put(&f, bytes, 600), HDF_NOWHERE);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_not_equal(f.error, 0);
    assert_int_equal(hdf_put(&f, bytes, 600), HDF_NOWHERE);
    check_that_it_failed(&f);
}

static void test_full_disk_at_the_end(void **state)
{
    (void)state;
    struct rlimit old;
    static const char bytes[2000] = {0};
    limit_files(1000, &old);
    hdf_file f;
    hdf_begin(&f, new_file());
    assert_int_not_equal(hdf_put(&f, bytes, sizeof bytes), HDF_NOWHERE);
    check_that_it_failed(&f);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chunks),
        cmocka_unit_test(test_headers),
        cmocka_unit_test(test_long_text),
        cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_full_disk_at_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
