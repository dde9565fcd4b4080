/*
 * A source gives the bytes of plain, gzip (one or several members), zstd and zip input, told by content. Of a stream
 * that is cut or damaged it gives what came before, and counts the loss. Both libraries for gzip give the same.
 */
#include "cm.h"

#include <unistd.h>
#include <zip.h>
#include <zlib.h>
#include <zstd.h>

#include "base/mem.h"
#include "base/text.h"
#include "parse/source.h"

static strbuf sample_text(void)
{
    strbuf b = {0};
    for (int i = 0; i < 60000; i++) {
        strbuf_printf(&b, "line %d of %d\n", i, i * 7919 % 1000);
    }
    return b;
}

static strbuf gzip(const char *data, size_t n)
{
    strbuf out = {0};
    char *buf = mem_alloc(n + 1000);
    z_stream z = {0};
    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = (Bytef *)(uintptr_t)data;
    z.avail_in = (uInt)n;
    z.next_out = (Bytef *)buf;
    z.avail_out = (uInt)(n + 1000);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    strbuf_add(&out, buf, z.total_out);
    assert_int_equal(deflateEnd(&z), Z_OK);
    free(buf);
    return out;
}

typedef struct result {
    strbuf text;
    diag diag;
    size_t n_members;
} result;

static void drain(source *s, strbuf *out)
{
    char piece[1000];
    for (size_t got = 1; got > 0;) {
        got = source_read(s, piece, sizeof piece);
        strbuf_add(out, piece, got);
    }
}

static result unpack(const void *data, size_t n, source_inflate inflate)
{
    result r = {0};
    diag_init(&r.diag);
    source_options o = {.inflate = inflate, .diag = &r.diag, .file = diag_file(&r.diag, "memory")};
    source *s = NULL;
    assert_int_equal(source_open_memory(data, n, "memory", &o, &s), MAREY_OK);
    drain(s, &r.text);
    assert_int_equal(source_status(s), MAREY_OK);
    source_close(&s);
    return r;
}

static void end(result *r)
{
    strbuf_deinit(&r->text);
    diag_deinit(&r->diag);
}

static void expect(const void *data, size_t n, const char *want, size_t n_want, marey_loss loss, uint64_t count)
{
    static const source_inflate both[] = {SOURCE_INFLATE_BEST, SOURCE_INFLATE_ZLIB};
    for (int i = 0; i < 2; i++) {
        result r = unpack(data, n, both[i]);
        assert_int_equal(r.text.n, n_want);
        assert_memory_equal(strbuf_str(&r.text), want, n_want);
        assert_int_equal(diag_lost(&r.diag, loss), count);
        assert_int_equal(r.diag.n_losses, count);
        end(&r);
    }
}

static void plain_and_gzip(void **state)
{
    (void)state;
    strbuf text = sample_text();
    expect(text.s, text.n, text.s, text.n, MAREY_LOSS_DAMAGED, 0);
    expect("", 0, "", 0, MAREY_LOSS_DAMAGED, 0);
    strbuf gz = gzip(text.s, text.n);
    expect(gz.s, gz.n, text.s, text.n, MAREY_LOSS_DAMAGED, 0);
    strbuf two = gzip(text.s, 1000);
    strbuf rest = gzip(text.s + 1000, text.n - 1000);
    strbuf_add(&two, rest.s, rest.n);
    expect(two.s, two.n, text.s, text.n, MAREY_LOSS_DAMAGED, 0);
    strbuf_add(&two, "\0\0\0\0", 4);
    expect(two.s, two.n, text.s, text.n, MAREY_LOSS_DAMAGED, 0);
    strbuf_add(&two, "signature", 9);
    expect(two.s, two.n, text.s, text.n, MAREY_LOSS_DAMAGED, 0);
    strbuf empty = gzip("", 0);
    expect(empty.s, empty.n, "", 0, MAREY_LOSS_DAMAGED, 0);
    strbuf_deinit(&empty);
    strbuf_deinit(&two);
    strbuf_deinit(&rest);
    strbuf_deinit(&gz);
    strbuf_deinit(&text);
}

static void damaged_gzip(void **state)
{
    (void)state;
    strbuf text = sample_text();
    strbuf gz = gzip(text.s, text.n);
    gz.s[gz.n - 6] ^= 1; /* the checksum */
    expect(gz.s, gz.n, text.s, text.n, MAREY_LOSS_BAD_CHECKSUM, 1);
    gz.s[gz.n - 6] ^= 1;
    for (size_t cut = 15; cut < gz.n; cut += gz.n / 13) {
        static const source_inflate both[] = {SOURCE_INFLATE_BEST, SOURCE_INFLATE_ZLIB};
        for (int i = 0; i < 2; i++) {
            result r = unpack(gz.s, cut, both[i]);
            assert_true(r.text.n < text.n + 1 && r.text.n + 70000 > text.n / gz.n * cut);
            assert_memory_equal(strbuf_str(&r.text), text.s, r.text.n);
            assert_int_equal(diag_lost(&r.diag, MAREY_LOSS_TRUNCATED), 1);
            end(&r);
        }
    }
    memset(gz.s + gz.n / 2, 0xFF, 40);
    result r = unpack(gz.s, gz.n, SOURCE_INFLATE_BEST);
    assert_true(r.text.n > text.n / 4);
    assert_true(diag_lost(&r.diag, MAREY_LOSS_DAMAGED) + diag_lost(&r.diag, MAREY_LOSS_BAD_CHECKSUM) >= 1);
    end(&r);
    strbuf_deinit(&gz);
    strbuf_deinit(&text);
}

