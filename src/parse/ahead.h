/*
 * Unpacking ahead: a thread of its own reads a source into a ring of buffers while the caller works on what came
 * before. Pays for one large compressed file on a machine with a core to spare; where every core has a file of its own,
 * it does not. Owner: the caller, ahead_stop(). Thread: one caller at a time; the source belongs to the thread until
 * ahead_stop().
 */
#ifndef MAREY_PARSE_AHEAD_H
#define MAREY_PARSE_AHEAD_H

#include "parse/source.h"

typedef struct ahead ahead;

/** Begin. @return NULL when no thread can be had: read the source itself then */
ahead *ahead_start(source *s);
/** The next bytes, up to `cap`; 0 at the end. */
size_t ahead_read(ahead *a, void *dst, size_t cap);
/**
 * Instead of ahead_read(), which copies them: all bytes of the next buffer where they lie, until the next call.
 * AHEAD_FRONT_BYTES in front of them and AHEAD_PAD_BYTES behind are the caller's to write.
 * @return how many they are; 0 at the end
 */
enum { AHEAD_FRONT_BYTES = 64 * 1024, AHEAD_PAD_BYTES = 128 };
size_t ahead_take(ahead *a, char **text);
/** What source_bytes_in() was when the bytes read last came. */
uint64_t ahead_bytes_in(ahead *a);
/** Stop, join, and give back the source. */
void ahead_stop(ahead **a);

#endif
