/*
 * Memory. Three lifetimes: arenas (freed as a whole), vectors (grow, owned by one struct), and the cache's slabs.
 *
 * The plain functions end the program with a message when the system has no memory left: their sizes come from our own
 * structures. A size that comes from input goes through mem_try_* , which return NULL, after a check against a limit.
 */
#ifndef MAREY_BASE_MEM_H
#define MAREY_BASE_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void *mem_alloc(size_t size); /* not cleared */
/* As mem_alloc(), for megabytes that are soon written from end to end: in huge pages where the system lends them. */
void *mem_alloc_large(size_t size);
void *mem_calloc(size_t n, size_t size);                 /* cleared */
void *mem_realloc_array(void *p, size_t n, size_t size); /* n * size is checked */
char *mem_strdup(const char *s);                         /* NULL -> NULL */
char *mem_strndup(const char *s, size_t n);
void *mem_try_alloc(size_t size);                            /* NULL when there is none */
void *mem_try_realloc_array(void *p, size_t n, size_t size); /* NULL when there is none or n * size overflows */

/*
 * A growing array: declare `T *items; size_t n, cap;` and push through these.
 *     VEC_PUSH(v->items, v->n, v->cap, value);
 *     VEC_RESERVE(v->items, v->cap, wanted);
 */
#define VEC_RESERVE(items, cap, wanted)                                                                                \
    do {                                                                                                               \
        size_t vec_wanted_ = (wanted);                                                                                 \
        if (vec_wanted_ > (cap)) {                                                                                     \
            size_t vec_cap_ = (cap) ? (cap) : 16;                                                                      \
            while (vec_cap_ < vec_wanted_) {                                                                           \
                vec_cap_ += vec_cap_ / 2 + 1;                                                                          \
            }                                                                                                          \
            (items) = mem_realloc_array((void *)(items), vec_cap_, sizeof *(items));                                   \
            (cap) = vec_cap_;                                                                                          \
        }                                                                                                              \
    } while (0)

#define VEC_PUSH(items, n, cap, value)                                                                                 \
    do {                                                                                                               \
        VEC_RESERVE(items, cap, (n) + 1);                                                                              \
        (items)[(n)++] = (value);                                                                                      \
    } while (0)

/* An arena: many small allocations, one free. Not cleared, 16-byte aligned. Thread: one at a time. */
typedef struct arena_chunk arena_chunk;
typedef struct arena {
    arena_chunk *head;
    size_t used;       /* in head */
    size_t chunk_size; /* 0: 64 KiB */
    size_t total;      /* bytes reserved */
} arena;

void *arena_alloc(arena *a, size_t size);
char *arena_strndup(arena *a, const char *s, size_t n); /* adds the NUL */
void arena_reset(arena *a);                             /* keeps one chunk for reuse */
void arena_deinit(arena *a);

/** From now on the process keeps up to `bytes` of what it frees for its next needs, instead of handing it to the system
 * and asking for other, cleared pages soon after: for work in phases, each of which frees what the next one allocates.
 * Single pieces of MEM_KEEP_PIECE bytes and more still go back at once. */
enum { MEM_KEEP_PIECE = 4 << 20 };
void mem_keep_freed(size_t bytes);
/** After mem_keep_freed(): single huge pages (mem_alloc_large()) are kept, too. They need twice their size to be
 * aligned, and leave gaps: where much is allocated, that costs more memory than it saves time. */
void mem_keep_huge(void);
/** Freed memory that the allocator keeps goes back to the system: after something large is done. */
void mem_give_back(void);
/** From now on single pieces of MEM_KEEP_PIECE bytes and more go back at once: else the allocator keeps back what is
 *  smaller than the largest that it ever saw freed. For the whole process. */
void mem_set_large_apart(void);
/** Peak resident memory of this process in bytes, or 0 where the system doesn't say. */
uint64_t mem_peak_rss(void);

#endif
