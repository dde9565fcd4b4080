/*
 * How fast a profiler file becomes an HDF5 file, pyramid and all, as a ratio inside one run: the modes take turns, and
 * each figure is the median over the rounds of its ratio to simdjson's warm DOM parse of the same text in the same
 * round. Beside the ratio of the clock stands that of the processor time that all threads took, which other work on
 * the machine disturbs less; of a mode with two jobs it says what the work costs, not how soon it is done.
 *
 *   bench_convert FILE.json[.gz]...
 *   bench_convert                     the large files under MAREY_SHARED
 *
 * `two files` converts two copies with two jobs and counts the text of both. Compressed input is inflated first: the
 * yardstick does not inflate either.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "convert/convert.h"
#include "parse/source.h"

#if MAREY_HAVE_SIMDJSON
#include "simdjson_yardstick.h"
#endif

enum { ROUNDS = 7, LARGE_BYTES = 5 * 1000 * 1000 };

typedef enum mode { MODE_DOM, MODE_ONE, MODE_TWO, MODE_TWO_FILES, MODE_COUNT } mode;

static const char *const mode_names[] = {"dom", "1 job", "2 jobs", "two files"};

typedef struct text_input {
    char *text;
    size_t n;
    char *paths[2], *out;
    uint64_t n_events, bytes_out;
#if MAREY_HAVE_SIMDJSON
    yardstick *dom;
#endif
} text_input;

static bool inflate_all(text_input *in, const char *path)
{
    source *s = NULL;
    source_options options = {0};
    if (source_open(path, &options, &s) != MAREY_OK) {
        return false;
    }
    size_t cap = 0;
    for (size_t got = 1; got > 0; in->n += got) {
        VEC_RESERVE(in->text, cap, in->n + (1 << 20) + 64);
        got = source_read(s, in->text + in->n, 1 << 20);
    }
    source_close(&s);
    return true;
}

/* What one round of one mode took: seconds for each text. */
typedef struct spent {
    double wall, cpu;
} spent;

