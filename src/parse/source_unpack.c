/* gzip by ISA-L or zlib, and zstd. What comes before an error is always given out. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "parse/source_private.h"

static bool use_isal(const source *s)
{
    return MAREY_HAVE_ISAL && s->options.inflate == SOURCE_INFLATE_BEST;
}

/* What one call of a library did. */
typedef enum step { STEP_MORE, STEP_END_OF_MEMBER, STEP_BAD_CHECKSUM, STEP_BAD } step;

#if MAREY_HAVE_ISAL
static void isal_start(source *s)
{
    if (!s->isal) {
        s->isal = mem_alloc(sizeof *s->isal);
        isal_inflate_init(s->isal);
    } else {
        isal_inflate_reset(s->isal);
    }
    s->isal->crc_flag = ISAL_GZIP;
}

static step isal_step(source *s, uint8_t *dst, size_t cap, size_t *got)
{
    struct inflate_state *z = s->isal;
    raw_input *r = &s->raw;
    z->next_in = r->buf + r->at;
    z->avail_in = (uint32_t)(r->end - r->at);
    z->next_out = dst;
    z->avail_out = (uint32_t)(cap < (size_t)1 << 30 ? cap : (size_t)1 << 30);
    int result = isal_inflate(z);
    r->at = r->end - z->avail_in;
    *got = (size_t)(z->next_out - dst);
    if (result == ISAL_INCORRECT_CHECKSUM) {
        return STEP_BAD_CHECKSUM;
    }
    if (result < 0) {
        return STEP_BAD;
    }
    return z->block_state == ISAL_BLOCK_FINISH ? STEP_END_OF_MEMBER : STEP_MORE;
}
#else
static void isal_start(source *s)
{
    (void)s;
}

static step isal_step(source *s, uint8_t *dst, size_t cap, size_t *got)
{
    (void)s;
    (void)dst;
    (void)cap;
    *got = 0;
    return STEP_BAD;
}
#endif

static void zlib_start(source *s)
{
    if (s->z_open) {
        (void)inflateReset(&s->z);
        return;
    }
    memset(&s->z, 0, sizeof s->z);
    s->z_open = inflateInit2(&s->z, 15 + 16) == Z_OK;
}

static step zlib_step(source *s, uint8_t *dst, size_t cap, size_t *got)
{
    raw_input *r = &s->raw;
    *got = 0;
    if (!s->z_open) {
        return STEP_BAD;
    }
    s->z.next_in = r->buf + r->at;
    s->z.avail_in = (uInt)(r->end - r->at);
    s->z.next_out = dst;
    s->z.avail_out = (uInt)(cap < (size_t)1 << 30 ? cap : (size_t)1 << 30);
    int result = inflate(&s->z, Z_NO_FLUSH);
    r->at = r->end - s->z.avail_in;
    *got = (size_t)(s->z.next_out - dst);
    if (result == Z_STREAM_END) {
        return STEP_END_OF_MEMBER;
    }
    if (result == Z_OK || result == Z_BUF_ERROR) {
        return STEP_MORE;
    }
    bool checksum = s->z.msg && (strstr(s->z.msg, "data check") || strstr(s->z.msg, "length check"));
    return checksum ? STEP_BAD_CHECKSUM : STEP_BAD;
}

static void start_member(source *s)
{
    if (use_isal(s)) {
        isal_start(s);
    } else {
        zlib_start(s);
    }
    s->in_member = true;
}

void gzip_begin(source *s)
{
    start_member(s);
}

/* After a member: another one, or the end. Bytes behind it that are no member (padding, a signature) are left alone. */
static bool next_gzip_member(source *s)
{
    s->in_member = false;
    while (raw_fill(s) > 0 && s->raw.buf[s->raw.at] == 0) {
        s->raw.at++;
    }
    if (raw_fill(s) == 0) {
        return false;
    }
    if (s->raw.buf[s->raw.at] != 0x1F) {
        diag_note(s->options.diag, s->path, DIAG_NO_OFFSET, "bytes behind the end of the gzip stream were not read");
        return false;
    }
    start_member(s);
    return true;
}

size_t gzip_read(source *s, uint8_t *dst, size_t cap)
{
    for (unsigned idle = 0; idle < 1000;) {
        bool more = raw_fill(s) > 0;
        size_t before = s->raw.end - s->raw.at;
        size_t got = 0;
        step what = use_isal(s) ? isal_step(s, dst, cap, &got) : zlib_step(s, dst, cap, &got);
        if (what == STEP_BAD) {
            source_lose(s, MAREY_LOSS_DAMAGED, "compressed data");
            s->done = true;
            return got;
        }
        if (what == STEP_BAD_CHECKSUM) {
            source_lose(s, MAREY_LOSS_BAD_CHECKSUM, NULL);
        }
        bool stop = what != STEP_MORE && !next_gzip_member(s);
        if (got > 0 || stop) {
            s->done = stop;
            return got;
        }
        if (!more && what == STEP_MORE) {
            if (s->in_member) {
                source_lose(s, MAREY_LOSS_TRUNCATED, NULL);
            }
            return 0;
        }
        idle = s->raw.end - s->raw.at == before ? idle + 1 : 0;
    }
    return 0;
}

void gzip_end(source *s)
{
    if (s->z_open) {
        (void)inflateEnd(&s->z);
    }
    s->z_open = false;
#if MAREY_HAVE_ISAL
    free(s->isal);
    s->isal = NULL;
#endif
}

void zstd_begin(source *s)
{
    s->zstd = ZSTD_createDCtx();
}

size_t zstd_read(source *s, uint8_t *dst, size_t cap)
{
    for (;;) {
        bool more = raw_fill(s) > 0;
        raw_input *r = &s->raw;
        ZSTD_inBuffer in = {r->buf + r->at, r->end - r->at, 0};
        ZSTD_outBuffer out = {dst, cap, 0};
        size_t result = s->zstd ? ZSTD_decompressStream(s->zstd, &out, &in) : (size_t)-1;
        r->at += in.pos;
        bool bad = !s->zstd || ZSTD_isError(result);
        if (bad) {
            bool checksum = s->zstd && ZSTD_getErrorCode(result) == ZSTD_error_checksum_wrong;
            source_lose(s, checksum ? MAREY_LOSS_BAD_CHECKSUM : MAREY_LOSS_DAMAGED,
                        checksum ? NULL : "compressed data");
            s->done = true;
            return out.pos;
        }
        s->in_member = result != 0 && (s->in_member || in.pos > 0);
        if (out.pos > 0) {
            return out.pos;
        }
        if (!more) {
            if (s->in_member) {
                source_lose(s, MAREY_LOSS_TRUNCATED, NULL);
            }
            return 0;
        }
    }
}

void zstd_end(source *s)
{
    (void)ZSTD_freeDCtx(s->zstd);
    s->zstd = NULL;
}
