/* PNG by libpng. Fast settings: a picture of flat areas is small at any level. */
#include <errno.h>
#include <png.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "render/render.h"

enum { PNG_MAX_SIDE = 16384, PNG_COMPRESSION = 3 };

/* What libpng's callbacks see: they note the message and jump. */
typedef struct png_job {
    jmp_buf jump;
    char message[160];
    png_structp png;
    png_infop info;
} png_job;

static void on_error(png_structp png, png_const_charp message)
{
    png_job *job = png_get_error_ptr(png);
    strncpy(job->message, message, sizeof job->message - 1);
    longjmp(job->jump, 1);
}

static void on_warning(png_structp png, png_const_charp message)
{
    (void)png, (void)message;
}

/* ---- writing ---- */

static bool is_opaque(const uint8_t *pixels, size_t n)
{
    uint8_t all = 255;
    for (size_t i = 0; i < n; i++) {
        all &= pixels[i * 4 + 3];
    }
    return all == 255;
}

static void drop_alpha(uint8_t *out, const uint8_t *row, int width)
{
    for (int x = 0; x < width; x++) {
        memcpy(out + (ptrdiff_t)x * 3, row + (ptrdiff_t)x * 4, 3);
    }
}

static void write_rows(png_job *job, FILE *file, const uint8_t *pixels, int width, int height, uint8_t *row)
{
    png_init_io(job->png, file);
    png_set_compression_level(job->png, PNG_COMPRESSION);
    png_set_filter(job->png, PNG_FILTER_TYPE_BASE, PNG_FILTER_SUB | PNG_FILTER_UP);
    png_set_IHDR(job->png, job->info, (png_uint_32)width, (png_uint_32)height, 8,
                 row ? PNG_COLOR_TYPE_RGB : PNG_COLOR_TYPE_RGB_ALPHA, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    png_set_sRGB_gAMA_and_cHRM(job->png, job->info, PNG_sRGB_INTENT_PERCEPTUAL);
    png_write_info(job->png, job->info);
    for (int y = 0; y < height; y++) {
        const uint8_t *from = pixels + (size_t)y * (size_t)width * 4;
        if (row) {
            drop_alpha(row, from, width);
        }
        png_write_row(job->png, row ? row : from);
    }
    png_write_end(job->png, job->info);
}

/* @return false with the job's message */
static bool encode(png_job *job, FILE *file, const uint8_t *pixels, int width, int height, uint8_t *row)
{
    job->png = png_create_write_struct(PNG_LIBPNG_VER_STRING, job, on_error, on_warning);
    job->info = job->png ? png_create_info_struct(job->png) : NULL;
    bool done = false;
    if (job->info && setjmp(job->jump) == 0) {
        write_rows(job, file, pixels, width, height, row);
        done = true;
    }
    png_destroy_write_struct(&job->png, &job->info);
    return done;
}

static bool side_ok(int side)
{
    return side >= 1 && side <= PNG_MAX_SIDE;
}

marey_status png_write(const char *path, const uint8_t *rgba_pixels, int width, int height, diag *d)
{
    if (!side_ok(width) || !side_ok(height)) {
        return diag_error(d, MAREY_ARG, path, DIAG_NO_OFFSET, "a picture of %d x %d can't be written", width, height);
    }
    file_aside aside;
    FILE *file = file_aside_stream(&aside, path);
    if (!file) {
        return diag_error(d, MAREY_IO, path, DIAG_NO_OFFSET, "can't be written: %s", strerror(errno));
    }
    bool opaque = is_opaque(rgba_pixels, (size_t)width * (size_t)height);
    uint8_t *row = opaque ? mem_alloc((size_t)width * 3) : NULL;
    png_job job = {.message = "out of memory"};
    bool done = encode(&job, file, rgba_pixels, width, height, row);
    free(row);
    bool closed = fclose(file) == 0;
    marey_status status;
    if (done && closed) {
        status = file_aside_commit(&aside, d);
    } else {
        status = diag_error(d, MAREY_IO, path, DIAG_NO_OFFSET, "writing the picture failed: %s",
                            done ? strerror(errno) : job.message);
        file_aside_discard(&aside);
    }
    return status;
}

/* ---- reading ---- */

/* Whatever the file holds becomes 8-bit RGBA. */
static void ask_for_rgba(png_job *job)
{
    png_set_expand(job->png);
    png_set_strip_16(job->png);
    png_set_gray_to_rgb(job->png);
    png_set_filler(job->png, 255, PNG_FILLER_AFTER);
    png_set_interlace_handling(job->png);
    png_read_update_info(job->png, job->info);
}

static void read_rows(png_job *job, FILE *file, uint8_t **pixels, int *width, int *height)
{
    png_init_io(job->png, file);
    png_set_user_limits(job->png, PNG_MAX_SIDE, PNG_MAX_SIDE);
    png_read_info(job->png, job->info);
    *width = (int)png_get_image_width(job->png, job->info);
    *height = (int)png_get_image_height(job->png, job->info);
    int passes = png_get_interlace_type(job->png, job->info) == PNG_INTERLACE_ADAM7 ? 7 : 1;
    ask_for_rgba(job);
    size_t row_bytes = (size_t)*width * 4;
    *pixels = mem_try_alloc(row_bytes * (size_t)*height);
    if (!*pixels || png_get_rowbytes(job->png, job->info) != row_bytes) {
        png_error(job->png, *pixels ? "unexpected row size" : "out of memory");
    }
    for (int pass = 0; pass < passes; pass++) {
        for (int y = 0; y < *height; y++) {
            png_read_row(job->png, *pixels + (size_t)y * row_bytes, NULL);
        }
    }
    png_read_end(job->png, NULL);
}

static bool decode(png_job *job, FILE *file, uint8_t **pixels, int *width, int *height)
{
    job->png = png_create_read_struct(PNG_LIBPNG_VER_STRING, job, on_error, on_warning);
    job->info = job->png ? png_create_info_struct(job->png) : NULL;
    bool done = false;
    if (job->info && setjmp(job->jump) == 0) {
        read_rows(job, file, pixels, width, height);
        done = true;
    }
    png_destroy_read_struct(&job->png, &job->info, NULL);
    return done;
}

marey_status png_read(const char *path, uint8_t **rgba_pixels, int *width, int *height, diag *d)
{
    *rgba_pixels = NULL;
    FILE *file = fopen(path, "rb");
    if (!file) {
        return diag_error(d, MAREY_IO, path, DIAG_NO_OFFSET, "can't be read: %s", strerror(errno));
    }
    png_job job = {.message = "out of memory"};
    bool done = decode(&job, file, rgba_pixels, width, height);
    (void)fclose(file);
    if (done) {
        return MAREY_OK;
    }
    free(*rgba_pixels);
    *rgba_pixels = NULL;
    return diag_error(d, MAREY_FORMAT, path, DIAG_NO_OFFSET, "is no picture that can be read: %s", job.message);
}
