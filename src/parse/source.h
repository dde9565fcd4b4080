/*
 * Where input bytes come from: a plain file, gzip (one or several members), zstd, or the members of a zip archive; told
 * by content, never by name. Members of an archive may be compressed themselves.
 *
 * A stream that ends too early or is damaged gives all bytes before that, and counts a loss (TRUNCATED, DAMAGED,
 * BAD_CHECKSUM) in the diag. Memory: two buffers of 256 KiB, whatever the size of the input.
 * Owner: the caller, source_close(). Thread: one at a time.
 */
#ifndef MAREY_PARSE_SOURCE_H
#define MAREY_PARSE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"

typedef struct source source;

/* What unpacks gzip: the faster library where it was built in, or zlib. Results are the same. */
typedef enum source_inflate { SOURCE_INFLATE_BEST, SOURCE_INFLATE_ZLIB } source_inflate;

typedef struct source_options {
    source_inflate inflate;
    diag *diag;    /* may be NULL */
    uint32_t file; /* diag_file() id for losses */
} source_options;

/**
 * Open a file. `path` may name a member of an archive: "runs.zip!/rank0.json".
 * A plain path to an archive gives its first member; source_next_member() goes on.
 *
 * @return OK; IO when it can't be opened; FORMAT for an archive that can't be read
 */
marey_status source_open(const char *path, const source_options *options, source **out);
/** The same from memory, which must live as long as the source. `name` is for messages. */
marey_status source_open_memory(const void *data, size_t size, const char *name, const source_options *options,
                                source **out);
void source_close(source **s);

/** The next bytes, up to `cap`; 0 at the end. Errors of the system end the stream; see source_status(). */
size_t source_read(source *s, void *dst, size_t cap);
/** The whole text, where it lies plain in memory; NULL for all other sources. */
const void *source_text(const source *s, size_t *n);
/** Does reading it cost unpacking? */
bool source_is_packed(const source *s);
/** May its text be read at any offset? A regular file or memory, and not packed. */
bool source_is_open_text(const source *s);
/**
 * Of such a source: `cap` bytes of the text at an offset; less where it ends. On any thread, beside all else but
 * source_close(). It moves nothing and says nothing of errors.
 *
 * @return false: reading failed
 */
bool source_read_at(const source *s, void *dst, size_t cap, uint64_t offset, size_t *got);
/** Of such a source: source_read() goes on at an offset. */
void source_seek(source *s, uint64_t offset);
/** OK, or IO when reading failed (a message was added). */
marey_status source_status(const source *s);

/* ------------------------------------------------------------------ text where it lies */

/**
 * The whole text of a large file that is not packed, where it lies, without a copy, until source_let_go(). What is
 * touched is looked at first. While it is held nobody can open the file for writing, but has to wait: so it is held in
 * steps that take milliseconds, each with its look, and let go when one is refused.
 *
 * @param n the file's bytes; nothing behind them may be touched
 * @return NULL: it has to be read
 */
const char *source_hold_text(source *s, size_t *n);
/** Of such a text: before these bytes are touched. On any thread. @return false: they must not be, let it go */
bool source_look(const source *s, uint64_t offset, size_t n);
/** They are not wanted any more: their memory goes back. They may be looked at again. On any thread. */
void source_look_away(const source *s, uint64_t offset, size_t n);
/** Nothing of the text may be touched any more. */
void source_let_go(source *s);

/** Members of the archive that are files (0: not an archive). */
size_t source_n_members(const source *s);
const char *source_member_name(const source *s, size_t i);
const char *source_current_member(const source *s); /* "" when it is no archive */
/** Go to the archive's next member. @return false when there is none */
bool source_next_member(source *s);

uint64_t source_bytes_in(const source *s);    /* as stored, read so far */
uint64_t source_bytes_total(const source *s); /* as stored; 0 when unknown */

#endif
