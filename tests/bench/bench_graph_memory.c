/* Peak memory of the program's ways with a graph, by operator: each command runs by itself on a large and on a small
 * graph, and the difference of the peaks is divided by the difference of the operators. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/diag.h"
#include "bench_graph_memory.h"
#include "readers/graph_reader.h"

extern char **environ;

enum { MAX_WORDS = 16, N_WAYS = 7 };

/* Words of a command behind the program's name: ONNX, H5 and PNG stand for files. */
static const struct {
    const char *name, *words;
} ways[N_WAYS] = {
    {"graph", "graph ONNX --quiet"},
    {"graph, everything open", "graph ONNX --expand-all --quiet"},
    {"convert", "convert ONNX -o H5 --force --quiet"},
    {"converted, first picture", "render H5 --layout graph -o PNG --quiet"},
    {"converted, everything open", "render H5 --layout graph --expanded all -o PNG --quiet"},
    {"zoom (bench)", "bench H5 --script graph --quiet"},
    {"from the graph itself", "render ONNX --layout graph -o PNG --quiet"},
};

typedef struct place {
    char dir[64];
    char h5[96], png[96];
    const char *onnx;
} place;

static char *word_of(place *p, char *word)
{
    return strcmp(word, "ONNX") == 0  ? (char *)(uintptr_t)p->onnx
           : strcmp(word, "H5") == 0  ? p->h5
           : strcmp(word, "PNG") == 0 ? p->png
                                      : word;
}

/* @return peak of the process in bytes; 0: it failed */
static double run(const char *program, const char *words, place *p, double *seconds)
{
    char text[256];
    char *argv[MAX_WORDS + 2] = {(char *)(uintptr_t)program};
    size_t n = 1;
    (void)snprintf(text, sizeof text, "%s", words);
    for (char *rest = text, *word; (word = strtok_r(rest, " ", &rest)) != NULL && n <= MAX_WORDS;) {
        argv[n++] = word_of(p, word);
    }
    posix_spawn_file_actions_t quiet;
    (void)posix_spawn_file_actions_init(&quiet);
    (void)posix_spawn_file_actions_addopen(&quiet, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    struct timespec a;
    struct timespec b;
    struct rusage usage = {0};
    pid_t child = 0;
    int end = -1;
    (void)clock_gettime(CLOCK_MONOTONIC, &a);
    if (posix_spawn(&child, program, &quiet, NULL, argv, environ) == 0) {
        while (wait4(child, &end, 0, &usage) < 0 && errno == EINTR) {
        }
    }
    (void)clock_gettime(CLOCK_MONOTONIC, &b);
    (void)posix_spawn_file_actions_destroy(&quiet);
    *seconds = (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) * 1e-9;
    return end == 0 ? (double)usage.ru_maxrss * 1024 : 0;
}

static bool make_place(place *p, const char *onnx)
{
    (void)snprintf(p->dir, sizeof p->dir, "/tmp/marey-bench-XXXXXX");
    p->onnx = onnx;
    bool made = mkdtemp(p->dir) != NULL;
    (void)snprintf(p->h5, sizeof p->h5, "%s/graph.h5", p->dir);
    (void)snprintf(p->png, sizeof p->png, "%s/graph.png", p->dir);
    return made;
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *at)
{
    (void)info;
    (void)kind;
    (void)at;
    return remove(path);
}

/* With what was cached there. */
static void remove_place(const place *p)
{
    if (nftw(p->dir, remove_one, 8, FTW_DEPTH | FTW_PHYS) != 0) {
        (void)fprintf(stderr, "%s is left behind\n", p->dir);
    }
}

static size_t count_operators(const char *file)
{
    graph g = {0};
    diag d;
    diag_init(&d);
    graph_finish_options o = {0};
    bool ok = graph_read_file(file, &o, &g, &d) == MAREY_OK;
    size_t n = ok ? g.n_nodes - g.n_implied_nodes : 0;
    graph_deinit(&g);
    diag_deinit(&d);
    return n;
}

int bench_memory(const char *program, const char *large, const char *small)
{
    place places[2];
    double peaks[N_WAYS][2];
    double seconds[N_WAYS][2];
    if (!make_place(&places[0], large) || !make_place(&places[1], small)) {
        (void)fputs("no place for files in /tmp\n", stderr);
        return 1;
    }
    for (size_t i = 0; i < N_WAYS; i++) {
        for (int k = 0; k < 2; k++) {
            (void)setenv("XDG_CACHE_HOME", places[k].dir, 1);
            peaks[i][k] = run(program, ways[i].words, &places[k], &seconds[i][k]);
        }
    }
    double n_large = (double)count_operators(large); /* at last: a child begins with its parent's peak */
    double n_small = (double)count_operators(small);
    bool all = n_large > n_small;
    printf("%.0f operators against %.0f\n", n_large, n_small);
    for (size_t i = 0; i < N_WAYS; i++) {
        bool ok = peaks[i][0] > 0 && peaks[i][1] > 0;
        all = all && ok;
        printf("%-28s %6.0f bytes/operator  peak %6.1f MB, of the small one %6.1f MB  %5.1f s%s\n", ways[i].name,
               (peaks[i][0] - peaks[i][1]) / (n_large - n_small), peaks[i][0] * 1e-6, peaks[i][1] * 1e-6, seconds[i][0],
               ok ? "" : "  (failed)");
    }
    remove_place(&places[0]);
    remove_place(&places[1]);
    return all ? 0 : 1;
}
