/* What the first bytes of an input say that it is. */
#ifndef MAREY_READERS_HEAD_H
#define MAREY_READERS_HEAD_H

#include <stdbool.h>
#include <stddef.h>

enum { HEAD_BYTES = 64 * 1024 };

typedef enum head_kind { HEAD_EMPTY, HEAD_JSON, HEAD_PAGE, HEAD_TEXT, HEAD_OTHER } head_kind;

typedef struct head {
    head_kind kind;
    const char *what; /* for HEAD_OTHER: "is ..." */
    bool is_cut;      /* JSON, all of it seen, that ends before its last bracket does */
} head;

/** @param n HEAD_BYTES, or less where that is all there is */
head head_judge(const char *s, size_t n);
/** Does it contain that text? */
bool head_has(const char *s, size_t n, const char *what);

#endif
