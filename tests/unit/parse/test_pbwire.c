/*
 * The protobuf wire decoder: every wire type with its exact value and offset; groups are skipped and their end must be
 * the right one; a field that does not fit (cut varint, length beyond the end, 2 GB lengths, field 0, wire types 6 and
 * 7) ends the message with the field's offset, and what came before was given; repeated numbers read packed and not;
 * random bytes never lead outside.
 */
#include "cm.h"

#include "base/clock.h"
#include "parse/pbwire.h"

#define OPEN(r, bytes) pb_open(r, bytes, sizeof(bytes) - 1)

static void wire_types(void **state)
{
    (void)state;
    pb_reader r;
    pb_field f;
    OPEN(&r, "\x08\x96\x01"
             "\x11\x00\x00\x00\x00\x00\x00\xF8\x3F"
             "\x1A\x03"
             "abc"
             "\x25\x00\x00\x20\xC1"
             "\xFA\xFF\xFF\xFF\x0F\x00");
    assert_true(pb_next(&r, &f) && f.number == 1 && f.wire == PB_VARINT && f.value == 150 && f.offset == 0);
    assert_true(pb_next(&r, &f) && f.number == 2 && f.wire == PB_FIXED64 && f.offset == 3);
    assert_true(pb_double(&f) == 1.5);
    assert_true(pb_next(&r, &f) && f.number == 3 && f.wire == PB_BYTES && f.size == 3);
    assert_memory_equal(f.data, "abc", 3);
    assert_true(pb_next(&r, &f) && f.number == 4 && f.wire == PB_FIXED32 && pb_float(&f) == -10.0F);
    assert_true(pb_next(&r, &f) && f.number == (1U << 29) - 1 && f.size == 0);
    assert_false(pb_next(&r, &f));
    assert_false(r.is_broken);
    assert_true(pb_zigzag(3) == -2 && pb_zigzag(4) == 2 && pb_zigzag(UINT64_MAX) == INT64_MIN);
}

static void negative_and_long_varints(void **state)
{
    (void)state;
    pb_reader r;
    pb_field f;
    OPEN(&r, "\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01\x08\x80\x00");
    assert_true(pb_next(&r, &f) && f.value == UINT64_MAX);
    assert_true(pb_next(&r, &f) && f.value == 0);
    assert_false(pb_next(&r, &f) || r.is_broken);
    OPEN(&r, "\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x02");
    assert_false(pb_next(&r, &f));
    assert_true(r.is_broken);
    OPEN(&r, "\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01");
    assert_false(pb_next(&r, &f));
    assert_true(r.is_broken);
}

static void inner_offsets(void **state)
{
    (void)state;
    pb_reader r;
    pb_reader in;
    pb_field f;
    OPEN(&r, "\x08\x01\x12\x04\x0A\x02\x10\x07\x18\x05");
    assert_true(pb_next(&r, &f));
    pb_enter(&in, &r, &f); /* no message: nothing in it */
    assert_false(pb_next(&in, &f) || in.is_broken);
    assert_true(pb_next(&r, &f) && f.number == 2);
    pb_enter(&in, &r, &f);
    assert_true(pb_next(&in, &f) && f.number == 1 && f.offset == 4);
    pb_reader deep;
    pb_enter(&deep, &in, &f);
    assert_true(pb_next(&deep, &f) && f.number == 2 && f.value == 7 && f.offset == 6);
    assert_false(pb_next(&deep, &f) || pb_next(&in, &f) || in.is_broken);
    assert_true(pb_next(&r, &f) && f.number == 3 && f.value == 5);
}

static void groups(void **state)
{
    (void)state;
    pb_reader r;
    pb_field f;
    OPEN(&r, "\x0B\x13\x10\x01\x1A\x01x\x14\x0C\x18\x05"); /* group 1 { group 2 { 2: 1, 3: "x" } } 3: 5 */
    assert_true(pb_next(&r, &f) && f.number == 3 && f.value == 5 && f.offset == 9);
    OPEN(&r, "\x18\x05\x0B\x14"); /* ended by another number */
    assert_true(pb_next(&r, &f));
    assert_false(pb_next(&r, &f));
    assert_true(r.is_broken && r.broken_at == 2);
    OPEN(&r, "\x0B\x10\x01"); /* never ended */
    assert_false(pb_next(&r, &f));
    assert_true(r.is_broken && r.broken_at == 0);
    uint8_t deep[20000];
    memset(deep, 0x0B, sizeof deep);
    memset(deep + 10000, 0x0C, 10000);
    pb_open(&r, deep, sizeof deep);
    assert_false(pb_next(&r, &f));
    assert_true(r.is_broken);
    pb_open(&r, deep + 9900, 200);
    assert_false(pb_next(&r, &f) || r.is_broken);
}

static void expect_broken(const char *bytes, size_t n, uint64_t at)
{
    pb_reader r;
    pb_field f;
    pb_open(&r, bytes, n);
    while (pb_next(&r, &f)) {
    }
    assert_true(r.is_broken);
    assert_true(r.broken_at == at);
    assert_false(pb_next(&r, &f));
}
#define BROKEN(bytes, at) expect_broken(bytes, sizeof(bytes) - 1, at)

