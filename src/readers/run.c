#include "readers/run.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "readers/run_names.h"

const char *run_role_name(run_role role)
{
    static const char *const names[RUN_ROLE_COUNT] = {
#define X(name) #name,
        RUN_ROLE_LIST(X)
#undef X
    };
    return (unsigned)role < RUN_ROLE_COUNT ? names[role] : "";
}

/* One file on its way to a source. */
typedef struct entry {
    const char *path;
    run_name name;
    uint32_t root; /* id of the run's folder */
    int64_t key;   /* what tells the sources of one folder apart: rank, device or number; -1: belongs to the only one */
    bool marey;
    bool named;
} entry;

typedef struct grouping {
    arena *mem;
    diag *diag;
    entry *entries;
    size_t n;
    run_source *sources;
    size_t n_sources, cap_sources;
} grouping;

static int compare_numbers(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int compare_entries(const void *pa, const void *pb)
{
    const entry *a = pa;
    const entry *b = pb;
    int by = compare_numbers(a->root, b->root);
    by = by ? by : compare_numbers(a->marey, b->marey);
    by = by ? by : compare_numbers(a->key, b->key);
    by = by ? by : compare_numbers(a->name.role, b->name.role);
    by = by ? by : compare_numbers(a->name.iteration, b->name.iteration);
    return by ? by : name_compare(a->path, b->path);
}

static bool same_source(const entry *a, const entry *b)
{
    return a->root == b->root && a->marey == b->marey && a->key == b->key;
}

static void add_entries(grouping *g, const char *const *paths, const bool *named, size_t n)
{
    intern roots = {0};
    g->entries = mem_calloc(n ? n : 1, sizeof *g->entries);
    for (size_t i = 0; i < n; i++) {
        entry *e = &g->entries[g->n++];
        e->path = paths[i];
        e->name = run_name_parse(paths[i]);
        e->named = named && named[i];
        e->root = intern_put(&roots, paths[i], e->name.root);
        e->marey = e->name.format == RUN_FORMAT_MAREY;
        e->key = e->marey ? e->name.number : e->name.rank >= 0 ? e->name.rank : e->name.device;
    }
    intern_deinit(&roots);
}

/*
 * Files without a number (trace_view.json beside profiler_info_3.json) belong to the only rank of their folder. In a
 * folder of several ranks they stay a source of their own, without a rank.
 */
static void adopt_numberless(entry *e, size_t n)
{
    int64_t only = -1;
    for (size_t i = 0; i < n; i++) {
        if (e[i].key >= 0 && !e[i].marey && e[i].name.role != RUN_KNOWN) {
            if (only >= 0 && only != e[i].key) {
                return;
            }
            only = e[i].key;
        }
    }
    for (size_t i = 0; i < n; i++) {
        if (!e[i].marey && e[i].key < 0) {
            e[i].key = only;
        }
    }
}

/* Ranks of MindSpore and msprof's devices in one folder are the same work twice: the ranks stay. */
static void drop_devices_beside_ranks(grouping *g, entry *e, size_t n)
{
    bool ranks = false;
    for (size_t i = 0; i < n; i++) {
        ranks |= e[i].name.rank >= 0 && (e[i].name.format == RUN_FORMAT_MINDSPORE || e[i].name.role == RUN_TRACE_VIEW);
    }
    size_t dropped = 0;
    for (size_t i = 0; i < n && ranks; i++) {
        if (e[i].name.format == RUN_FORMAT_MSPROF && e[i].name.rank < 0) {
            e[i].name.role = RUN_KNOWN;
            dropped++;
        }
    }
    if (dropped) {
        diag_note(g->diag, e[0].path, DIAG_NO_OFFSET,
                  "%zu files by device were passed over: files by rank tell the same", dropped);
    }
}

static bool is_content(run_role role)
{
    return role != RUN_KNOWN && role != RUN_PROFILER_INFO && role != RUN_RANK_TABLE && role != RUN_SCOPE_MAP;
}

static run_format format_of(const entry *e, size_t n)
{
    run_format format = RUN_FORMAT_ASCEND;
    for (size_t i = 0; i < n; i++) {
        if (!e[i].name.neutral && e[i].name.role != RUN_KNOWN) {
            format = e[i].name.format;
            if (format != RUN_FORMAT_MSPROF) {
                break;
            }
        }
    }
    return format;
}

static const char *make_label(grouping *g, const entry *e, const run_source *s)
{
    strbuf b = {0};
    size_t n = e->name.root;
    if (s->format == RUN_FORMAT_MAREY) {
        strbuf_puts(&b, e->path);
    } else if (n) {
        strbuf_add(&b, e->path, n);
    } else {
        strbuf_puts(&b, e->path[0] == '/' ? "/" : ".");
    }
    if (s->format != RUN_FORMAT_MAREY && e->key >= 0) {
        strbuf_printf(&b, " (%s %lld)", s->rank_is_device ? "device" : "rank", (long long)e->key);
    }
    const char *label = arena_strndup(g->mem, b.s, b.n);
    strbuf_deinit(&b);
    return label;
}

static void note_passed_over(grouping *g, const entry *e)
{
    if (e->named) {
        diag_warn(g->diag, e->path, DIAG_NO_OFFSET,
                  "is a profiler's summary that adds nothing to the trace: passed over");
    } else {
        diag_note(g->diag, e->path, DIAG_NO_OFFSET, "passed over");
    }
}

static void make_source(grouping *g, const entry *e, size_t n)
{
    size_t n_content = 0;
    for (size_t i = 0; i < n; i++) {
        n_content += is_content(e[i].name.role);
        if (e[i].name.role == RUN_KNOWN) {
            note_passed_over(g, &e[i]);
        }
    }
    if (!n_content) {
        for (size_t i = 0; i < n; i++) {
            if (e[i].name.role != RUN_KNOWN && e[i].name.role != RUN_RANK_TABLE) {
                note_passed_over(g, &e[i]);
            }
        }
        return;
    }
    run_source s = {.format = format_of(e, n), .rank = e->marey ? -1 : e->key};
    s.files = arena_alloc(g->mem, n * sizeof *s.files);
    bool any_rank = false;
    for (size_t i = 0; i < n; i++) {
        any_rank |= e[i].name.rank >= 0;
        if (e[i].name.role != RUN_KNOWN) {
            s.files[s.n_files++] =
                (run_file){arena_strndup(g->mem, e[i].path, strlen(e[i].path)), e[i].name.role, e[i].name.iteration};
            s.bytes += file_size(e[i].path);
        }
    }
    s.rank_is_device = s.rank >= 0 && !any_rank;
    s.label = make_label(g, e, &s);
    VEC_PUSH(g->sources, g->n_sources, g->cap_sources, s);
}

static void make_trace(grouping *g, const entry *e)
{
    run_source s = {.format = RUN_FORMAT_TRACE, .rank = -1, .n_files = 1, .bytes = file_size(e->path)};
    s.files = arena_alloc(g->mem, sizeof *s.files);
    s.files[0] = (run_file){arena_strndup(g->mem, e->path, strlen(e->path)), RUN_TRACE, -1};
    s.label = s.files[0].path;
    VEC_PUSH(g->sources, g->n_sources, g->cap_sources, s);
}

/* A rank table tells of all ranks of its folder. */
static void spread_rank_tables(grouping *g, const entry *e, size_t n, size_t first_source)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t k = first_source; e[i].name.role == RUN_RANK_TABLE && k < g->n_sources; k++) {
            run_source *s = &g->sources[k];
            bool has = s->format == RUN_FORMAT_TRACE || s->format == RUN_FORMAT_MAREY;
            for (size_t f = 0; f < s->n_files; f++) {
                has |= s->files[f].role == RUN_RANK_TABLE;
            }
            if (!has) {
                run_file *files = arena_alloc(g->mem, (s->n_files + 1) * sizeof *files);
                memcpy(files, s->files, s->n_files * sizeof *files);
                files[s->n_files++] =
                    (run_file){arena_strndup(g->mem, e[i].path, strlen(e[i].path)), RUN_RANK_TABLE, -1};
                s->files = files;
            }
        }
    }
}

