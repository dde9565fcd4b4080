/*
 * Contract: what png_write writes png_read reads back, byte for byte, with and without alpha, at odd sizes; a file that
 * can't be written leaves nothing behind; cut, damaged and foreign files are errors, never crashes.
 */
#include "cm.h"

#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "render/render.h"

static char dir[] = "/tmp/marey-test-png-XXXXXX";

static int set_up(void **state)
{
    (void)state;
    return mkdtemp(dir) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    return rmdir(dir); /* fails when a part was left behind */
}

static void path_of(char *out, size_t cap, const char *name)
{
    (void)snprintf(out, cap, "%s/%s", dir, name);
}

static uint8_t *random_pixels(int width, int height, bool opaque)
{
    size_t n = (size_t)width * (size_t)height * 4;
    uint8_t *pixels = malloc(n);
    assert_non_null(pixels);
    prng r;
    prng_seed(&r, n);
    for (size_t i = 0; i < n; i++) {
        pixels[i] = opaque && i % 4 == 3 ? 255 : (uint8_t)prng_next(&r);
    }
    return pixels;
}

static void round_trip(int width, int height, bool opaque)
{
    char path[256];
    path_of(path, sizeof path, "a.png");
    uint8_t *pixels = random_pixels(width, height, opaque);
    uint8_t *back = NULL;
    int w = 0;
    int h = 0;
    assert_int_equal(png_write(path, pixels, width, height, NULL), MAREY_OK);
    assert_int_equal(png_read(path, &back, &w, &h, NULL), MAREY_OK);
    assert_int_equal(w, width);
    assert_int_equal(h, height);
    assert_memory_equal(back, pixels, (size_t)w * (size_t)h * 4);
    free(back);
    free(pixels);
    assert_int_equal(unlink(path), 0);
}

static void reads_what_it_wrote(void **state)
{
    (void)state;
    round_trip(1, 1, true);
    round_trip(1, 1, false);
    round_trip(641, 37, true);
    round_trip(640, 37, false);
    round_trip(1, 5000, false);
}

static void bad_targets(void **state)
{
    (void)state;
    diag d;
    diag_init(&d);
    uint8_t pixels[4] = {1, 2, 3, 255};
    assert_int_equal(png_write("/nowhere/at/all.png", pixels, 1, 1, &d), MAREY_IO);
    assert_int_equal(png_write("/tmp/x.png", pixels, 0, 1, &d), MAREY_ARG);
    assert_int_equal(png_write("/tmp/x.png", pixels, 1, 20000, &d), MAREY_ARG);
    assert_int_equal(d.n_messages, 3);
    diag_deinit(&d);
}

static void check_damaged(const char *path, const char *bytes, size_t n)
{
    uint8_t *pixels = NULL;
    int w = 0;
    int h = 0;
    assert_int_equal(file_write_all(path, bytes, n, NULL), MAREY_OK);
    marey_status status = png_read(path, &pixels, &w, &h, NULL);
    assert_true(status == MAREY_FORMAT || status == MAREY_OK);
    assert_true((status == MAREY_OK) == (pixels != NULL));
    free(pixels);
}

static void damaged_files(void **state)
{
    (void)state;
    char path[256];
    char *bytes = NULL;
    size_t n = 0;
    path_of(path, sizeof path, "b.png");
    uint8_t *pixels = random_pixels(20, 20, false);
    assert_int_equal(png_write(path, pixels, 20, 20, NULL), MAREY_OK);
    free(pixels);
    assert_int_equal(file_read_all(path, 1 << 20, &bytes, &n, NULL), MAREY_OK);
    for (size_t cut = 0; cut < n; cut += 7) {
        check_damaged(path, bytes, cut);
    }
    prng r;
    prng_seed(&r, 5);
    for (int i = 0; i < 300; i++) {
        size_t at = prng_below(&r, n);
        char was = bytes[at];
        bytes[at] = (char)prng_next(&r);
        check_damaged(path, bytes, n);
        bytes[at] = was;
    }
    uint8_t *out = NULL;
    int w = 0;
    int h = 0;
    check_damaged(path, bytes, n / 2);
    assert_int_equal(png_read(path, &out, &w, &h, NULL), MAREY_FORMAT);
    free(bytes);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(png_read(path, &out, &w, &h, NULL), MAREY_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_it_wrote),
        cmocka_unit_test(bad_targets),
        cmocka_unit_test(damaged_files),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