static void damage(void **state)
{
    (void)state;
    BROKEN("\x08\x01\x08", 2);                 /* varint cut */
    BROKEN("\x08\x01\x08\x80", 2);             /* likewise */
    BROKEN("\x08\x01\x12\x05\x00\x00", 2);     /* shorter than its length */
    BROKEN("\x12\xFF\xFF\xFF\xFF\x07\x00", 0); /* 2 GB */
    BROKEN("\x12\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01\x00", 0);
    BROKEN("\x00\x01", 0);                         /* field 0 */
    BROKEN("\x0E\x01", 0);                         /* wire type 6 */
    BROKEN("\x0F\x01", 0);                         /* wire type 7 */
    BROKEN("\x0C", 0);                             /* a group's end without its beginning */
    BROKEN("\x0D\x01\x02\x03", 0);                 /* fixed32 cut */
    BROKEN("\x09\x01\x02\x03\x04\x05\x06\x07", 0); /* fixed64 cut */
    BROKEN("\xFF\xFF\xFF\xFF\xFF\x01\x00", 0);     /* a field number beyond 2^29 */
}

static void cut_field(void **state)
{
    (void)state;
    pb_reader r;
    pb_field f;
    OPEN(&r, "\x08\x01\x12\x05\x10\x07\x18");
    assert_true(pb_next(&r, &f));
    assert_false(pb_cut(&r, &f));
    assert_false(pb_next(&r, &f));
    assert_true(pb_cut(&r, &f) && f.number == 2 && f.size == 3 && f.offset == 2);
    pb_reader in;
    pb_enter(&in, &r, &f);
    assert_true(pb_next(&in, &f) && f.value == 7 && f.offset == 4);
    assert_false(pb_next(&in, &f));
    assert_false(pb_cut(&in, &f)); /* a varint is no part of anything */
}

static void packed(void **state)
{
    (void)state;
    pb_reader r;
    pb_field f;
    uint64_t sum = 0;
    uint64_t v = 0;
    OPEN(&r, "\x0A\x04\x01\x96\x01\x02\x08\x05\x0A\x00\x0A\x02\x07\x80");
    while (pb_next(&r, &f)) {
        for (size_t at = 0; pb_packed(&f, &at, &v);) {
            sum = sum * 1000 + v;
        }
    }
    assert_true(sum == UINT64_C(1150002005007)); /* the cut one at the end counts as none */
    OPEN(&r, "\x0A\x09\x00\x00\x80\x3F\x00\x00\x00\x40\x01\x0D\x00\x00\x40\x40");
    float floats = 0;
    while (pb_next(&r, &f)) {
        for (size_t at = 0; pb_packed_fixed(&f, &at, 4, &v);) {
            floats = floats * 10 + pb_float(&(pb_field){.value = v});
        }
    }
    assert_true(floats == 123.0F);
}

static void sniffing(void **state)
{
    (void)state;
    assert_true(pb_looks_like("\x08\x01\x12\x02zz", 6, 2, 10));
    assert_false(pb_looks_like("\x08\x01\x12\x02zz", 6, 1, 10));
    assert_true(pb_looks_like("\x08\x01\x12\x40zz", 6, 2, 10)); /* cut by the window */
    assert_false(pb_looks_like("", 0, 10, 10));
    assert_false(pb_looks_like("{\"nodes\": []}", 13, 20, 10));
    assert_false(pb_looks_like("HloModule m, entry", 18, 30, 10));
    assert_false(pb_looks_like("\x89PNG\r\n\x1A\n", 8, 20, 10));
}

static void random_bytes(void **state)
{
    (void)state;
    prng random;
    prng_seed(&random, 7);
    for (int i = 0; i < 200000; i++) {
        uint8_t bytes[48];
        size_t n = (size_t)prng_below(&random, sizeof bytes);
        for (size_t k = 0; k < n; k++) {
            bytes[k] = (uint8_t)(prng_below(&random, 3) ? prng_below(&random, 32) : prng_next(&random));
        }
        pb_reader r;
        pb_field f;
        uint64_t last = 0;
        pb_open(&r, bytes, n);
        for (bool first = true; pb_next(&r, &f); first = false) {
            assert_true(first || f.offset > last);
            last = f.offset;
            assert_true(f.number > 0 && f.offset < n);
            assert_true(f.wire != PB_BYTES || (f.data >= bytes && f.data + f.size <= bytes + n));
        }
        assert_true(!r.is_broken || r.broken_at < n);
        assert_true(!pb_cut(&r, &f) || f.data + f.size == bytes + n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wire_types),    cmocka_unit_test(negative_and_long_varints),
        cmocka_unit_test(inner_offsets), cmocka_unit_test(groups),
        cmocka_unit_test(damage),        cmocka_unit_test(cut_field),
        cmocka_unit_test(packed),        cmocka_unit_test(sniffing),
        cmocka_unit_test(random_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
