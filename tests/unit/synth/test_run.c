/*
 * Contract: a simulated run is one that devices could have executed. On a stream no two kernels overlap; a kernel
 * starts after its launch; host threads nest; the members of a collective end together, each started at its own
 * arrival, and the last to arrive waits for nobody; a receive ends after its send began, and both end at the same time;
 * with equal stages and no noise the bubble is (p - 1) / (m + p - 1).
 */
#include "cm.h"

#include "base/mem.h"
#include "help_run.h"

static int by_start(const void *a, const void *b)
{
    const synth_event *x = &((const kept_event *)a)->e;
    const synth_event *y = &((const kept_event *)b)->e;
    if (x->thread != y->thread) {
        return x->thread < y->thread ? -1 : 1;
    }
    if (x->start_ns != y->start_ns) {
        return x->start_ns < y->start_ns ? -1 : 1;
    }
    return x->end_ns > y->end_ns ? -1 : x->end_ns < y->end_ns;
}

static bool is_work(const synth_event *e)
{
    return e->kind == EV_KERNEL || e->kind == EV_MEMCPY;
}

/* Events of the rank in order; overlaps on streams are refused outright, elsewhere only nesting is allowed. */
static void check_threads(kept_rank *r)
{
    int64_t open[64];
    int depth = 0;
    synth_thread thread = TH_COUNT;
    int64_t busy_until = INT64_MIN;
    qsort(r->events, r->n, sizeof *r->events, by_start);
    for (size_t i = 0; i < r->n; i++) {
        const synth_event *e = &r->events[i].e;
        assert_true(e->end_ns >= e->start_ns);
        if (e->thread != thread) {
            thread = e->thread;
            depth = 0;
            busy_until = INT64_MIN;
        }
        if (is_work(e)) {
            assert_true(e->start_ns >= busy_until);
            busy_until = e->end_ns;
        }
        while (depth > 0 && open[depth - 1] <= e->start_ns) {
            depth--;
        }
        assert_true(depth == 0 || e->end_ns <= open[depth - 1]);
        assert_true(depth < 64);
        open[depth++] = e->end_ns;
    }
}

static void streams_and_threads(void **state)
{
    (void)state;
    for (int variant = 0; variant < 4; variant++) {
        synth_params p = small_params(2);
        p.noise = 0.05;
        p.recompute = variant & 1;
        p.p2p_wait = variant & 2;
        p.grad_sync = variant & 1 ? GRAD_ALLREDUCE : GRAD_SHARDED;
        p.clock_offset_max_ns = 1000000000;
        p.clock_drift_max_ppm = 50;
        p.clock_jitter_max_ns = 1000000;
        add_fault(&p, "launch-bound:3");
        add_fault(&p, "stall:5,50ms");
        add_fault(&p, "slow-link:0-4,0.1");
        kept_run k;
        keep_run(&k, &p);
        for (int r = 0; r < p.ranks; r++) {
            check_threads(&k.ranks[r]);
        }
        free_run(&k);
    }
}

static void kernels_follow_launches(void **state)
{
    (void)state;
    synth_params p = small_params(1);
    add_fault(&p, "launch-bound:2");
    kept_run k;
    keep_run(&k, &p);
    for (int r = 0; r < p.ranks; r++) {
        const kept_rank *rank = &k.ranks[r];
        int64_t *launched = mem_calloc(rank->n + 1, sizeof *launched);
        size_t kernels = 0;
        size_t calls = 0;
        for (size_t i = 0; i < rank->n; i++) {
            const synth_event *e = &rank->events[i].e;
            if (e->kind == EV_RUNTIME) {
                assert_true(e->correlation <= rank->n);
                assert_int_equal(launched[e->correlation], 0);
                launched[e->correlation] = e->start_ns;
                calls++;
            }
        }
        for (size_t i = 0; i < rank->n; i++) {
            const synth_event *e = &rank->events[i].e;
            if (is_work(e)) {
                assert_true(launched[e->correlation] > 0 && launched[e->correlation] < e->start_ns);
                kernels++;
            }
        }
        assert_true(kernels > 0 && calls >= kernels);
        free(launched);
    }
    free_run(&k);
}

typedef struct meeting {
    int group;
    int64_t seq;
    int what;
    int64_t first_end, last_end, last_start;
    int64_t shortest;
    int members, size;
} meeting;

