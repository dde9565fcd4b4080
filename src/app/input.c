#include "app/input.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/program.h"
#include "app/progress.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "convert/convert.h"

enum { MAX_CACHED = 32 };

bool input_is_hdf5(const char *path)
{
    static const unsigned char magic[8] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
    unsigned char head[8];
    FILE *f = fopen(path, "rbe");
    bool is = f && fread(head, 1, sizeof head, f) == sizeof head && memcmp(head, magic, sizeof head) == 0;
    if (f) {
        (void)fclose(f);
    }
    return is;
}

/* ---- the key of an input ---- */

/* FNV-1a, twice with different seeds: base/hash.h is seeded per process and can't name files. */
typedef struct key {
    uint64_t a, b;
} key;

static void key_add(key *k, const void *data, size_t n)
{
    const unsigned char *p = data;
    for (size_t i = 0; i < n; i++) {
        k->a = (k->a ^ p[i]) * UINT64_C(0x100000001b3);
        k->b = (k->b ^ p[i]) * UINT64_C(0x100000001b3) + UINT64_C(0x9e3779b97f4a7c15);
    }
}

static void key_add_text(key *k, const char *s)
{
    key_add(k, s, strlen(s) + 1);
}

static void key_add_file(key *k, const char *path)
{
    struct stat st;
    key_add_text(k, path);
    if (stat(path, &st) == 0) {
        int64_t facts[3] = {(int64_t)st.st_size, (int64_t)st.st_mtim.tv_sec, (int64_t)st.st_mtim.tv_nsec};
        key_add(k, facts, sizeof facts);
    }
}

static marey_status key_add_path(key *k, const char *path, diag *d)
{
    char *full = realpath(path, NULL);
    if (!full) {
        return diag_error(d, MAREY_IO, path, DIAG_NO_OFFSET, "There is nothing to read here: %s.", strerror(errno));
    }
    marey_status status = MAREY_OK;
    if (!file_is_dir(full)) {
        key_add_file(k, full);
    } else {
        arena names = {0};
        char **files = NULL;
        size_t n = 0;
        key_add_text(k, full);
        status = file_list(full, &names, &files, &n, d);
        for (size_t i = 0; i < n; i++) {
            key_add_file(k, files[i]);
        }
        free(files);
        arena_deinit(&names);
    }
    free(full);
    return status;
}

/* The user's own rules change what an input becomes. */
static void key_add_rules(key *k)
{
    const char *config = getenv("XDG_CONFIG_HOME");
    const char *home = getenv("HOME");
    strbuf path = {0};
    if (config && config[0]) {
        strbuf_printf(&path, "%s/marey/categories.rules", config);
    } else if (home) {
        strbuf_printf(&path, "%s/.config/marey/categories.rules", home);
    }
    key_add_file(k, strbuf_str(&path));
    strbuf_deinit(&path);
}

static marey_status make_key(const char *const *paths, size_t n, char out[40], diag *d)
{
    key k = {UINT64_C(0xcbf29ce484222325), UINT64_C(0x84222325cbf29ce4)};
    key_add_text(&k, MAREY_PROGRAM_VERSION);
    key_add_file(&k, "/proc/self/exe"); /* another build may read the same input differently */
    key_add_rules(&k);
    for (size_t i = 0; i < n; i++) {
        marey_status status = key_add_path(&k, paths[i], d);
        if (status != MAREY_OK) {
            return status;
        }
    }
    (void)snprintf(out, 40, "%016" PRIx64 "%016" PRIx64, k.a, k.b);
    return MAREY_OK;
}

/* ---- the cache folder ---- */

static bool make_dirs(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        int made = mkdir(path, 0700);
        *slash = '/';
        if (made != 0 && errno != EEXIST) {
            return false;
        }
    }
    return mkdir(path, 0700) == 0 || errno == EEXIST;
}

