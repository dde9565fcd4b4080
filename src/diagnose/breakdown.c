#include "diagnose/breakdown.h"

#include <string.h>

breakdown breakdown_of(const rank_step *s)
{
    breakdown b = {.step_ns = s->end_ns > s->start_ns ? s->end_ns - s->start_ns : 0};
    for (unsigned set = 0; set < BUSY_SETS; set++) {
        bool compute = set & BUSY_COMPUTE;
        bool communication = set & (BUSY_COLLECTIVE | BUSY_P2P);
        int64_t ns = s->set_ns[set];
        b.compute_ns += compute ? ns : 0;
        b.communication_ns += communication ? ns : 0;
        b.exposed_communication_ns += communication && !compute ? ns : 0;
        b.overlapped_ns += communication && compute ? ns : 0;
        b.copy_ns += set == BUSY_COPY ? ns : 0;
        b.busy_ns += set != 0 ? ns : 0;
    }
    b.idle_ns = b.step_ns - b.busy_ns;
    return b;
}

void sweep_begin(sweep *s, rank_step *steps, size_t n)
{
    *s = (sweep){.steps = steps, .n = n, .now_ns = n > 0 ? steps[0].start_ns : 0, .idle_from_ns = INT64_MAX};
    for (unsigned k = 0; k < BUSY_CLASSES; k++) {
        s->until_ns[k] = INT64_MIN;
    }
    s->idle_from_ns = s->now_ns;
}

static unsigned running(const sweep *s, int64_t *next_ns)
{
    unsigned set = 0;
    for (unsigned k = 0; k < BUSY_CLASSES; k++) {
        if (s->until_ns[k] > s->now_ns) {
            set |= 1U << k;
            *next_ns = s->until_ns[k] < *next_ns ? s->until_ns[k] : *next_ns;
        }
    }
    return set;
}

static void enter_step(sweep *s)
{
    s->at++;
    s->pending_bubble_ns = 0;
    s->has_compute = false;
}

/* Give the time up to `to_ns` to its sets. Nothing starts before `to_ns`. */
static void advance(sweep *s, int64_t to_ns)
{
    while (s->at < s->n && s->now_ns < to_ns) {
        rank_step *w = &s->steps[s->at];
        if (s->now_ns >= w->end_ns || w->end_ns <= w->start_ns) {
            enter_step(s);
            continue;
        }
        bool inside = s->now_ns >= w->start_ns;
        int64_t bound = inside ? w->end_ns : w->start_ns;
        int64_t next = to_ns < bound ? to_ns : bound;
        unsigned set = running(s, &next);
        if (inside) {
            w->set_ns[set] += next - s->now_ns;
            s->compute_ns += set & BUSY_COMPUTE ? next - s->now_ns : 0;
            s->pending_bubble_ns += set & (BUSY_COMPUTE | BUSY_COLLECTIVE) ? 0 : next - s->now_ns;
        }
        if (set == 0 && s->idle_from_ns == INT64_MAX) {
            s->idle_from_ns = s->now_ns;
        }
        s->now_ns = next;
    }
    int64_t unused = INT64_MAX;
    if (s->now_ns < to_ns) {
        s->now_ns = to_ns;
    }
    if (running(s, &unused) == 0 && s->idle_from_ns == INT64_MAX) {
        int64_t last = INT64_MIN;
        for (unsigned k = 0; k < BUSY_CLASSES; k++) {
            last = s->until_ns[k] > last ? s->until_ns[k] : last;
        }
        s->idle_from_ns = last > INT64_MIN && last < to_ns ? last : to_ns;
    }
}

/* The part of an idle stretch that lies in one step. */
static void give_gap(rank_step *w, int64_t from, int64_t to, bool is_own, int64_t launch_ns, int64_t idle_from_ns)
{
    int64_t gap = to - from;
    if (!is_own) {
        w->peer_gap_ns += gap;
        return;
    }
    w->own_gap_ns += gap;
    w->n_own_gaps++;
    w->kernel_wait_ns += gap < KERNEL_WAIT_NS ? gap : 0;
    if (launch_ns != LAUNCH_UNKNOWN) {
        w->n_launches_known++;
        w->host_wait_ns += launch_ns > idle_from_ns ? gap : 0;
    }
    if (gap > w->longest_gap_ns) {
        w->longest_gap_ns = gap;
        w->longest_gap_at_ns = from;
    }
}

static void close_gap(sweep *s, unsigned klass, int64_t launch_ns)
{
    int64_t to = s->now_ns;
    size_t i = s->at < s->n ? s->at : s->n;
    while (i > 0 && s->steps[i - 1].end_ns > s->idle_from_ns) {
        i--;
    }
    for (; i < s->n && s->steps[i].start_ns < to; i++) {
        int64_t from = s->steps[i].start_ns > s->idle_from_ns ? s->steps[i].start_ns : s->idle_from_ns;
        int64_t end = s->steps[i].end_ns < to ? s->steps[i].end_ns : to;
        if (end > from) {
            give_gap(&s->steps[i], from, end, klass != BUSY_P2P, launch_ns, s->idle_from_ns);
        }
    }
}

void sweep_put(sweep *s, unsigned klass, int64_t start_ns, int64_t end_ns, int64_t launch_ns)
{
    if (end_ns <= start_ns) {
        return; /* a point takes no time */
    }
    if (start_ns > s->now_ns) {
        advance(s, start_ns);
    }
    if (s->idle_from_ns != INT64_MAX && end_ns > s->now_ns) {
        if (s->now_ns > s->idle_from_ns) {
            close_gap(s, klass, launch_ns);
        }
        s->idle_from_ns = INT64_MAX;
    }
    while (s->at < s->n && s->now_ns >= s->steps[s->at].end_ns) {
        enter_step(s);
    }
    if (klass == BUSY_COMPUTE && s->at < s->n && s->now_ns >= s->steps[s->at].start_ns) {
        rank_step *w = &s->steps[s->at];
        int64_t last = end_ns < w->end_ns ? end_ns : w->end_ns;
        w->bubble_ns += s->has_compute ? s->pending_bubble_ns : 0;
        w->first_compute_ns = s->has_compute ? w->first_compute_ns : s->now_ns;
        w->last_compute_ns = last > w->last_compute_ns || !s->has_compute ? last : w->last_compute_ns;
        s->has_compute = true;
        s->pending_bubble_ns = 0;
    }
    unsigned k = klass == BUSY_COMPUTE ? 0 : klass == BUSY_COLLECTIVE ? 1 : klass == BUSY_P2P ? 2 : 3;
    s->until_ns[k] = end_ns > s->until_ns[k] ? end_ns : s->until_ns[k];
}

void sweep_to(sweep *s, int64_t to_ns)
{
    if (to_ns > s->now_ns) {
        advance(s, to_ns);
    }
}

int64_t sweep_free_since(const sweep *s, int64_t start_ns)
{
    int64_t since = INT64_MIN;
    for (unsigned k = 0; k < BUSY_CLASSES; k++) {
        bool runs = s->until_ns[k] > start_ns;
        if (runs && 1U << k != BUSY_P2P) {
            return start_ns;
        }
        since = !runs && s->until_ns[k] > since ? s->until_ns[k] : since;
    }
    return since == INT64_MIN ? start_ns : since;
}

void sweep_end(sweep *s)
{
    if (s->n > 0) {
        advance(s, s->steps[s->n - 1].end_ns);
    }
}
