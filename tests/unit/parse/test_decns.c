/*
 * Decimal text to ns is exact: whatever the digits, the result is the value times 1000, rounded half to even, or it is
 * said to be no number or too large. Checked by hand and against 128-bit arithmetic on random decimals.
 */
#include "cm.h"

#include "base/clock.h"
#include "parse/decns.h"

static void check(const char *text, decns_result want_result, int64_t want)
{
    static const char behind[] = "7. ,";
    int64_t ns = 12345;
    decns_result result = decns_parse_us(text, strlen(text), &ns);
    if (result != want_result || (result == DECNS_OK && ns != want)) {
        print_error("\"%s\" gives %d %lld\n", text, (int)result, (long long)ns);
        fail();
    }
    for (size_t i = 0; i < sizeof behind; i++) { /* whatever follows it */
        char padded[64 + DECNS_PAD_BYTES];
        size_t n = strlen(text);
        memset(padded, behind[i], sizeof padded);
        memcpy(padded, text, n);
        result = decns_parse_us_padded(padded, n, &ns);
        if (result != want_result || (result == DECNS_OK && ns != want)) {
            print_error("\"%s\" before '%c' gives %d %lld\n", text, behind[i], (int)result, (long long)ns);
            fail();
        }
        int64_t plain = 0;
        assert_int_equal(decns_parse_us_padded_any(padded, n, &plain), result);
        assert_true(result != DECNS_OK || plain == ns);
    }
}

static void by_hand(void **state)
{
    (void)state;
    check("0", DECNS_OK, 0);
    check("-0.0", DECNS_OK, 0);
    check("1", DECNS_OK, 1000);
    check("1736405443862052.240", DECNS_OK, 1736405443862052240);
    check("4458676522690.655", DECNS_OK, 4458676522690655);
    check("12345678.901", DECNS_OK, 12345678901);
    check("123456789.012", DECNS_OK, 123456789012);
    check("0.001", DECNS_OK, 1);
    check("0.0005", DECNS_OK, 0);
    check("0.0015", DECNS_OK, 2);
    check("0.0025", DECNS_OK, 2);
    check("0.00250000000000000000000000000001", DECNS_OK, 3);
    check("0.0004999999999999999999999999", DECNS_OK, 0);
    check("-0.0025", DECNS_OK, -2);
    check("-17.5", DECNS_OK, -17500);
    check("1e3", DECNS_OK, 1000000);
    check("1E-3", DECNS_OK, 1);
    check("1.5e+2", DECNS_OK, 150000);
    check("0.00015e4", DECNS_OK, 1500);
    check("123.456e-100", DECNS_OK, 0);
    check("00012.5", DECNS_OK, 12500);
    check("0e999999999", DECNS_OK, 0);
    check("9223372036854775.807", DECNS_OK, INT64_MAX);
    check("-9223372036854775.807", DECNS_OK, -INT64_MAX);
    check("9223372036854775.808", DECNS_OVERFLOW, 0);
    check("-9223372036854775.808", DECNS_OVERFLOW, 0);
    check("9223372036854775.8075", DECNS_OVERFLOW, 0);
    check("9999999999999999", DECNS_OVERFLOW, 0);
    check("1e400", DECNS_OVERFLOW, 0);
    check("123456789012345678901234567890", DECNS_OVERFLOW, 0);
    static const char *const bad[] = {"",         "-",         ".",    "e5",       "1e",          "1e+", "NaN",
                                      "Infinity", "-Infinity", "null", "true",     "1,2",         "1 ",  " 1",
                                      "1.2.3",    "0x10",      "--1",  "12a45678", "1234567x.123"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        check(bad[i], DECNS_BAD, 0);
    }
}

__extension__ typedef __int128 wide;

/* value * 10^3 / 10^decimals, half to even. */
static wide expected(wide digits, int decimals)
{
    wide scale = 1;
    for (int i = 0; i < decimals; i++) {
        scale *= 10;
    }
    wide n = digits * 1000;
    wide q = n / scale;
    wide twice = (n % scale) * 2;
    return twice > scale || (twice == scale && q % 2 == 1) ? q + 1 : q;
}

static void against_wide_arithmetic(void **state)
{
    (void)state;
    prng r;
    prng_seed(&r, 99);
    for (int i = 0; i < 300000; i++) {
        char digits[32];
        char text[40];
        int n = 1 + (int)prng_below(&r, 22);
        int decimals = (int)prng_below(&r, 8);
        wide value = 0;
        for (int k = 0; k < n; k++) {
            int d = prng_below(&r, 3) ? (int)prng_below(&r, 10) : (prng_below(&r, 2) ? 5 : 0);
            digits[k] = (char)('0' + d);
            value = value * 10 + d;
        }
        digits[n] = '\0';
        decimals = decimals >= n ? n - 1 : decimals;
        if (decimals > 0) {
            (void)snprintf(text, sizeof text, "%.*s.%s", n - decimals, digits, digits + n - decimals);
        } else {
            (void)snprintf(text, sizeof text, "%s", digits);
        }
        wide want = expected(value, decimals);
        check(text, want > INT64_MAX ? DECNS_OVERFLOW : DECNS_OK, (int64_t)want);
    }
}

static void integers(void **state)
{
    (void)state;
    uint64_t u = 0;
    int64_t s = 0;
    assert_true(decns_parse_u64("18446744073709551615", 20, &u) && u == UINT64_MAX);
    assert_false(decns_parse_u64("18446744073709551616", 20, &u));
    assert_false(decns_parse_u64("99999999999999999999", 20, &u));
    assert_false(decns_parse_u64("", 0, &u));
    assert_false(decns_parse_u64("-1", 2, &u));
    assert_true(decns_parse_u64("0xFf", 4, &u) && u == 255);
    assert_false(decns_parse_u64("0x11111111111111111", 19, &u));
    assert_true(decns_parse_i64("-5.00", 5, &s) && s == -5);
    assert_false(decns_parse_i64("5.5", 3, &s));
    assert_false(decns_parse_i64("9223372036854775808", 19, &s));
}

static void reals(void **state)
{
    (void)state;
    double v = 0;
    assert_true(decns_parse_double("-3e2", 4, &v));
    assert_true(v > -300.5 && v < -299.5);
    assert_false(decns_parse_double("NaN", 3, &v));
    assert_false(decns_parse_double("1e999", 5, &v));
    assert_false(decns_parse_double("", 0, &v));
}

/* Integers read where more may be read are what they are by themselves, whatever follows. */
static void padded_integers(void **state)
{
    (void)state;
    static const char *const texts[] = {"",         "0",         "7",         "00000012",
                                        "99999999", "123456789", "100000000", "18446744073709551615",
                                        "1a",       "-1",        "12345.78",  "18446744073709551616",
                                        "0x1F",     "1234567:",  "/1",        "1234567\xB0"};
    static const char behind[] = "0,9 }\"\xFF";
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        for (size_t k = 0; k < sizeof behind; k++) {
            char padded[64];
            size_t n = strlen(texts[i]);
            memset(padded, behind[k], sizeof padded);
            memcpy(padded, texts[i], n);
            uint64_t want = 1;
            uint64_t got = 1;
            assert_int_equal(decns_parse_u64_padded(padded, n, &got), decns_parse_u64(texts[i], n, &want));
            assert_true(got == want);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_hand),  cmocka_unit_test(padded_integers), cmocka_unit_test(against_wide_arithmetic),
        cmocka_unit_test(integers), cmocka_unit_test(reals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
