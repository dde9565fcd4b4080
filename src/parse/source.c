#include "parse/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "parse/source_private.h"

void source_lose(source *s, marey_loss loss, const char *detail)
{
    diag_lose(s->options.diag, loss, s->options.file, s->n_out, 1, detail);
}

static void fail_read(source *s, const char *why)
{
    s->status = diag_error(s->options.diag, MAREY_IO, s->path, s->raw.bytes_in, "reading failed: %s", why);
    s->raw.eof = true;
}

/* One read of the system, up to `cap` bytes: 0 at the end. */
static size_t raw_read(source *s, uint8_t *dst, size_t cap)
{
    raw_input *r = &s->raw;
    if (r->member) {
        zip_int64_t got = zip_fread(r->member, dst, cap);
        if (got < 0) {
            source_lose(s, MAREY_LOSS_DAMAGED, "compressed data");
        }
        return got > 0 ? (size_t)got : 0;
    }
    if (r->memory) {
        size_t left = r->memory_size - r->memory_at;
        size_t n = left < cap ? left : cap;
        memcpy(dst, r->memory + r->memory_at, n);
        r->memory_at += n;
        return n;
    }
    ssize_t got = -1;
    do {
        got = read(r->fd, dst, cap);
    } while (got < 0 && errno == EINTR);
    if (got < 0) {
        fail_read(s, strerror(errno));
    }
    return got > 0 ? (size_t)got : 0;
}

size_t raw_fill(source *s)
{
    raw_input *r = &s->raw;
    if (r->at == r->end && !r->eof) {
        r->at = 0;
        r->end = raw_read(s, r->buf, r->bytes_in == 0 ? SOURCE_FIRST_BYTES : SOURCE_RAW_BYTES);
        r->eof = r->end == 0;
        r->bytes_in += r->end;
    }
    return r->end - r->at;
}

static bool starts_with(const raw_input *r, const char *magic, size_t n)
{
    return r->end - r->at >= n && memcmp(r->buf + r->at, magic, n) == 0;
}

static source_kind sniff(const raw_input *r)
{
    if (starts_with(r, "\x1f\x8b\x08", 3)) {
        return SOURCE_GZIP;
    }
    bool skippable =
        r->end - r->at >= 4 && (r->buf[r->at] & 0xF0) == 0x50 && memcmp(r->buf + r->at + 1, "\x2a\x4d\x18", 3) == 0;
    return starts_with(r, "\x28\xb5\x2f\xfd", 4) || skippable ? SOURCE_ZSTD : SOURCE_PLAIN;
}

static void stop_decoder(source *s)
{
    if (s->kind == SOURCE_GZIP) {
        gzip_end(s);
    } else if (s->kind == SOURCE_ZSTD) {
        zstd_end(s);
    }
    s->kind = SOURCE_PLAIN;
}

/* A new stream of stored bytes lies ahead: look at its first bytes and choose the decoder. */
static void start_stream(source *s)
{
    s->done = false;
    s->in_member = false;
    s->n_out = 0;
    (void)raw_fill(s);
    s->kind = sniff(&s->raw);
    if (s->kind == SOURCE_GZIP) {
        gzip_begin(s);
    } else if (s->kind == SOURCE_ZSTD) {
        zstd_begin(s);
    }
}

/* What was looked at comes first; the rest goes straight to where it is wanted. */
static size_t plain_read(source *s, uint8_t *dst, size_t cap)
{
    raw_input *r = &s->raw;
    if (r->at < r->end) {
        size_t n = r->end - r->at < cap ? r->end - r->at : cap;
        memcpy(dst, r->buf + r->at, n);
        r->at += n;
        return n;
    }
    size_t n = r->eof ? 0 : raw_read(s, dst, cap);
    r->eof = n == 0;
    r->bytes_in += n;
    return n;
}

size_t source_read(source *s, void *dst, size_t cap)
{
    if (s->done || cap == 0) {
        return 0;
    }
    size_t n = 0;
    if (s->kind == SOURCE_GZIP) {
        n = gzip_read(s, dst, cap);
    } else if (s->kind == SOURCE_ZSTD) {
        n = zstd_read(s, dst, cap);
    } else {
        n = plain_read(s, dst, cap);
    }
    s->n_out += n;
    s->done = s->done || n == 0;
    return n;
}

static source *make(const source_options *options, const char *path, size_t n_path)
{
    source *s = mem_calloc(1, sizeof *s);
    s->options = *options;
    s->path = mem_strndup(path, n_path);
    s->raw.fd = -1;
    s->raw.buf = mem_alloc(SOURCE_RAW_BYTES);
    return s;
}