/* All entries of one folder, sorted. */
static void group_root(grouping *g, entry *e, size_t n)
{
    adopt_numberless(e, n);
    drop_devices_beside_ranks(g, e, n);
    qsort(e, n, sizeof *e, compare_entries);
    size_t first_source = g->n_sources;
    for (size_t i = 0, end = 0; i < n; i = end) {
        for (end = i + 1; end < n && same_source(&e[i], &e[end]);) {
            end++;
        }
        make_source(g, e + i, end - i);
    }
    spread_rank_tables(g, e, n, first_source);
}

static int compare_sources(const void *pa, const void *pb)
{
    const run_source *a = pa;
    const run_source *b = pb;
    int by = compare_numbers(a->rank < 0 ? INT64_MAX : a->rank, b->rank < 0 ? INT64_MAX : b->rank);
    return by ? by : name_compare(a->label, b->label);
}

/* Traces out of the way; what is left are the files with a role. */
static void split_traces(grouping *g)
{
    size_t kept = 0;
    for (size_t i = 0; i < g->n; i++) {
        if (g->entries[i].name.role == RUN_TRACE) {
            make_trace(g, &g->entries[i]);
        } else {
            g->entries[kept++] = g->entries[i];
        }
    }
    g->n = kept;
}

void run_group_files(const char *const *paths, const bool *named, size_t n, arena *mem, run_source **sources,
                     size_t *n_out, diag *d)
{
    grouping g = {.mem = mem, .diag = d};
    add_entries(&g, paths, named, n);
    split_traces(&g);
    if (g.n) {
        qsort(g.entries, g.n, sizeof *g.entries, compare_entries);
    }
    for (size_t i = 0, end = 0; i < g.n; i = end) {
        for (end = i + 1; end < g.n && g.entries[i].root == g.entries[end].root;) {
            end++;
        }
        group_root(&g, g.entries + i, end - i);
    }
    *sources = arena_alloc(mem, (g.n_sources ? g.n_sources : 1) * sizeof **sources);
    if (g.n_sources) {
        qsort(g.sources, g.n_sources, sizeof *g.sources, compare_sources);
        memcpy(*sources, g.sources, g.n_sources * sizeof **sources);
    }
    *n_out = g.n_sources;
    free(g.entries);
    free(g.sources);
}
