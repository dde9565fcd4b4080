#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "convert/source.h"
#include "readers/graph_reader.h"
#include "readers/run.h"

enum { RANK_DIGITS = 6 };

typedef struct input_list {
    convert_source *sources;
    bool *may_fail;
    size_t n, cap, cap_may_fail;
    const char **graphs; /* computational graphs among them */
    size_t n_graphs, cap_graphs;
    bool has_parts; /* those are parts of one */
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

static marey_status read_run(void *ctx, const char *path, trace_builder *b, const reader_progress *progress)
{
    (void)path;
    return reader_read_run_source(ctx, b, progress);
}

static marey_status read_run_again(void *ctx, uint64_t from, again_fn fn, void *fn_ctx, cancel_flag *cancel)
{
    return again_read(ctx, from, fn, fn_ctx, cancel);
}

/* A source of the run: a trace by itself, or the files of one rank together. */
static void add(input_list *l, run_source *run, bool may_fail)
{
    bool trace = run->format == RUN_FORMAT_TRACE;
    convert_source s = {.path = run->label,
                        .bytes = run->bytes,
                        .rank_hint = trace                 ? rank_of_path(run->label)
                                     : run->rank_is_device ? -1
                                                           : run->rank,
                        .read = read_run,
                        .again = read_run_again,
                        .ctx = run};
    VEC_RESERVE(l->may_fail, l->cap_may_fail, l->n + 1);
    l->may_fail[l->n] = may_fail;
    VEC_PUSH(l->sources, l->n, l->cap, s);
}

/* Each member of an archive with several traces is a source of its own: their processes are not each other's. */
static void add_trace(input_list *l, run_source *run, bool may_fail)
{
    char **members = NULL;
    size_t n = 0;
    size_t cap = 0;
    (void)reader_list_inputs(run->files[0].path, &l->names, &members, &n, &cap);
    for (size_t i = 0; i < n && n > 1; i++) {
        run_source *one = arena_alloc(&l->names, sizeof *one);
        run_file *file = arena_alloc(&l->names, sizeof *file);
        *file = run->files[0];
        file->path = members[i];
        *one = *run;
        one->files = file;
        one->label = members[i];
        one->bytes = run->bytes / n + (i == 0 ? run->bytes % n : 0); /* what each takes of the archive is not known */
        add(l, one, true);                                           /* nobody named it */
    }
    if (n <= 1) {
        add(l, run, may_fail);
    }
    free((void *)members);
}

/* All files of the command line, those below its folders included, and which were named themselves. */
typedef struct file_set {
    const char **paths;
    bool *named;
    size_t n, cap, cap_named;
} file_set;

static void add_file(file_set *f, const char *path, bool named)
{
    VEC_RESERVE(f->named, f->cap_named, f->n + 1);
    f->named[f->n] = named;
    VEC_PUSH(f->paths, f->n, f->cap, path);
}

static marey_status add_folder(file_set *f, arena *names, const char *path, diag *d)
{
    char **files = NULL;
    size_t n = 0;
    marey_status status = file_list(path, names, &files, &n, d);
    for (size_t i = 0; i < n; i++) {
        add_file(f, files[i], false);
    }
    free((void *)files);
    return status;
}

static bool is_named(const file_set *f, const run_source *run)
{
    for (size_t i = 0; i < f->n; i++) {
        for (size_t k = 0; f->named[i] && k < run->n_files; k++) {
            if (strcmp(f->paths[i], run->files[k].path) == 0) {
                return true;
            }
        }
    }
    return false;
}

/* A computational graph goes into the file as such. There is room for one: of those that lie in folders, files that
 * make one graph together (pipeline stages) are taken, of others the first; the rest is named and left. Who names
 * several wants them all. */
static bool take_graph(input_list *l, const run_source *run, bool named, diag *d)
{
    int as_trace = run->format == RUN_FORMAT_TRACE ? reader_sniff_file(run->label) : 2;
    if (as_trace == 2 || graph_sniff_file(run->label) <= as_trace) {
        return false;
    }
    bool part = graph_is_part_file(run->label);
    if (l->n_graphs > 0 && !named && !(part && l->has_parts)) {
        diag_warn(d, run->label, DIAG_NO_OFFSET, "passed over: a file holds one computational graph, here that of %s",
                  l->graphs[0]);
        return true;
    }
    l->has_parts = l->n_graphs == 0 ? part : l->has_parts && part;
    VEC_PUSH(l->graphs, l->n_graphs, l->cap_graphs, run->label);
    return true;
}

/* Files that belong together become one source. What was found in a folder and is no trace is passed over. */
static void add_sources(input_list *l, const file_set *f, diag *d)
{
    run_source *runs = NULL;
    size_t n = 0;
    run_group_files((const char *const *)f->paths, f->named, f->n, &l->names, &runs, &n, d);
    for (size_t i = 0; i < n; i++) {
        bool named = is_named(f, &runs[i]);
        if (take_graph(l, &runs[i], named, d)) {
            continue;
        }
        if (named || runs[i].format != RUN_FORMAT_TRACE || reader_sniff_file(runs[i].label) > 0 ||
            reader_is_broken_file(runs[i].label)) {
            if (runs[i].format == RUN_FORMAT_TRACE) {
                add_trace(l, &runs[i], !named);
            } else {
                add(l, &runs[i], !named);
            }
        }
    }
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

marey_status convert_list_graphs(const char *path, arena *names, char ***paths, size_t *n, size_t *cap, diag *d)
{
    char **files = NULL;
    size_t n_files = 0;
    size_t before = *n;
    if (!file_is_dir(path)) {
        VEC_PUSH(*paths, *n, *cap, arena_strndup(names, path, strlen(path)));
        return MAREY_OK;
    }
    marey_status status = file_list(path, names, &files, &n_files, d);
    for (size_t i = 0; i < n_files; i++) {
        if (graph_sniff_file(files[i]) > 0) {
            VEC_PUSH(*paths, *n, *cap, files[i]);
        }
    }
    free((void *)files);
    if (status == MAREY_OK && *n == before) {
        status = diag_error(d, MAREY_UNSUPPORTED, path, DIAG_NO_OFFSET, "the folder holds no graph");
    }
    return status;
}

marey_status convert_paths(const char *const *paths, size_t n, const convert_options *options, convert_summary *summary,
                           diag *d)
{
    input_list l = {0};
    file_set f = {0};
    convert_summary sum = {0};
    char *name = n ? run_name(paths[0]) : NULL;
    marey_status status;
    for (size_t i = 0; i < n; i++) {
        if (file_is_dir(paths[i])) {
            MAREY_TRY(add_folder(&f, &l.names, paths[i], d));
        } else if (!file_exists(paths[i])) {
            MAREY_TRY(diag_error(d, MAREY_IO, paths[i], DIAG_NO_OFFSET, "there is no such file"));
        } else {
            add_file(&f, paths[i], true);
        }
    }
    add_sources(&l, &f, d);
    convert_options own = *options;
    if (own.n_graphs == 0) {
        own.graph_paths = l.graphs;
        own.n_graphs = l.n_graphs;
    }
    if (n && l.n == 0 && own.n_graphs == 0) {
        MAREY_TRY(diag_error(d, MAREY_UNSUPPORTED, paths[0], DIAG_NO_OFFSET, "the folder holds no trace"));
    }
    status = conversion_run(l.sources, l.may_fail, l.n, name, &own, &sum, d);
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
    free((void *)l.graphs);
    free((void *)f.paths);
    free(f.named);
    arena_deinit(&l.names);
    return status;
}