static marey_status begin(source *s, const char *member)
{
    (void)raw_fill(s);
    if (!starts_with(&s->raw, "PK\x03\x04", 4) && !starts_with(&s->raw, "PK\x05\x06", 4)) {
        if (member) {
            return diag_error(s->options.diag, MAREY_FORMAT, s->path, 0, "is no zip archive, so it has no \"%s\"",
                              member);
        }
        start_stream(s);
        return MAREY_OK;
    }
    marey_status status = archive_open(s);
    if (status != MAREY_OK) {
        return status;
    }
    for (size_t i = 0; i < s->n_members; i++) {
        if (!member || strcmp(source_member_name(s, i), member) == 0) {
            if (!archive_open_member(s, i)) {
                return diag_error(s->options.diag, MAREY_FORMAT, s->path, DIAG_NO_OFFSET,
                                  "the archive's member \"%s\" cannot be unpacked", source_member_name(s, i));
            }
            if (member) {
                s->n_members = 1;
                s->members[0] = s->members[i];
                s->member = 0;
            }
            start_stream(s);
            return MAREY_OK;
        }
    }
    if (member) {
        return diag_error(s->options.diag, MAREY_FORMAT, s->path, DIAG_NO_OFFSET, "the archive has no member \"%s\"",
                          member);
    }
    s->done = true; /* an archive without files is an empty stream */
    return MAREY_OK;
}

static marey_status finish_open(source *s, const char *member, source **out)
{
    marey_status status = begin(s, member);
    if (status != MAREY_OK) {
        source_close(&s);
    }
    *out = s;
    return status;
}

marey_status source_open(const char *path, const source_options *options, source **out)
{
    *out = NULL;
    const char *bang = strstr(path, "!/");
    struct stat info;
    if (bang && stat(path, &info) == 0) {
        bang = NULL; /* a file that really has such a name */
    }
    source *s = make(options, path, bang ? (size_t)(bang - path) : strlen(path));
    s->raw.fd = open(s->path, O_RDONLY | O_CLOEXEC);
    if (s->raw.fd < 0 || fstat(s->raw.fd, &info) != 0 || S_ISDIR(info.st_mode)) {
        const char *why = s->raw.fd < 0 ? strerror(errno) : "it is a folder";
        marey_status status = diag_error(options->diag, MAREY_IO, path, DIAG_NO_OFFSET, "cannot be opened: %s", why);
        source_close(&s);
        return status;
    }
    s->raw.bytes_total = S_ISREG(info.st_mode) && info.st_size > 0 ? (uint64_t)info.st_size : 0;
    return finish_open(s, bang ? bang + 2 : NULL, out);
}

marey_status source_open_memory(const void *data, size_t size, const char *name, const source_options *options,
                                source **out)
{
    *out = NULL;
    source *s = make(options, name, strlen(name));
    s->raw.memory = data ? data : (const uint8_t *)"";
    s->raw.memory_size = size;
    s->raw.bytes_total = size;
    return finish_open(s, NULL, out);
}

void source_close(source **ps)
{
    source *s = *ps;
    if (!s) {
        return;
    }
    stop_decoder(s);
    archive_close(s);
    source_let_go(s);
    if (s->raw.fd >= 0) {
        (void)close(s->raw.fd);
    }
    free(s->members);
    free(s->raw.buf);
    free(s->path);
    free(s);
    *ps = NULL;
}

bool source_next_member(source *s)
{
    while (s->raw.zip && s->member + 1 < s->n_members) {
        stop_decoder(s);
        if (archive_open_member(s, s->member + 1)) {
            start_stream(s);
            return true;
        }
        source_lose(s, MAREY_LOSS_UNREADABLE, "a member of the archive");
    }
    return false;
}

const void *source_text(const source *s, size_t *n)
{
    bool plain = s->raw.memory && !s->raw.zip && s->kind == SOURCE_PLAIN;
    *n = plain ? s->raw.memory_size : 0;
    return plain ? s->raw.memory : NULL;
}

bool source_is_packed(const source *s)
{
    return s->kind != SOURCE_PLAIN || s->raw.zip;
}

bool source_is_open_text(const source *s)
{
    return !source_is_packed(s) && (s->raw.memory || (s->raw.fd >= 0 && s->raw.bytes_total > 0));
}

bool source_read_at(const source *s, void *dst, size_t cap, uint64_t offset, size_t *got)
{
    const raw_input *r = &s->raw;
    *got = 0;
    if (r->memory) {
        size_t left = offset < r->memory_size ? r->memory_size - (size_t)offset : 0;
        *got = left < cap ? left : cap;
        if (*got > 0) {
            memcpy(dst, r->memory + offset, *got);
        }
        return true;
    }
    for (ssize_t n = 1; *got < cap && n != 0;) {
        n = offset + *got <= INT64_MAX ? pread(r->fd, (char *)dst + *got, cap - *got, (off_t)(offset + *got)) : 0;
        if (n < 0 && errno != EINTR) {
            return false;
        }
        *got += n > 0 ? (size_t)n : 0;
    }
    return true;
}

void source_seek(source *s, uint64_t offset)
{
    raw_input *r = &s->raw;
    r->at = r->end = 0;
    r->bytes_in = s->n_out = offset;
    r->memory_at = offset < r->memory_size ? (size_t)offset : r->memory_size;
    r->eof = r->fd >= 0 && lseek(r->fd, (off_t)offset, SEEK_SET) < 0;
    s->done = false;
}

marey_status source_status(const source *s)
{
    return s->status;
}

uint64_t source_bytes_in(const source *s)
{
    return s->raw.bytes_in < s->raw.bytes_total || s->raw.bytes_total == 0 ? s->raw.bytes_in : s->raw.bytes_total;
}

uint64_t source_bytes_total(const source *s)
{
    return s->raw.bytes_total;
}
