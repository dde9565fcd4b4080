/*
 * How fast runs are simulated: the times at which ranks meet (solve), the events of all ranks into nothing, the same
 * pushed into trace builders, and written as Kineto JSON. Events a second on one core, and memory.
 *
 *   bench_synth [RANKS [STEPS]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "synth/direct.h"
#include "synth/emit.h"
#include "synth/kineto.h"

static double seconds_since(int64_t from)
{
    return (double)(clock_now_ns() - from) / 1e9;
}

static marey_status count(void *ctx, const synth_event *e)
{
    (void)e;
    ++*(uint64_t *)ctx;
    return MAREY_OK;
}

static void print_rate(const char *what, uint64_t events, double seconds)
{
    (void)printf("%-28s %8.2f s  %7.2f M events/s  peak %4llu MiB\n", what, seconds, (double)events / seconds / 1e6,
                 (unsigned long long)(mem_peak_rss() >> 20));
}

static marey_status bench_emit(const solution *s, uint64_t *events)
{
    int64_t from = clock_now_ns();
    synth_sink sink = {.ctx = events, .event = count};
    for (int r = 0; r < s->pl.p.ranks; r++) {
        marey_status status = emit_rank(s, r, &sink);
        if (status != MAREY_OK) {
            return status;
        }
    }
    print_rate("events into nothing", *events, seconds_since(from));
    return MAREY_OK;
}

static marey_status bench_direct(const solution *s)
{
    int64_t from = clock_now_ns();
    uint64_t events = 0;
    for (int r = 0; r < s->pl.p.ranks; r++) {
        trace_builder b;
        trace_builder_init(&b);
        direct_source source = {.s = s, .rank = r};
        marey_status status = direct_read(&source, "rank", &b, NULL);
        events += b.n_events;
        trace_builder_deinit(&b);
        if (status != MAREY_OK) {
            return status;
        }
    }
    print_rate("into trace builders", events, seconds_since(from));
    return MAREY_OK;
}

/* Some ranks only: JSON of a large run would fill the disk. */
static marey_status bench_kineto(const solution *s, uint64_t events)
{
    char folder[] = "/tmp/marey-bench-XXXXXX";
    char path[64];
    int n = s->pl.p.ranks < 16 ? s->pl.p.ranks : 16;
    if (!mkdtemp(folder)) {
        return MAREY_IO;
    }
    (void)snprintf(path, sizeof path, "%s/rank.json", folder);
    int64_t from = clock_now_ns();
    uint64_t bytes = 0;
    marey_status status = MAREY_OK;
    for (int r = 0; r < n && status == MAREY_OK; r++) {
        status = kineto_write_rank(s, r, path, NULL, NULL);
        bytes += file_size(path);
    }
    double seconds = seconds_since(from);
    print_rate("as Kineto JSON", events * (uint64_t)n / (uint64_t)s->pl.p.ranks, seconds);
    (void)printf("%-28s %8.0f MB/s\n", "", (double)bytes / seconds / 1e6);
    (void)unlink(path);
    (void)rmdir(folder);
    return status;
}

int main(int argc, char **argv)
{
    synth_params p;
    solution s;
    uint64_t events = 0;
    (void)synth_preset("pangu-13b", &p);
    p.ranks = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 1024;
    p.steps = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 2;
    if (synth_check(&p, NULL) != MAREY_OK) {
        (void)fputs("bench_synth: no such run\n", stderr);
        return 2;
    }
    int64_t from = clock_now_ns();
    if (solve(&s, &p, NULL) != MAREY_OK) {
        return 1;
    }
    double seconds = seconds_since(from);
    (void)printf("%d ranks, %d steps, %d stages x %d x %d; solved in %.2f s\n", p.ranks, p.steps, p.pp, p.dp, p.tp,
                 seconds);
    bool ok =
        bench_emit(&s, &events) == MAREY_OK && bench_direct(&s) == MAREY_OK && bench_kineto(&s, events) == MAREY_OK;
    (void)printf("%llu events over %.1f s of training\n", (unsigned long long)events, (double)s.end_ns / 1e9);
    solution_deinit(&s);
    return ok ? 0 : 1;
}
