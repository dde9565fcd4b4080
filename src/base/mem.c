#include "base/mem.h"

#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

static _Noreturn void no_memory(size_t size)
{
    (void)fprintf(stderr, "marey: error: out of memory (%zu bytes wanted)\n", size);
    exit(1);
}

void *mem_try_alloc(size_t size)
{
    return malloc(size ? size : 1);
}

void *mem_try_realloc_array(void *p, size_t n, size_t size)
{
    size_t bytes = 0;
    if (__builtin_mul_overflow(n, size, &bytes)) {
        return NULL;
    }
    return realloc(p, bytes ? bytes : 1);
}

void *mem_alloc(size_t size)
{
    void *p = mem_try_alloc(size);
    if (!p) {
        no_memory(size);
    }
    return p;
}

void *mem_alloc_large(size_t size)
{
    const size_t page = (size_t)2 << 20;
    if (size < page) {
        return mem_alloc(size);
    }
    if (size > SIZE_MAX - page) {
        no_memory(size);
    }
    size_t whole = (size + page - 1) & ~(page - 1);
    void *p = aligned_alloc(page, whole);
    if (!p) {
        no_memory(size);
    }
#ifdef MADV_HUGEPAGE
    (void)madvise(p, whole, MADV_HUGEPAGE); /* a wish: without it the memory is as good */
#endif
    return p;
}

void *mem_calloc(size_t n, size_t size)
{
    void *p = calloc(n ? n : 1, size ? size : 1);
    if (!p) {
        no_memory(n * size);
    }
    return p;
}

void *mem_realloc_array(void *p, size_t n, size_t size)
{
    void *q = mem_try_realloc_array(p, n, size);
    if (!q) {
        no_memory(n * size);
    }
    return q;
}

char *mem_strndup(const char *s, size_t n)
{
    char *copy = mem_alloc(n + 1);
    memcpy(copy, s, n);
    copy[n] = '\0';
    return copy;
}

char *mem_strdup(const char *s)
{
    return s ? mem_strndup(s, strlen(s)) : NULL;
}

struct arena_chunk {
    arena_chunk *next;
    size_t size;
    _Alignas(16) unsigned char data[];
};

static void add_chunk(arena *a, size_t size)
{
    arena_chunk *c = mem_alloc(sizeof *c + size);
    c->next = a->head;
    c->size = size;
    a->head = c;
    a->used = 0;
    a->total += size;
}

void *arena_alloc(arena *a, size_t size)
{
    size_t need = (size + 15) & ~(size_t)15;
    if (!a->head || a->head->size - a->used < need) {
        size_t chunk = a->chunk_size ? a->chunk_size : (size_t)64 * 1024;
        add_chunk(a, need > chunk ? need : chunk);
    }
    void *p = a->head->data + a->used;
    a->used += need;
    return p;
}

char *arena_strndup(arena *a, const char *s, size_t n)
{
    char *copy = arena_alloc(a, n + 1);
    memcpy(copy, s, n);
    copy[n] = '\0';
    return copy;
}

static void free_chunks(arena_chunk *c)
{
    while (c) {
        arena_chunk *next = c->next;
        free(c);
        c = next;
    }
}

void arena_reset(arena *a)
{
    if (!a->head) {
        return;
    }
    free_chunks(a->head->next);
    a->head->next = NULL;
    a->used = 0;
    a->total = a->head->size;
}

void arena_deinit(arena *a)
{
    free_chunks(a->head);
    *a = (arena){.chunk_size = a->chunk_size};
}

void mem_keep_freed(size_t bytes)
{
#ifdef __GLIBC__
    (void)mallopt(M_TRIM_THRESHOLD, bytes > INT_MAX ? INT_MAX : (int)bytes);
#else
    (void)bytes;
#endif
    mem_set_large_apart();
}

void mem_keep_huge(void)
{
#ifdef __GLIBC__
    enum { SOME = 64 << 10 };
    (void)mallopt(M_MMAP_THRESHOLD, MEM_KEEP_PIECE + SOME);
#endif
}

void mem_give_back(void)
{
#ifdef __GLIBC__
    (void)malloc_trim(0);
#endif
}

void mem_set_large_apart(void)
{
#ifdef __GLIBC__
    (void)mallopt(M_MMAP_THRESHOLD, MEM_KEEP_PIECE);
#endif
}

uint64_t mem_peak_rss(void)
{
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) != 0) {
        return 0;
    }
    return (uint64_t)usage.ru_maxrss * 1024;
}