static int by_key(const void *a, const void *b)
{
    const meeting *x = a;
    const meeting *y = b;
    return x->group != y->group ? (x->group < y->group ? -1 : 1) : x->seq < y->seq ? -1 : x->seq > y->seq;
}

static meeting meeting_of(const kept_run *k, int rank, const kept_event *e)
{
    return (meeting){.group = plan_group_id(&k->s.pl, e->coll.group, rank),
                     .seq = e->coll.seq,
                     .what = (int)e->coll.what,
                     .first_end = e->e.end_ns,
                     .last_end = e->e.end_ns,
                     .last_start = e->e.start_ns,
                     .shortest = e->e.end_ns - e->e.start_ns,
                     .members = 1,
                     .size = plan_group_size(&k->s.pl, e->coll.group)};
}

typedef struct meetings {
    meeting *items;
    size_t n, cap;
} meetings;

static void add_meetings(meetings *all, const kept_run *k, int rank)
{
    for (size_t i = 0; i < k->ranks[rank].n; i++) {
        const kept_event *e = &k->ranks[rank].events[i];
        if (e->e.kind == EV_KERNEL && e->has_coll && e->coll.peer < 0) {
            VEC_PUSH(all->items, all->n, all->cap, meeting_of(k, rank, e));
        }
    }
}

static meetings gather_meetings(const kept_run *k)
{
    meetings all = {0};
    for (int r = 0; r < k->s.pl.p.ranks; r++) {
        add_meetings(&all, k, r);
    }
    if (all.n > 0) {
        qsort(all.items, all.n, sizeof *all.items, by_key);
    }
    return all;
}

static void join(meeting *to, const meeting *m)
{
    assert_int_equal(to->what, m->what);
    to->first_end = m->first_end < to->first_end ? m->first_end : to->first_end;
    to->last_end = m->last_end > to->last_end ? m->last_end : to->last_end;
    to->last_start = m->last_start > to->last_start ? m->last_start : to->last_start;
    to->shortest = m->shortest < to->shortest ? m->shortest : to->shortest;
    to->members += m->members;
}

static void collectives_end_together(void **state)
{
    (void)state;
    synth_params p = small_params(2);
    p.noise = 0.03;
    add_fault(&p, "slow-rank:6,1.5");
    kept_run k;
    keep_run(&k, &p);
    meetings all = gather_meetings(&k);
    size_t instances = 0;
    for (size_t i = 0; i < all.n;) {
        meeting m = all.items[i++];
        while (i < all.n && by_key(&m, &all.items[i]) == 0) {
            join(&m, &all.items[i++]);
        }
        assert_int_equal(m.members, m.size);
        assert_true(m.last_end - m.first_end <= 2000);
        /* The last to arrive sees the transfer alone; nobody leaves before it has come. */
        assert_true(m.last_start < m.first_end);
        assert_true(m.shortest <= m.last_end - m.last_start);
        instances++;
    }
    assert_true(instances > 100);
    free(all.items);
    free_run(&k);
}

static const kept_event *message_of(const kept_run *k, int rank, synth_thread thread, int64_t seq)
{
    for (size_t i = 0; i < k->ranks[rank].n; i++) {
        const kept_event *e = &k->ranks[rank].events[i];
        if (e->e.kind == EV_KERNEL && e->e.thread == thread && e->coll.seq == seq) {
            return e;
        }
    }
    return NULL;
}

static void check_messages(const kept_run *k, int rank, synth_thread from, synth_thread to, int peer)
{
    const synth_params *p = &k->s.pl.p;
    for (int64_t seq = 0; seq < (int64_t)p->steps * p->micro_batches; seq++) {
        const kept_event *sent = message_of(k, rank, from, seq);
        const kept_event *got = message_of(k, peer, to, seq);
        assert_non_null(sent);
        assert_non_null(got);
        assert_int_equal(sent->coll.what, COLL_SEND);
        assert_int_equal(got->coll.what, COLL_RECV);
        assert_int_equal(sent->coll.peer, peer);
        assert_int_equal(got->coll.peer, rank);
        assert_int_equal(sent->e.end_ns, got->e.end_ns);
        assert_true(sent->e.start_ns < got->e.end_ns);
        /* What is sent has been computed; what was received is computed with after that. */
        synth_name name = from == TH_SEND_NEXT ? NAME_A_FORWARD : NAME_A_BACKWARD;
        int nth = (int)(seq / p->micro_batches);
        const kept_event *source = find_event(k, rank, EV_GPU_ANNOTATION, name, seq % p->micro_batches, nth);
        const kept_event *use = find_event(k, peer, EV_GPU_ANNOTATION, name, seq % p->micro_batches, nth);
        assert_true(source->e.end_ns <= sent->e.start_ns);
        assert_true(use->e.start_ns >= got->e.end_ns);
        if (!p->p2p_wait) {
            assert_int_equal(sent->e.start_ns, got->e.start_ns);
        }
    }
}

