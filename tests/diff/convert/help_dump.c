#include "help_dump.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"

/* Events of the file by track, in order of file; small files only. */
typedef struct dump {
    store_file *f;
    const trace_model *m;
    strbuf *out;
    diag *d;
    store_event_info *events;
    size_t n, cap;
} dump;

static bool gather(dump *u)
{
    store_columns c = {0};
    bool ok = true;
    for (uint32_t b = 0; b < store_n_blocks(u->f) && ok; b++) {
        store_block_info info = store_block(u->f, b);
        ok = !info.is_damaged && store_read_block(u->f, b, COL_ALL, &c, u->d) == MAREY_OK;
        for (uint32_t t = 0; t < info.n_tracks && ok; t++) {
            for (uint32_t i = info.offsets[t]; i < info.offsets[t + 1]; i++) {
                store_event_info e = {info.first_row + i, info.tracks[t], c.name[i],  c.instance[i],
                                      c.start_ns[i],      c.dur_ns[i],    c.klass[i], c.flags[i]};
                VEC_PUSH(u->events, u->n, u->cap, e);
            }
        }
    }
    store_columns_free(&c);
    return ok;
}

static const char *name_of(const dump *u, uint64_t row)
{
    for (size_t i = 0; i < u->n; i++) {
        if (u->events[i].row == row) {
            return u->m->names[u->events[i].name].text;
        }
    }
    return "?";
}

static int64_t start_of(const dump *u, uint64_t row)
{
    for (size_t i = 0; i < u->n; i++) {
        if (u->events[i].row == row) {
            return u->events[i].start_ns;
        }
    }
    return -1;
}

static void put_event(dump *u, const store_event_info *e, uint32_t depth)
{
    const trace_name *n = &u->m->names[e->name];
    strbuf args = {0};
    (void)store_read_args(u->f, e->row, &args, u->d);
    strbuf_printf(u->out, "    %u: %" PRId64 " +%" PRId64 " \"%s\" [%s; %s] #%" PRIu32, depth, e->start_ns, e->dur_ns,
                  n->text, u->m->categories[n->category].name, trace_class_name((trace_class)e->klass), e->instance);
    if (e->flags) {
        strbuf_printf(u->out, " flags %02x", e->flags);
    }
    strbuf_printf(u->out, "%s%s\n", args.n ? " " : "", strbuf_str(&args));
    strbuf_deinit(&args);
}

static void put_lane(dump *u, const trace_lane *l)
{
    const trace_thread *t = l->thread == NO_ID ? NULL : &u->m->threads[l->thread];
    strbuf_printf(
        u->out, "  %s \"%s\" %s|%s: %" PRIu64 " events, busy %" PRId64 ", sum %" PRId64 ", %" PRId64 "..%" PRId64 "\n",
        trace_kind_name(l->kind), l->name, t ? t->pid : "", t ? t->tid : "", l->n_events, l->busy_ns, l->sum_ns,
        l->first_ns, l->last_ns);
    for (uint32_t depth = 0; depth < l->n_tracks; depth++) {
        for (size_t i = 0; i < u->n; i++) {
            if (u->events[i].track == l->first_track + depth) {
                put_event(u, &u->events[i], depth);
            }
        }
    }
}

static void put_ranks(dump *u)
{
    for (size_t i = 0; i < u->m->n_ranks; i++) {
        const trace_rank *r = &u->m->ranks[i];
        strbuf_printf(u->out, "rank %" PRId64 " \"%s\" host \"%s\" device \"%s\" place %d %d %d %d inferred %u\n",
                      r->rank, r->label, r->host, r->device, r->stage, r->dp, r->tp, r->ep, r->inferred);
        for (uint32_t k = 0; k < r->n_lanes; k++) {
            put_lane(u, &u->m->lanes[r->first_lane + k]);
        }
    }
    for (size_t i = 0; i < u->m->n_threads; i++) {
        const trace_thread *t = &u->m->threads[i];
        strbuf_printf(u->out, "thread %s|%s \"%s\" of \"%s\": %" PRIu64 " events, busy %" PRId64 ", sum %" PRId64 "\n",
                      t->pid, t->tid, t->name, t->process_name, t->n_events, t->busy_ns, t->sum_ns);
    }
}

static void put_tables(dump *u)
{
    for (size_t i = 0; i < u->m->n_steps; i++) {
        const trace_step *s = &u->m->steps[i];
        strbuf_printf(
            u->out,
            "step %" PRId64 " \"%s\" of rank %" PRId64 ": %" PRId64 "..%" PRId64 ", device %" PRId64 "..%" PRId64 "\n",
            s->index, s->name, u->m->ranks[s->rank].rank, s->start_ns, s->end_ns, s->device_start_ns, s->device_end_ns);
    }
    for (size_t i = 0; i < u->m->n_groups; i++) {
        const trace_group *g = &u->m->groups[i];
        strbuf_printf(u->out, "group \"%s\" \"%s\":", g->name, g->description);
        for (uint32_t k = 0; k < g->n_ranks; k++) {
            strbuf_printf(u->out, " %" PRId64, g->ranks[k]);
        }
        strbuf_puts(u->out, "\n");
    }
    for (uint32_t i = 0; i < u->m->n_counters; i++) {
        const trace_counter *c = &u->m->counters[i];
        store_sample *samples = NULL;
        size_t n = 0;
        (void)store_read_samples(u->f, i, &samples, &n, u->d);
        strbuf_printf(u->out, "counter \"%s\" of rank %" PRId64 ", %g..%g:", c->name, u->m->ranks[c->rank].rank, c->min,
                      c->max);
        for (size_t k = 0; k < n; k++) {
            strbuf_printf(u->out, " %g@%" PRId64, samples[k].value, samples[k].ts_ns);
        }
        strbuf_puts(u->out, "\n");
        free(samples);
    }
}

