/*
 * A harness without libFuzzer: runs it over the files and folders named, then over mutated copies of them. The same
 * seed gives the same inputs on every machine.
 *
 *   fuzz_X PATH... [--mutations N] [--seed S]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { INPUT_BYTES_MAX = 1 << 20, GROWTH_BYTES = 512 };

typedef struct input {
    char *data;
    size_t n;
} input;

typedef struct corpus {
    input *items;
    size_t n, cap;
} corpus;

static void add_file(corpus *c, const char *path)
{
    input in = {0};
    if (file_read_all(path, INPUT_BYTES_MAX, &in.data, &in.n, NULL) == MAREY_OK) {
        VEC_PUSH(c->items, c->n, c->cap, in);
    }
}

static void add_path(corpus *c, const char *path)
{
    if (!file_is_dir(path)) {
        add_file(c, path);
        return;
    }
    arena names = {0};
    char **paths = NULL;
    size_t n = 0;
    (void)file_list(path, &names, &paths, &n, NULL);
    for (size_t i = 0; i < n; i++) {
        add_file(c, paths[i]);
    }
    free((void *)paths);
    arena_deinit(&names);
}

static size_t copy_piece(char *data, size_t n, const input *other, prng *r)
{
    if (other->n == 0 || n == 0) {
        return n;
    }
    size_t from = (size_t)prng_below(r, other->n);
    size_t to = (size_t)prng_below(r, n);
    size_t len = 1 + (size_t)prng_below(r, 200);
    len = len < other->n - from ? len : other->n - from;
    len = len < n - to ? len : n - to;
    memcpy(data + to, other->data + from, len);
    return n;
}

static size_t remove_piece(char *data, size_t n, prng *r)
{
    size_t at = (size_t)prng_below(r, n);
    size_t len = (size_t)prng_below(r, n - at < 100 ? n - at : 100);
    memmove(data + at, data + at + len, n - at - len);
    return n - len;
}

static size_t double_piece(char *data, size_t n, size_t cap, prng *r)
{
    size_t at = (size_t)prng_below(r, n);
    size_t len = (size_t)prng_below(r, n - at < 100 ? n - at : 100);
    if (n + len > cap) {
        return n;
    }
    memmove(data + at + len, data + at, n - at);
    return n + len;
}

static size_t mutate(const corpus *c, char *data, size_t n, size_t cap, prng *r)
{
    static const char marks[] = "\"\\{}[]:,\n 0123-+.eE<>&;=%\xFF\xC3\0";
    for (uint64_t k = 1 + prng_below(r, 8); k > 0 && n > 0; k--) {
        switch (prng_below(r, 7)) {
        case 0:
        case 1:
            data[prng_below(r, n)] = marks[prng_below(r, sizeof marks - 1)];
            break;
        case 2:
            data[prng_below(r, n)] = (char)prng_next(r);
            break;
        case 3:
            n = remove_piece(data, n, r);
            break;
        case 4:
            n = double_piece(data, n, cap, r);
            break;
        case 5:
            n = copy_piece(data, n, &c->items[prng_below(r, c->n)], r);
            break;
        default:
            n = prng_below(r, 10) == 0 ? (size_t)prng_below(r, n) : n;
            break;
        }
    }
    return n;
}

static void run_one(const char *data, size_t n)
{
    /* A copy of its own size, so that a read past the end is seen. */
    uint8_t *copy = mem_alloc(n);
    if (n > 0) {
        memcpy(copy, data, n);
    }
    (void)LLVMFuzzerTestOneInput(copy, n);
    free(copy);
}

int main(int argc, char **argv)
{
    corpus c = {0};
    uint64_t n_mutations = 0;
    uint64_t seed = 1;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--mutations") == 0 && i + 1 < argc) {
            n_mutations = strtoull(argv[++i], NULL, 10);
        } else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc) {
            seed = strtoull(argv[++i], NULL, 10);
        } else {
            add_path(&c, argv[i]);
        }
    }
    if (c.n == 0) {
        (void)fprintf(stderr, "no inputs\n");
        return 2;
    }
    for (size_t i = 0; i < c.n; i++) {
        run_one(c.items[i].data, c.items[i].n);
    }
    prng r;
    prng_seed(&r, seed);
    char *data = mem_alloc(INPUT_BYTES_MAX + GROWTH_BYTES);
    for (uint64_t i = 0; i < n_mutations; i++) {
        const input *in = &c.items[prng_below(&r, c.n)];
        if (in->n > 0) {
            memcpy(data, in->data, in->n);
        }
        run_one(data, mutate(&c, data, in->n, in->n + GROWTH_BYTES, &r));
    }
    printf("%zu inputs and %llu mutations, seed %llu\n", c.n, (unsigned long long)n_mutations,
           (unsigned long long)seed);
    for (size_t i = 0; i < c.n; i++) {
        free(c.items[i].data);
    }
    free(c.items);
    free(data);
    return 0;
}