static void messages_match(void **state)
{
    (void)state;
    for (int wait = 0; wait < 2; wait++) {
        synth_params p = small_params(2);
        p.p2p_wait = wait;
        kept_run k;
        keep_run(&k, &p);
        for (int r = 0; r + 4 < p.ranks; r++) {
            check_messages(&k, r, TH_SEND_NEXT, TH_RECV_PREV, r + 4);
            check_messages(&k, r + 4, TH_SEND_PREV, TH_RECV_NEXT, r);
        }
        free_run(&k);
    }
}

static void tasks_in_1f1b_order(void **state)
{
    (void)state;
    synth_params p = small_params(1);
    kept_run k;
    keep_run(&k, &p);
    for (int r = 0; r < p.ranks; r++) {
        int64_t last = INT64_MIN;
        for (int i = 0; i < 2 * p.micro_batches; i++) {
            plan_task t = plan_schedule(p.pp, p.micro_batches, plan_stage(&k.s.pl, r), i);
            synth_name name = t.backward ? NAME_A_BACKWARD : NAME_A_FORWARD;
            const kept_event *e = find_event(&k, r, EV_GPU_ANNOTATION, name, t.micro_batch, 0);
            assert_non_null(e);
            assert_true(e->e.start_ns >= last);
            last = e->e.end_ns;
        }
    }
    free_run(&k);
}

static void bubble_is_ideal(void **state)
{
    (void)state;
    synth_params p = small_params(1);
    p.layers = 40;
    p.micro_batches = 12;
    kept_run k;
    keep_run(&k, &p);
    for (int r = 0; r < p.ranks; r++) {
        int64_t first = find_event(&k, 0, EV_GPU_ANNOTATION, NAME_A_FORWARD, 0, 0)->e.start_ns;
        int64_t last = find_event(&k, 0, EV_GPU_ANNOTATION, NAME_A_BACKWARD, p.micro_batches - 1, 0)->e.end_ns;
        int64_t busy = 0;
        for (int m = 0; m < p.micro_batches; m++) {
            const synth_event *f = &find_event(&k, r, EV_GPU_ANNOTATION, NAME_A_FORWARD, m, 0)->e;
            const synth_event *b = &find_event(&k, r, EV_GPU_ANNOTATION, NAME_A_BACKWARD, m, 0)->e;
            busy += f->end_ns - f->start_ns + b->end_ns - b->start_ns;
        }
        double idle = 1.0 - (double)busy / (double)(last - first);
        double ideal = (p.pp - 1.0) / (p.micro_batches + p.pp - 1.0);
        /* Transfers, and the head of the last stage, add a little. */
        assert_true(idle > ideal - 0.02 && idle < ideal + 0.05);
    }
    free_run(&k);
}

static void steps_follow_each_other(void **state)
{
    (void)state;
    synth_params p = small_params(3);
    p.first_step = 100;
    kept_run k;
    keep_run(&k, &p);
    for (int r = 0; r < p.ranks; r++) {
        int64_t end = 0;
        for (int s = 100; s < 103; s++) {
            const kept_event *e = find_event(&k, r, EV_ANNOTATION, NAME_A_STEP, s, 0);
            assert_non_null(e);
            assert_true(end == 0 || e->e.start_ns == end);
            end = e->e.end_ns;
        }
        assert_null(find_event(&k, r, EV_ANNOTATION, NAME_A_STEP, 103, 0));
    }
    free_run(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streams_and_threads),      cmocka_unit_test(kernels_follow_launches),
        cmocka_unit_test(collectives_end_together), cmocka_unit_test(messages_match),
        cmocka_unit_test(tasks_in_1f1b_order),      cmocka_unit_test(bubble_is_ideal),
        cmocka_unit_test(steps_follow_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
