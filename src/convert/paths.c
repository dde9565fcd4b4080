#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "convert/source.h"

enum { RANK_DIGITS = 6 };

typedef struct input_list {
    convert_source *sources;
    bool *may_fail;
    size_t n, cap, cap_may_fail;
    arena names;
} input_list;

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The number behind `word` ("rank-34", "rank_2", "rank=7", "worker3"); -1: there is none. */
static int64_t number_behind(const char *name, const char *word)
{
    for (const char *p = name; (p = strcasestr(p, word)) != NULL; p++) {
        const char *q = p + strlen(word);
        q += *q == '-' || *q == '_' || *q == '=' || *q == '.';
        size_t n = strspn(q, "0123456789");
        if (n > 0 && n <= RANK_DIGITS) {
            return strtoll(q, NULL, 10);
        }
    }
    return -1;
}

/* "trace_3.json": digits between a mark and the first extension. */
static int64_t trailing_number(const char *name)
{
    size_t end = strcspn(name, ".");
    size_t begin = end;
    while (begin > 0 && is_digit(name[begin - 1])) {
        begin--;
    }
    bool marked = begin > 0 && (name[begin - 1] == '_' || name[begin - 1] == '-');
    return marked && end > begin && end - begin <= RANK_DIGITS ? strtoll(name + begin, NULL, 10) : -1;
}

static int64_t rank_of_path(const char *path)
{
    const char *base = path_base(path);
    int64_t rank = number_behind(base, "rank");
    if (rank < 0) {
        rank = number_behind(base, "worker");
    }
    if (rank < 0) {
        rank = trailing_number(base);
    }
    if (rank < 0 && base > path) { /* run/rank_3/trace.json */
        char *folder = mem_strndup(path, (size_t)(base - path - 1));
        rank = number_behind(path_base(folder), "rank");
        free(folder);
    }
    return rank;
}

static marey_status read_file(void *ctx, const char *path, trace_builder *b, const reader_progress *progress)
{
    (void)ctx;
    return reader_read_file(path, b, progress);
}

static void add(input_list *l, const char *path, bool may_fail)
{
    convert_source s = {.path = arena_strndup(&l->names, path, strlen(path)),
                        .bytes = file_size(path),
                        .rank_hint = rank_of_path(path),
                        .read = read_file};
    VEC_RESERVE(l->may_fail, l->cap_may_fail, l->n + 1);
    l->may_fail[l->n] = may_fail;
    VEC_PUSH(l->sources, l->n, l->cap, s);
}

static marey_status add_folder(input_list *l, const char *path, diag *d)
{
    char **files = NULL;
    size_t n = 0;
    marey_status status = file_list(path, &l->names, &files, &n, d);
    size_t before = l->n;
    for (size_t i = 0; i < n; i++) {
        if (reader_sniff_file(files[i]) > 0) {
            add(l, files[i], true);
        }
    }
    free((void *)files);
    if (status == MAREY_OK && l->n == before) {
        return diag_error(d, MAREY_UNSUPPORTED, path, DIAG_NO_OFFSET, "the folder holds no trace");
    }
    return status;
}

/* The run is called after its folder or file, without the extensions of traces. */
static char *run_name(const char *path)
{
    char *copy = mem_strdup(path);
    size_t n = strlen(copy);
    while (n > 1 && copy[n - 1] == '/') {
        copy[--n] = '\0';
    }
    char *name = mem_strdup(path_base(copy));
    free(copy);
    static const char *const endings[] = {".gz", ".zst", ".zip", ".json", ".trace", ".pt"};
    for (bool cut = true; cut;) {
        cut = false;
        for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
            size_t have = strlen(name);
            size_t ending = strlen(endings[i]);
            if (have > ending && strcasecmp(name + have - ending, endings[i]) == 0) {
                name[have - ending] = '\0';
                cut = true;
            }
        }
    }
    return name;
}

static bool all_passed_over(const convert_summary *s)
{
    return s->n_inputs == 0 && s->n_refused > 0;
}

marey_status convert_paths(const char *const *paths, size_t n, const convert_options *options, convert_summary *summary,
                           diag *d)
{
    input_list l = {0};
    convert_summary sum = {0};
    char *name = n ? run_name(paths[0]) : NULL;
    marey_status status;
    for (size_t i = 0; i < n; i++) {
        if (file_is_dir(paths[i])) {
            MAREY_TRY(add_folder(&l, paths[i], d));
        } else if (!file_exists(paths[i])) {
            MAREY_TRY(diag_error(d, MAREY_IO, paths[i], DIAG_NO_OFFSET, "there is no such file"));
        } else {
            add(&l, paths[i], false);
        }
    }
    status = conversion_run(l.sources, l.may_fail, l.n, name, options, &sum, d);
    if (status != MAREY_OK && all_passed_over(&sum) && (n > 1 || file_is_dir(paths[0]))) {
        (void)diag_error(d, status, paths[0], DIAG_NO_OFFSET, "the folder holds no trace that can be used");
    }
fail:
    if (summary) {
        *summary = sum;
    }
    free(name);
    free(l.sources);
    free(l.may_fail);
    arena_deinit(&l.names);
    return status;
}