char *input_cache_dir(void)
{
    const char *cache = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    strbuf path = {0};
    if (cache && cache[0] == '/') {
        strbuf_printf(&path, "%s/marey", cache);
    } else if (home && home[0] == '/') {
        strbuf_printf(&path, "%s/.cache/marey", home);
    } else {
        errno = ENOENT; /* a shared folder such as /tmp would let others put files under our names */
        return NULL;
    }
    if (!make_dirs(path.s)) {
        strbuf_deinit(&path);
        return NULL;
    }
    return path.s;
}

typedef struct cached {
    char *path;
    struct timespec used;
} cached;

static int latest_first(const void *a, const void *b)
{
    const struct timespec *x = &((const cached *)a)->used;
    const struct timespec *y = &((const cached *)b)->used;
    if (x->tv_sec != y->tv_sec) {
        return x->tv_sec < y->tv_sec ? 1 : -1;
    }
    return (x->tv_nsec < y->tv_nsec) - (x->tv_nsec > y->tv_nsec);
}

/* A file's modification time says when it was used last: input_resolve() touches what it finds. */
static void prune(const char *dir)
{
    DIR *handle = opendir(dir);
    cached *items = NULL;
    size_t n = 0;
    size_t cap = 0;
    struct dirent *entry;
    while (handle && (entry = readdir(handle)) != NULL) {
        size_t len = strlen(entry->d_name);
        strbuf path = {0};
        struct stat st;
        strbuf_printf(&path, "%s/%s", dir, entry->d_name);
        if (len == 35 && strcmp(entry->d_name + 32, ".h5") == 0 && stat(path.s, &st) == 0) {
            VEC_PUSH(items, n, cap, ((cached){path.s, st.st_mtim}));
        } else {
            strbuf_deinit(&path);
        }
    }
    if (handle) {
        (void)closedir(handle);
    }
    if (n > 0) {
        qsort(items, n, sizeof *items, latest_first);
    }
    for (size_t i = 0; i < n; i++) {
        if (i >= MAX_CACHED) {
            (void)unlink(items[i].path);
        }
        free(items[i].path);
    }
    free(items);
}

/* ---- resolving ---- */

static marey_status convert_to(const char *target, const char *const *paths, size_t n, bool quiet, diag *d)
{
    progress_line line;
    progress_begin(&line, quiet);
    convert_options options = {
        .out = target,
        .force = true, /* whatever lies at this name in our own cache */
        .progress = progress_report,
        .progress_ctx = &line,
        .cancel = &program_cancel,
    };
    convert_summary summary = {0};
    program_catch_interrupt();
    marey_status status = convert_paths(paths, n, &options, &summary, d);
    progress_end(&line);
    return status;
}

static marey_status resolve_raw(const char *const *paths, size_t n, bool quiet, char **file, diag *d)
{
    char name[40];
    marey_status status = make_key(paths, n, name, d);
    if (status != MAREY_OK) {
        return status;
    }
    char *dir = input_cache_dir();
    if (!dir) {
        return diag_error(d, MAREY_IO, NULL, DIAG_NO_OFFSET,
                          "The cache folder can't be made (%s); `marey convert` writes the file where you say.",
                          strerror(errno));
    }
    strbuf target = {0};
    strbuf_printf(&target, "%s/%s.h5", dir, name);
    if (file_exists(target.s)) {
        (void)utimensat(AT_FDCWD, target.s, NULL, 0);
    } else {
        status = convert_to(target.s, paths, n, quiet, d);
        prune(dir);
    }
    free(dir);
    if (status != MAREY_OK) {
        strbuf_deinit(&target);
        return status;
    }
    *file = target.s;
    return MAREY_OK;
}

marey_status input_resolve(const char *const *paths, size_t n, bool quiet, char **file, diag *d)
{
    *file = NULL;
    for (size_t i = 0; i < n; i++) {
        if (file_is_dir(paths[i]) || !input_is_hdf5(paths[i])) {
            continue;
        }
        if (n > 1) {
            return diag_error(d, MAREY_ARG, paths[i], DIAG_NO_OFFSET,
                              "A converted file is looked at alone, not together with others.");
        }
        *file = mem_strdup(paths[i]);
        return MAREY_OK;
    }
    return resolve_raw(paths, n, quiet, file, d);
}
