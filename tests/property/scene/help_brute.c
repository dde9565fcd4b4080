#include "help_brute.h"

#include <math.h>

static bool has_track(const uint32_t *tracks, uint32_t n, uint32_t track)
{
    for (uint32_t i = 0; i < n; i++) {
        if (tracks[i] == track) {
            return true;
        }
    }
    return false;
}

static bool meets(const small_event *e, double t0, double t1)
{
    double start = (double)e->start_ns;
    double end = (double)(e->start_ns + e->dur_ns);
    return start < t1 && (end > t0 || (e->dur_ns == 0 && start >= t0));
}

static int compare_ints(const void *a, const void *b)
{
    const int64_t *x = a;
    const int64_t *y = b;
    return x[0] < y[0] ? -1 : x[0] > y[0];
}

/* Union of clipped intervals: sorted by start, swept. */
static double union_in(const int64_t (*spans)[2], size_t n, double t0, double t1)
{
    double sum = 0;
    double upto = t0;
    for (size_t i = 0; i < n && (double)spans[i][0] < t1; i++) { /* ascending by start */
        double a = fmax((double)spans[i][0], upto);
        double b = fmin((double)spans[i][1], t1);
        if (b > a) {
            sum += b - a;
            upto = b;
        }
    }
    return sum;
}

/* The intervals of some tracks' events since `base_ns`, sorted; those of one class, or of all (CLASS_COUNT). */
static size_t spans_of(const small_event *const *events, size_t n_events, uint8_t klass, int64_t base_ns,
                       int64_t (*spans)[2])
{
    size_t n = 0;
    for (size_t k = 0; k < n_events; k++) {
        if (klass == CLASS_COUNT || events[k]->klass == klass) {
            spans[n][0] = events[k]->start_ns - base_ns;
            spans[n++][1] = events[k]->start_ns + events[k]->dur_ns - base_ns;
        }
    }
    qsort(spans, n, sizeof *spans, compare_ints);
    return n;
}

/* n times what lies between the beginning of the grid and t, in 2^-32 ns: no rounding anywhere. */
static fine_ns place_times_n(const time_grid *g, int64_t t_ns)
{
    fine_ns since = ((fine_ns)t_ns - g->t0.ns) * MOMENT_PARTS - (fine_ns)g->t0.part;
    return since * (fine_ns)g->n;
}