static spent now(void)
{
    struct rusage u;
    (void)getrusage(RUSAGE_SELF, &u);
    return (spent){.wall = (double)clock_now_ns() * 1e-9,
                   .cpu = (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
                          (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6};
}

static spent since(spent began, size_t n_texts)
{
    spent t = now();
    return (spent){(t.wall - began.wall) / (double)n_texts, (t.cpu - began.cpu) / (double)n_texts};
}

static spent convert_once(text_input *in, size_t n_files, unsigned jobs)
{
    convert_options options = {.out = in->out, .jobs = jobs, .force = true};
    convert_summary summary;
    diag d;
    diag_init(&d);
    spent began = now();
    marey_status status = convert_paths((const char *const *)in->paths, n_files, &options, &summary, &d);
    spent took = since(began, n_files);
    if (status != MAREY_OK) {
        (void)fprintf(stderr, "%s\n", d.n_messages ? d.messages[0].text : marey_status_text(status));
        exit(1);
    }
    in->n_events = summary.n_events / n_files;
    in->bytes_out = summary.bytes_out;
    diag_deinit(&d);
    return took;
}

static spent run_mode(text_input *in, mode m)
{
    switch (m) {
    case MODE_ONE:
        return convert_once(in, 1, 1);
    case MODE_TWO:
        return convert_once(in, 1, 2);
    case MODE_TWO_FILES:
        return convert_once(in, 2, 2);
    default: {
        spent began = now();
#if MAREY_HAVE_SIMDJSON
        (void)yardstick_parse(in->dom);
#endif
        return since(began, 1);
    }
    }
}

static int compare(const void *pa, const void *pb)
{
    const double *a = pa;
    const double *b = pb;
    return *a < *b ? -1 : *a > *b;
}

static double median(double *values)
{
    qsort(values, ROUNDS, sizeof *values, compare);
    return values[ROUNDS / 2];
}

static void measure(text_input *in, const char *name)
{
    double seconds[MODE_COUNT][ROUNDS];
    double ratio[MODE_COUNT][ROUNDS];
    double cpu_ratio[MODE_COUNT][ROUNDS];
    for (int round = -1; round < ROUNDS; round++) {
        spent dom = {0};
        for (mode m = MODE_DOM; m < MODE_COUNT; m++) {
            spent s = run_mode(in, m);
            dom = m == MODE_DOM ? s : dom;
            if (round >= 0) {
                seconds[m][round] = s.wall;
                ratio[m][round] = dom.wall / s.wall;
                cpu_ratio[m][round] = dom.cpu / s.cpu;
            }
        }
    }
    (void)printf("%s: %.1f MB, %llu events, %.1f bytes an event in the file\n", name, (double)in->n * 1e-6,
                 (unsigned long long)in->n_events, (double)in->bytes_out / 2 / (double)in->n_events);
    for (mode m = MODE_DOM; m < MODE_COUNT; m++) {
        double s = median(seconds[m]);
        (void)printf("  %-10s %7.0f MB/s %7.2f M events/s   %.2f x dom   processor time %.2f x dom\n", mode_names[m],
                     (double)in->n * 1e-6 / s, (double)in->n_events * 1e-6 / s, median(ratio[m]), median(cpu_ratio[m]));
    }
    (void)fflush(stdout);
}

/* Where inputs lie and outputs go. Inputs are on the disk, as anybody's are, and in the system's memory once they were
 * written. Outputs are in memory where there is such a folder: how fast a disk syncs is not what is measured. */
typedef struct folders {
    char in[64], out[64];
} folders;

static bool make_folders(folders *f)
{
    (void)snprintf(f->in, sizeof f->in, "/tmp/marey-bench-XXXXXX");
    (void)snprintf(f->out, sizeof f->out, "%s/marey-bench-XXXXXX", file_is_dir("/dev/shm") ? "/dev/shm" : "/tmp");
    return mkdtemp(f->in) && mkdtemp(f->out);
}

static void bench_file(const char *path, const folders *dirs)
{
    text_input in = {0};
    if (!inflate_all(&in, path)) {
        (void)fprintf(stderr, "%s can't be read\n", path);
        return;
    }
    const char *const names[] = {"rank0.json", "rank1.json"};
    for (int i = 0; i < 2; i++) {
        strbuf file = {0};
        strbuf_printf(&file, "%s/%s", dirs->in, names[i]);
        in.paths[i] = file.s;
        (void)file_write_all(file.s, in.text, in.n, NULL);
    }
    strbuf out = {0};
    strbuf_printf(&out, "%s/out.h5", dirs->out);
    in.out = out.s;
#if MAREY_HAVE_SIMDJSON
    in.dom = yardstick_create(in.text, in.n);
#endif
    measure(&in, path_base(path));
#if MAREY_HAVE_SIMDJSON
    yardstick_destroy(in.dom);
#endif
    for (int i = 0; i < 2; i++) {
        (void)unlink(in.paths[i]);
        free(in.paths[i]);
    }
    (void)unlink(in.out);
    free(in.out);
    free(in.text);
}

static void bench_shared(const folders *dirs)
{
    const char *shared = getenv("MAREY_SHARED");
    if (!shared) {
        (void)fputs("bench_convert FILE.json..., or set MAREY_SHARED\n", stderr);
        return;
    }
    strbuf folder = {0};
    strbuf_printf(&folder, "%s/data/kineto/single", shared);
    arena names = {0};
    char **files = NULL;
    size_t n = 0;
    (void)file_list(folder.s, &names, &files, &n, NULL);
    for (size_t i = 0; i < n; i++) {
        if (file_size(files[i]) * 12 > LARGE_BYTES) {
            bench_file(files[i], dirs);
        }
    }
    free((void *)files);
    arena_deinit(&names);
    strbuf_deinit(&folder);
}

int main(int argc, char **argv)
{
    folders dirs;
    if (!make_folders(&dirs)) {
        perror("a folder for the files");
        return 1;
    }
    for (int i = 1; i < argc; i++) {
        bench_file(argv[i], &dirs);
    }
    if (argc < 2) {
        bench_shared(&dirs);
    }
    (void)rmdir(dirs.in);
    (void)rmdir(dirs.out);
    return 0;
}
