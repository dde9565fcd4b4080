#include "diagnose/comm.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { MAX_LCS_CELLS = 4 << 20 };

/* ------------------------------------------------------------------ operations */

comm_op comm_op_of(const char *what)
{
    static const struct {
        const char *word;
        comm_op op;
    } words[] = {{"reducescatter", OP_REDUCESCATTER},
                 {"allreduce", OP_ALLREDUCE},
                 {"allgather", OP_ALLGATHER},
                 {"alltoall", OP_ALLTOALL},
                 {"broadcast", OP_BROADCAST},
                 {"barrier", OP_BARRIER},
                 {"recv", OP_RECEIVE},
                 {"receive", OP_RECEIVE},
                 {"send", OP_SEND},
                 {"reduce", OP_REDUCE}};
    char plain[64];
    size_t n = 0;
    for (const char *p = what; *p && n + 1 < sizeof plain; p++) {
        if (isalnum((unsigned char)*p)) {
            plain[n++] = (char)tolower((unsigned char)*p);
        }
    }
    plain[n] = '\0';
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strstr(plain, words[i].word)) {
            return words[i].op;
        }
    }
    return OP_OTHER;
}

const char *comm_op_name(comm_op op)
{
    static const char *const names[] = {"all-reduce", "all-gather", "reduce-scatter", "all-to-all", "broadcast",
                                        "reduce",     "barrier",    "send",           "receive",    "collective"};
    return names[op];
}

double comm_bus_factor(comm_op op, uint32_t n)
{
    double share = n > 1 ? (double)(n - 1) / (double)n : 1;
    switch (op) {
    case OP_ALLREDUCE:
        return n > 1 ? 2 * share : 1;
    case OP_ALLGATHER:
    case OP_REDUCESCATTER:
    case OP_ALLTOALL:
        return share;
    default:
        return 1;
    }
}

/* ------------------------------------------------------------------ order */

static int compare(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

/* Collectives by (group, what, rank, seq, start): each rank's own sequence; then sends and receives by their stream. */
static int by_sequence(const void *pa, const void *pb)
{
    const comm_event *a = pa;
    const comm_event *b = pb;
    bool p2p = comm_is_p2p((comm_op)a->op);
    int c = compare(p2p, comm_is_p2p((comm_op)b->op));
    c = c ? c : compare(a->group, b->group);
    c = c || p2p ? c : compare(a->peers, b->peers);
    c = c || p2p ? c : compare(a->what, b->what);
    c = c ? c : compare(a->rank, b->rank);
    c = c || !p2p ? c : compare(a->lane, b->lane);
    c = c || p2p ? c : compare(a->seq, b->seq);
    c = c ? c : compare(a->start_ns, b->start_ns);
    return c ? c : compare(a->end_ns, b->end_ns);
}

static int by_instance(const void *pa, const void *pb)
{
    const comm_event *a = pa;
    const comm_event *b = pb;
    int c = compare(a->group, b->group);
    c = c ? c : compare(a->peers, b->peers);
    c = c ? c : compare(a->what, b->what);
    c = c ? c : compare(a->seq, b->seq);
    return c ? c : compare(a->rank, b->rank);
}

static bool same_kind(const comm_event *a, const comm_event *b)
{
    return a->group == b->group && a->peers == b->peers && a->what == b->what;
}

/* ------------------------------------------------------------------ sequences of unequal length */

/* Longest common subsequence of sizes; gives each of `b` the order number of its partner in `a`, or -1. `from_end`:
 * among equally long ones the latest. */
static void match_lcs(const comm_event *a, size_t n_a, comm_event *b, size_t n_b)
{
    size_t w = n_b + 1;
    uint16_t *length = mem_calloc((n_a + 1) * w, sizeof *length);
    for (size_t i = n_a; i-- > 0;) {
        for (size_t k = n_b; k-- > 0;) {
            uint16_t skip_a = length[(i + 1) * w + k];
            uint16_t skip_b = length[i * w + k + 1];
            uint16_t both = (uint16_t)(length[(i + 1) * w + k + 1] + 1);
            uint16_t best = skip_a > skip_b ? skip_a : skip_b;
            length[i * w + k] = a[i].bytes == b[k].bytes && both > best ? both : best;
        }
    }
    size_t i = 0;
    size_t k = 0;
    while (k < n_b) {
        if (i < n_a && a[i].bytes == b[k].bytes && length[i * w + k] == length[(i + 1) * w + k + 1] + 1) {
            b[k++].seq = a[i++].seq;
        } else if (i < n_a && length[(i + 1) * w + k] >= length[i * w + k + 1]) {
            i++;
        } else {
            b[k++].seq = -1;
        }
    }
    free(length);
}

/* Order numbers that were counted rather than stated start at 0 without a gap. */
static bool is_counted(const comm_event *e, size_t n)
{
    return n > 0 && e[0].seq == 0 && e[n - 1].seq == (int64_t)n - 1;
}

static size_t sequence_end(const comm_event *e, size_t n, size_t i)
{
    size_t j = i + 1;
    while (j < n && same_kind(&e[j], &e[i]) && e[j].rank == e[i].rank) {
        j++;
    }
    return j;
}

/* All sequences of one (group, what): where counts differ, each is matched against the longest. */
static void settle_counts(comm_event *e, size_t n)
{
    size_t longest = 0;
    size_t n_longest = 0;
    bool differ = false;
    for (size_t i = 0; i < n;) {
        size_t j = sequence_end(e, n, i);
        differ = differ || (n_longest > 0 && j - i != n_longest) || !is_counted(e + i, j - i);
        if (j - i > n_longest) {
            longest = i;
            n_longest = j - i;
        }
        i = j;
    }
    for (size_t i = 0; i < n && differ;) {
        size_t j = sequence_end(e, n, i);
        bool counted = is_counted(e + i, j - i) && is_counted(e + longest, n_longest);
        if (i != longest && counted && j - i != n_longest && (j - i + 1) * (n_longest + 1) <= MAX_LCS_CELLS &&
            n_longest < UINT16_MAX) {
            match_lcs(e + longest, n_longest, e + i, j - i);
        }
        i = j;
    }
}

static void count_instances(const comm_event *e, comm_matching *out)
{
    out->first = mem_alloc((out->n_collective + 1) * sizeof *out->first);
    for (size_t i = 0; i < out->n_collective;) {
        size_t j = i + 1;
        while (j < out->n_collective && e[i].seq >= 0 && same_kind(&e[j], &e[i]) && e[j].seq == e[i].seq &&
               e[j].rank != e[j - 1].rank) {
            j++;
        }
        out->first[out->n_instances++] = i;
        out->n_unmatched += j - i == 1;
        i = j;
    }
    out->first[out->n_instances] = out->n_collective;
}

void comm_match(comm_event *events, size_t n, comm_matching *out)
{
    memset(out, 0, sizeof *out);
    if (n > 0) {
        qsort(events, n, sizeof *events, by_sequence);
    }
    while (out->n_collective < n && !comm_is_p2p((comm_op)events[out->n_collective].op)) {
        out->n_collective++;
    }
    for (size_t i = 0; i < out->n_collective;) {
        size_t j = i + 1;
        while (j < out->n_collective && same_kind(&events[j], &events[i])) {
            j++;
        }
        settle_counts(events + i, j - i);
        i = j;
    }
    if (out->n_collective > 0) {
        qsort(events, out->n_collective, sizeof *events, by_instance);
    }
    count_instances(events, out);
}

void comm_matching_free(comm_matching *m)
{
    free(m->first);
    *m = (comm_matching){0};
}
