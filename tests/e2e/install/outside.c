/*
 * A program outside of marey: argv[1] a trace, argv[2] where to convert it to. It prints as JSON what it read by the
 * installed library; tests/e2e/install.py holds it against `marey info` and `marey grid`.
 */
#include <inttypes.h>
#include <marey/marey.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPECT(cond)                                                                                                   \
    do {                                                                                                               \
        if (!(cond)) {                                                                                                 \
            (void)fprintf(stderr, "line %d: %s; %s\n", __LINE__, #cond, message);                                      \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

static char message[512];

typedef struct totals {
    uint64_t n, n_limit;
    int64_t sum_ns, first_ns;
} totals;

static bool add(void *ctx, const marey_event *e)
{
    totals *t = ctx;
    t->n++;
    t->sum_ns += e->dur_ns;
    t->first_ns = e->start_ns < t->first_ns ? e->start_ns : t->first_ns;
    return e->name && e->category && e->klass && e->lane && t->n != t->n_limit;
}

static void check_statuses(void)
{
    static const struct {
        marey_status status;
        const char *text;
    } all[] = {
        {MAREY_OK, "done"},
        {MAREY_NOMEM, "out of memory"},
        {MAREY_IO, "reading or writing failed"},
        {MAREY_FORMAT, "the input is not what it should be"},
        {MAREY_UNSUPPORTED, "the input is of a kind that marey does not read"},
        {MAREY_VERSION, "the file was written by a newer marey"},
        {MAREY_RANGE, "a value is out of range"},
        {MAREY_ARG, "wrong argument"},
        {MAREY_STATE, "the call does not fit the object's state"},
        {MAREY_LIMIT, "a limit was reached"},
        {MAREY_CANCELLED, "cancelled"},
        {MAREY_GPU, "the graphics system failed"},
        {MAREY_FONT, "a font is missing or damaged"},
        {MAREY_INTERNAL, "a fault in marey itself"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        EXPECT((size_t)all[i].status == i && strcmp(marey_status_text(all[i].status), all[i].text) == 0);
    }
}

static void check_errors(marey_file *f)
{
    marey_file *none = NULL;
    marey_cell cell;
    EXPECT(marey_file_open(&none, "/nonexistent.h5", message, sizeof message) == MAREY_IO && !none);
    EXPECT(strstr(message, "/nonexistent.h5"));
    EXPECT(marey_file_open(&none, "/nonexistent.h5", NULL, 0) == MAREY_IO);
    EXPECT(marey_file_grid(f, 1000000, 0, 1, 1, &cell, message, sizeof message) == MAREY_RANGE && message[0]);
    EXPECT(marey_file_grid(f, 0, 1, 1, 1, &cell, message, sizeof message) == MAREY_RANGE);
    EXPECT(marey_file_grid(f, 0, 0, 1, 0, &cell, message, sizeof message) == MAREY_RANGE);
    const char *paths[] = {"/nonexistent.json"};
    EXPECT(marey_convert(paths, 1, "/tmp/never.h5", NULL, message, sizeof message) != MAREY_OK && message[0]);
    marey_graph_info g;
    EXPECT(marey_file_info(f).has_graph || marey_file_graph(f, &g, message, sizeof message) == MAREY_FORMAT);
    marey_file_close(&none);
}

static void print_rank(marey_file *f, uint64_t index, int64_t duration)
{
    enum { BINS = 7 };
    marey_cell cells[BINS];
    marey_rank r;
    totals all = {.first_ns = INT64_MAX};
    totals one = {.n_limit = 1};
    EXPECT(marey_file_rank(f, index, &r));
    EXPECT(marey_file_events(f, index, 0, duration + 1, add, &all, message, sizeof message) == MAREY_OK);
    EXPECT(marey_file_events(f, index, 0, duration + 1, add, &one, message, sizeof message) == MAREY_OK);
    EXPECT(all.n == r.n_events && one.n == (all.n > 0) && message[0] == 0);
    EXPECT(marey_file_grid(f, index, 0, duration, BINS, cells, message, sizeof message) == MAREY_OK);
    (void)printf("%s{\"rank\": %" PRId64 ", \"events\": %" PRIu64 ", \"sum_ns\": %" PRId64 ", \"busy_ns\": [",
                 index > 0 ? ", " : "", r.rank, all.n, all.sum_ns);
    for (int i = 0; i < BINS; i++) {
        (void)printf("%s%" PRId64, i > 0 ? ", " : "", cells[i].busy_ns);
    }
    (void)printf("]}");
}

int main(int argc, char **argv)
{
    marey_file *f = NULL;
    marey_rank r;
    if (argc != 3) {
        return 2;
    }
    check_statuses();
    const char *paths[] = {argv[1]};
    const marey_convert_options options = {.jobs = 1};
    EXPECT(marey_convert(paths, 1, argv[2], &options, message, sizeof message) == MAREY_OK);
    EXPECT(marey_file_open(&f, argv[2], message, sizeof message) == MAREY_OK && message[0] == 0);
    check_errors(f);
    marey_run_info info = marey_file_info(f);
    EXPECT(!marey_file_rank(f, info.n_ranks, &r));
    (void)printf("{\"version\": \"%s\", \"events\": %" PRIu64 ", \"duration_ns\": %" PRId64 ", \"ranks\": [",
                 marey_version(), info.n_events, info.duration_ns);
    for (uint64_t i = 0; i < info.n_ranks; i++) {
        print_rank(f, i, info.duration_ns);
    }
    (void)printf("]}\n");
    marey_file_close(&f);
    return f ? 1 : 0;
}