static void put_hooks(dump *u)
{
    for (size_t i = 0; i < u->n; i++) {
        store_link links[64];
        size_t n = 0;
        (void)store_read_links(u->f, u->events[i].row, links, 64, &n, u->d);
        for (size_t k = 0; k < n && k < 64; k++) {
            if (links[k].from_row == u->events[i].row) {
                strbuf_printf(u->out, "link %u: \"%s\"@%" PRId64 " -> \"%s\"@%" PRId64 "\n", links[k].kind,
                              name_of(u, links[k].from_row), start_of(u, links[k].from_row),
                              name_of(u, links[k].to_row), start_of(u, links[k].to_row));
            }
        }
    }
    for (size_t i = 0; i < u->n; i++) {
        store_collective c;
        const char *what = NULL;
        const char *dtype = NULL;
        bool found = false;
        if (store_read_collective(u->f, u->events[i].row, &c, &what, &dtype, &found, u->d) == MAREY_OK && found) {
            strbuf_printf(u->out,
                          "collective \"%s\"@%" PRId64 ": %s of %s in group %s, %" PRId64 " -> %" PRId64
                          " elements, %" PRId64 " bytes, size %" PRId64 ", seq %" PRId64 "\n",
                          name_of(u, c.row), start_of(u, c.row), what, dtype && *dtype ? dtype : "?",
                          c.group == NO_ID ? "?" : u->m->groups[c.group].name, c.in_elements, c.out_elements, c.bytes,
                          c.group_size, c.seq);
        }
    }
}

static void put_metrics(dump *u)
{
    store_metric *m = NULL;
    size_t n = 0;
    if (store_read_metrics(u->f, METRIC_KIND_COUNT, &m, &n, u->d) != MAREY_OK) {
        strbuf_printf(u->out, "metrics cannot be read\n");
    }
    for (size_t i = 0; i < n; i++) {
        strbuf_printf(u->out,
                      "metric %s %g: rank %" PRId64 ", link %" PRId64 " %" PRId64 ", step %" PRId64 " at %" PRId64
                      ", \"%s\" \"%s\", flags %u\n",
                      trace_metric_name((trace_metric_kind)m[i].kind), m[i].value, m[i].rank, m[i].a, m[i].b, m[i].step,
                      m[i].time_ns, store_string(u->f, m[i].name), store_string(u->f, m[i].tag), m[i].flags);
    }
    free(m);
}

static void put_inputs(dump *u)
{
    for (size_t i = 0; i < u->m->n_inputs; i++) {
        const trace_input *in = &u->m->inputs[i];
        strbuf_printf(u->out, "input %s: %s, %" PRIu64 " events\n", path_base(in->path), in->format, in->n_events);
    }
    for (size_t i = 0; i < u->m->n_losses; i++) {
        const trace_loss *l = &u->m->losses[i];
        strbuf_printf(u->out, "loss %s: %" PRIu64 " in %s", marey_loss_code(l->code), l->count,
                      l->input == NO_ID ? "?" : path_base(u->m->inputs[l->input].path));
        if (l->first_offset != DIAG_NO_OFFSET) {
            strbuf_printf(u->out, " from byte %" PRIu64, l->first_offset);
        }
        strbuf_printf(u->out, "%s%s\n", l->detail && *l->detail ? ", " : "", l->detail ? l->detail : "");
    }
}

bool dump_file(const char *path, strbuf *out, diag *d)
{
    dump u = {.out = out, .d = d};
    if (store_open(&u.f, path, d) != MAREY_OK) {
        return false;
    }
    u.m = store_model(u.f);
    bool ok = gather(&u);
    strbuf_printf(out, "run \"%s\" from %" PRId64 ", %" PRId64 " long, view %" PRId64 "..%" PRId64 "\n", u.m->name,
                  u.m->start_epoch_ns, u.m->duration_ns, u.m->view_start_ns, u.m->view_end_ns);
    strbuf_printf(out, "%" PRIu64 " events, %" PRIu64 " links, %" PRIu64 " collectives\n", u.m->n_events, u.m->n_links,
                  u.m->n_collectives);
    put_ranks(&u);
    put_tables(&u);
    put_hooks(&u);
    put_metrics(&u);
    put_inputs(&u);
    const char *why = trace_model_check(u.m);
    if (why) {
        strbuf_printf(out, "CHECK: %s\n", why);
    }
    free(u.events);
    store_close(&u.f);
    return ok;
}