static void zstd(void **state)
{
    (void)state;
    strbuf text = sample_text();
    size_t cap = ZSTD_compressBound(text.n);
    char *out = mem_alloc(cap);
    ZSTD_CCtx *c = ZSTD_createCCtx();
    (void)ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, 1);
    size_t n = ZSTD_compress2(c, out, cap, text.s, text.n);
    assert_false(ZSTD_isError(n));
    (void)ZSTD_freeCCtx(c);
    expect(out, n, text.s, text.n, MAREY_LOSS_DAMAGED, 0);
    out[n - 1] ^= 1;
    result r = unpack(out, n, SOURCE_INFLATE_BEST);
    assert_int_equal(diag_lost(&r.diag, MAREY_LOSS_BAD_CHECKSUM), 1);
    end(&r);
    r = unpack(out, n / 2, SOURCE_INFLATE_BEST);
    assert_int_equal(diag_lost(&r.diag, MAREY_LOSS_TRUNCATED), 1);
    assert_memory_equal(strbuf_str(&r.text), text.s, r.text.n);
    end(&r);
    free(out);
    strbuf_deinit(&text);
}

static void add_member(zip_t *z, const char *name, const char *data, size_t n)
{
    zip_source_t *s = zip_source_buffer(z, data, n, 0);
    assert_non_null(s);
    assert_true(zip_file_add(z, name, s, 0) >= 0);
}

static void archive(void **state)
{
    (void)state;
    char path[] = "/tmp/marey-source-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    (void)close(fd);
    strbuf gz = gzip("second", 6);
    int error = 0;
    zip_t *z = zip_open(path, ZIP_CREATE | ZIP_TRUNCATE, &error);
    assert_non_null(z);
    assert_true(zip_dir_add(z, "folder", 0) >= 0);
    add_member(z, "folder/one.json", "first", 5);
    add_member(z, "two.json.gz", gz.s, gz.n);
    assert_int_equal(zip_close(z), 0);

    diag d;
    diag_init(&d);
    source_options o = {.diag = &d, .file = 0};
    source *s = NULL;
    strbuf text = {0};
    assert_int_equal(source_open(path, &o, &s), MAREY_OK);
    assert_int_equal(source_n_members(s), 2);
    assert_string_equal(source_member_name(s, 0), "folder/one.json");
    drain(s, &text);
    assert_string_equal(strbuf_str(&text), "first");
    assert_true(source_next_member(s));
    drain(s, &text);
    assert_string_equal(strbuf_str(&text), "firstsecond");
    assert_false(source_next_member(s));
    source_close(&s);

    strbuf member = {0};
    strbuf_printf(&member, "%s!/two.json.gz", path);
    strbuf_clear(&text);
    assert_int_equal(source_open(member.s, &o, &s), MAREY_OK);
    drain(s, &text);
    assert_string_equal(strbuf_str(&text), "second");
    assert_false(source_next_member(s));
    source_close(&s);
    strbuf_clear(&member);
    strbuf_printf(&member, "%s!/none", path);
    assert_int_equal(source_open(member.s, &o, &s), MAREY_FORMAT);
    assert_null(s);
    assert_int_equal(d.n_messages, 1);
    (void)unlink(path);
    diag_deinit(&d);
    strbuf_deinit(&member);
    strbuf_deinit(&text);
    strbuf_deinit(&gz);
}

static void what_cannot_be_opened(void **state)
{
    (void)state;
    diag d;
    diag_init(&d);
    source_options o = {.diag = &d};
    source *s = NULL;
    assert_int_equal(source_open("/nonexistent/file", &o, &s), MAREY_IO);
    assert_int_equal(source_open("/tmp", &o, &s), MAREY_IO);
    assert_int_equal(source_open_memory("PK\3\4 cut archive", 16, "memory", &o, &s), MAREY_FORMAT);
    assert_null(s);
    assert_int_equal(d.n_messages, 3);
    diag_deinit(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_and_gzip), cmocka_unit_test(damaged_gzip),          cmocka_unit_test(zstd),
        cmocka_unit_test(archive),        cmocka_unit_test(what_cannot_be_opened),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
