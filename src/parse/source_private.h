/* Inside the source: bytes as stored (`raw`), and one decoder on top of them. */
#ifndef MAREY_PARSE_SOURCE_PRIVATE_H
#define MAREY_PARSE_SOURCE_PRIVATE_H

#include <zip.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "parse/source.h"

#if MAREY_HAVE_ISAL
#include <isa-l/igzip_lib.h>
#endif

/* Of many inputs only the kind is asked for, which the first bytes tell. */
enum { SOURCE_RAW_BYTES = 256 * 1024, SOURCE_FIRST_BYTES = 4096 };

/* The stored bytes of a file, a piece of memory, or a member. */
typedef struct raw_input {
    int fd;                /* -1: none */
    const uint8_t *memory; /* NULL: none */
    size_t memory_size;
    size_t memory_at;
    zip_t *zip; /* NULL: no archive */
    zip_file_t *member;
    uint64_t bytes_in;
    uint64_t bytes_total;
    uint8_t *buf;
    size_t at, end; /* unread part of buf */
    bool eof;
    void *held; /* the whole file, see source_hold_text(); NULL */
    size_t held_bytes;
} raw_input;

typedef enum source_kind { SOURCE_PLAIN, SOURCE_GZIP, SOURCE_ZSTD } source_kind;

struct source {
    source_options options;
    char *path;
    marey_status status;
    raw_input raw;
    source_kind kind;
    bool done;      /* the decoder has nothing more to give */
    bool in_member; /* inside a gzip member or zstd frame: an end of the input here is too early */
    uint64_t n_out;
    z_stream z;
    bool z_open;
#if MAREY_HAVE_ISAL
    struct inflate_state *isal;
#endif
    ZSTD_DCtx *zstd;
    size_t *members; /* indices into the archive */
    size_t n_members;
    size_t cap_members;
    size_t member;
};

/** Fill the raw buffer when it is empty. @return unread bytes in it; 0 at the end */
size_t raw_fill(source *s);
void source_lose(source *s, marey_loss loss, const char *detail);

/* Decoders: begin() at the start of a stream, read() up to cap bytes (0: end), end() frees. */
void gzip_begin(source *s);
size_t gzip_read(source *s, uint8_t *dst, size_t cap);
void gzip_end(source *s);
void zstd_begin(source *s);
size_t zstd_read(source *s, uint8_t *dst, size_t cap);
void zstd_end(source *s);

marey_status archive_open(source *s);
bool archive_open_member(source *s, size_t index);
void archive_close(source *s);

#endif