/* The first column whose end lies after t (or at it, where the event ends there). */
static uint32_t first_ending(const time_grid *g, fine_ns place, bool at_too)
{
    uint32_t low = 0;
    uint32_t high = g->n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        fine_ns end = (fine_ns)(middle + 1) * g->span;
        if (at_too ? end >= place : end > place) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

/* Column i covers [i * span / n, (i + 1) * span / n) of the grid. */
static void note_event(const small_event *e, const time_grid *g, brute_column *out)
{
    fine_ns start = place_times_n(g, e->start_ns);
    fine_ns end = place_times_n(g, e->start_ns + e->dur_ns);
    if (start >= (fine_ns)g->n * g->span || (e->dur_ns > 0 ? end <= 0 : start < 0)) {
        return;
    }
    uint32_t last = e->dur_ns > 0 ? first_ending(g, end, true) : first_ending(g, start, false);
    for (uint32_t i = first_ending(g, start, false); i <= last && i < g->n; i++) {
        uint8_t severity = e->flags & EVENT_SEVERITY;
        out[i].count++;
        out[i].touches[e->klass] = true;
        out[i].severity = severity > out[i].severity ? severity : out[i].severity;
    }
}

void brute_columns(const small_run *r, const uint32_t *tracks, uint32_t n_tracks, const time_grid *g, brute_column *out)
{
    int64_t(*spans)[2] = mem_alloc((r->n + 1) * sizeof *spans);
    const small_event **events = mem_alloc((r->n + 1) * sizeof *events);
    size_t n_events = 0;
    memset(out, 0, g->n * sizeof *out);
    for (size_t k = 0; k < r->n; k++) {
        if (has_track(tracks, n_tracks, r->events[k].track)) {
            events[n_events++] = &r->events[k];
            note_event(&r->events[k], g, out);
        }
    }
    for (uint8_t klass = 0; klass <= CLASS_COUNT; klass++) {
        size_t n = spans_of(events, n_events, klass, g->t0.ns, spans);
        size_t past = 0; /* spans that end before this column and so before all later ones */
        for (uint32_t i = 0; n > 0 && i < g->n; i++) {
            double part = (double)g->t0.part * 0x1p-32;
            double t0 = part + g->step_ns * i;
            double t1 = part + g->step_ns * (i + 1.0);
            double *to = klass == CLASS_COUNT ? &out[i].busy : &out[i].share[klass];
            while (past < n && (double)spans[past][1] <= t0) {
                past++;
            }
            *to = union_in((const int64_t(*)[2])spans + past, n - past, t0, t1) / g->step_ns;
        }
    }
    free((void *)events);
    free(spans);
}

uint8_t brute_class(const brute_column *c, double *margin)
{
    uint8_t best = CELL_EMPTY;
    *margin = 1;
    for (uint8_t k = 0; k < CLASS_COUNT; k++) {
        if (c->touches[k] && (best == CELL_EMPTY || c->share[k] > c->share[best])) {
            best = k;
        }
    }
    for (uint8_t k = 0; best != CELL_EMPTY && k < CLASS_COUNT; k++) {
        if (k != best && c->touches[k]) {
            *margin = fmin(*margin, fabs(c->share[best] - c->share[k]));
        }
    }
    return best;
}

bool brute_any(const small_run *r, const uint32_t *tracks, uint32_t n_tracks, double t0, double t1)
{
    for (size_t k = 0; k < r->n; k++) {
        if (has_track(tracks, n_tracks, r->events[k].track) && meets(&r->events[k], t0, t1)) {
            return true;
        }
    }
    return false;
}

static int64_t random_length(prng *p, int64_t mean_ns)
{
    uint64_t kind = prng_below(p, 20);
    if (kind == 0) {
        return 0;
    }
    double scale = kind == 1 ? 60 : kind < 8 ? 0.1 : 1;
    return (int64_t)(prng_unit(p) * 2 * scale * (double)mean_ns);
}

static uint8_t random_flags(prng *p)
{
    uint64_t k = prng_below(p, 200);
    return k == 0 ? SEVERITY_ERROR : k == 1 ? SEVERITY_LOST | EVENT_UNFINISHED : 0;
}

/* Nested: each event of depth d + 1 lies inside one of depth d. */
static void fill_nested(small_run *r, prng *p, uint32_t track, uint32_t name, int64_t a, int64_t b, int depth)
{
    small_put(r, (small_event){track, a, b - a, name, 0, CLASS_CPU_OP, random_flags(p), NULL});
    int64_t t = a;
    while (depth > 1 && t < b) {
        int64_t from = t + (int64_t)prng_below(p, (uint64_t)(b - t) + 1);
        int64_t to = from + (int64_t)prng_below(p, (uint64_t)(b - from) + 1);
        if (to > from) {
            fill_nested(r, p, track + 1, name, from, to, depth - 1);
        }
        t = to + (b - a) / 4 + 1;
    }
}

static void fill_track(small_run *r, prng *p, uint32_t track, uint32_t first_name, uint32_t n, int64_t mean_ns)
{
    int64_t t = (int64_t)prng_below(p, (uint64_t)mean_ns * 2 + 1);
    for (uint32_t i = 0; i < n; i++) {
        int64_t length = random_length(p, mean_ns);
        uint32_t k = (uint32_t)prng_below(p, 4);
        bool is_usual = prng_below(p, 8) != 0; /* else a class that the other lane runs, perhaps at the same time */
        uint8_t klass = (uint8_t)((first_name == 0) == is_usual ? k : CLASS_COLLECTIVE + k % 3);
        small_put(r, (small_event){track, t, length, first_name + k, i, klass, random_flags(p), NULL});
        int64_t gap = prng_below(p, 3) ? (int64_t)(prng_unit(p) * (double)mean_ns) : 0;
        t += length + gap + (length == 0);
        t += prng_below(p, 50) == 0 ? 40 * mean_ns : 0;
    }
}

void brute_random_run(small_run *r, prng *p, uint32_t n_ranks, uint32_t per_track, int64_t mean_ns)
{
    small_init(r);
    for (uint32_t k = 0; k < 4; k++) {
        (void)small_name(r, "kernel", (trace_class)k, KIND_COMPUTE);
    }
    for (uint32_t k = 0; k < 4; k++) {
        (void)small_name(r, "move", (trace_class)(CLASS_COLLECTIVE + k % 3), KIND_COMMUNICATION);
    }
    uint32_t cpu = small_name(r, "op", CLASS_CPU_OP, KIND_CPU);
    for (uint32_t k = 0; k < n_ranks; k++) {
        (void)small_rank(r, -1, "host");
        fill_track(r, p, small_lane(r, KIND_COMPUTE, "stream 7", 1), 0, per_track, mean_ns);
        fill_track(r, p, small_lane(r, KIND_COMMUNICATION, "stream 20", 1), 4, per_track / 4 + 1, mean_ns * 3);
        uint32_t track = small_lane(r, KIND_CPU, "thread 1", 3);
        int64_t t = 0;
        for (uint32_t i = 0; i < per_track / 8; i++) {
            int64_t length = 1 + (int64_t)prng_below(p, (uint64_t)mean_ns * 8);
            fill_nested(r, p, track, cpu, t, t + length, 3);
            t += length + (int64_t)prng_below(p, (uint64_t)mean_ns * 8);
        }
    }
}
