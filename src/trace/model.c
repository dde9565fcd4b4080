#include "trace/model.h"

#include <stdlib.h>
#include <string.h>

const char *trace_class_name(trace_class c)
{
    static const char *const names[] = {
#define X(name, text) text,
        TRACE_CLASS_LIST(X)
#undef X
    };
    return (unsigned)c < CLASS_COUNT ? names[c] : "other";
}

const char *trace_kind_name(trace_kind k)
{
    static const char *const names[] = {
#define X(name, text) text,
        TRACE_KIND_LIST(X)
#undef X
    };
    return (unsigned)k < KIND_COUNT ? names[k] : "other";
}

void trace_model_init(trace_model *m)
{
    memset(m, 0, sizeof *m);
    m->name = "";
}

void trace_model_deinit(trace_model *m)
{
    free(m->ranks);
    free(m->threads);
    free(m->lanes);
    free(m->tracks);
    free(m->names);
    free(m->categories);
    free((void *)m->sources);
    free(m->steps);
    free(m->groups);
    free(m->counters);
    free(m->inputs);
    free(m->losses);
    arena_deinit(&m->mem);
    trace_model_init(m);
}

static const char *check_ranks(const trace_model *m)
{
    for (size_t i = 0; i < m->n_ranks; i++) {
        const trace_rank *r = &m->ranks[i];
        if (!r->host || !r->device || !r->label || !r->clock_method) {
            return "a rank's text is missing";
        }
        if (i > 0 && m->ranks[i - 1].rank >= r->rank) {
            return "ranks are not in ascending order";
        }
        if (r->first_lane > m->n_lanes || r->n_lanes > m->n_lanes - r->first_lane) {
            return "a rank's lanes are out of range";
        }
        for (uint32_t l = r->first_lane; l < r->first_lane + r->n_lanes; l++) {
            if (m->lanes[l].rank != i) {
                return "a rank's lane belongs to another rank";
            }
        }
    }
    return NULL;
}

static const char *check_lane(const trace_model *m, uint32_t index)
{
    const trace_lane *l = &m->lanes[index];
    if (l->rank >= m->n_ranks || (unsigned)l->kind >= KIND_COUNT || !l->name) {
        return "a lane's rank, kind or name is out of range";
    }
    if (kind_is_derived(l->kind) ? l->thread != NO_ID : l->thread >= m->n_threads) {
        return "a lane's thread is out of range";
    }
    if (l->first_track > m->n_tracks || l->n_tracks > m->n_tracks - l->first_track) {
        return "a lane's tracks are out of range";
    }
    for (uint32_t d = 0; d < l->n_tracks; d++) {
        if (m->tracks[l->first_track + d].lane != index || m->tracks[l->first_track + d].depth != d) {
            return "a lane's tracks are not its own, in order of depth";
        }
    }
    if (l->n_events > 0 && (l->first_ns < 0 || l->first_ns > l->last_ns || l->busy_ns > l->last_ns - l->first_ns)) {
        return "a lane's times are not ordered";
    }
    return l->busy_ns < 0 || l->busy_ns > l->sum_ns ? "a lane is busy for longer than its events last" : NULL;
}

static const char *check_lanes(const trace_model *m)
{
    uint64_t covered = 0;
    for (uint32_t i = 0; i < m->n_lanes; i++) {
        const char *why = check_lane(m, i);
        if (why) {
            return why;
        }
        covered += m->lanes[i].n_tracks;
    }
    return covered == m->n_tracks ? NULL : "a track belongs to no lane";
}

static const char *check_threads(const trace_model *m)
{
    uint64_t events = 0;
    for (size_t i = 0; i < m->n_threads; i++) {
        const trace_thread *t = &m->threads[i];
        if (t->rank >= m->n_ranks || !t->pid || !t->tid || !t->name || !t->process_name) {
            return "a thread's rank or text is out of range";
        }
        if (t->n_events > 0 && (t->first_ns > t->last_ns || t->busy_ns > t->last_ns - t->first_ns)) {
            return "a thread's times are not ordered";
        }
        events += t->n_events;
    }
    return events == m->n_events ? NULL : "the threads' events do not add up to the run's";
}

static const char *check_names(const trace_model *m)
{
    for (size_t i = 0; i < m->n_names; i++) {
        const trace_name *n = &m->names[i];
        if (!n->text || n->category >= m->n_categories || (n->source != NO_ID && n->source >= m->n_sources)) {
            return "a name's text, category or source is out of range";
        }
    }
    for (size_t i = 0; i < m->n_categories; i++) {
        const trace_category *c = &m->categories[i];
        if (!c->name || (unsigned)c->klass >= CLASS_COUNT || (unsigned)c->kind >= KIND_COUNT) {
            return "a category is out of range";
        }
    }
    return NULL;
}

static const char *check_tables(const trace_model *m)
{
    for (size_t i = 0; i < m->n_steps; i++) {
        const trace_step *s = &m->steps[i];
        if (s->rank >= m->n_ranks || !s->name || s->start_ns > s->end_ns || s->device_start_ns > s->device_end_ns) {
            return "a step's rank or times are out of range";
        }
    }
    for (size_t i = 0; i < m->n_counters; i++) {
        const trace_counter *c = &m->counters[i];
        if (c->rank >= m->n_ranks || !c->name || (c->thread != NO_ID && c->thread >= m->n_threads) ||
            c->first_sample > m->n_samples || c->n_samples > m->n_samples - c->first_sample) {
            return "a counter's rank, thread or samples are out of range";
        }
    }
    for (size_t i = 0; i < m->n_inputs; i++) {
        if (m->inputs[i].rank != NO_ID && m->inputs[i].rank >= m->n_ranks) {
            return "an input's rank is out of range";
        }
    }
    for (size_t i = 0; i < m->n_losses; i++) {
        if (m->losses[i].input != NO_ID && m->losses[i].input >= m->n_inputs) {
            return "a loss's input is out of range";
        }
    }
    return NULL;
}

const char *trace_model_check(const trace_model *m)
{
    if (m->duration_ns < 0 || m->view_start_ns < 0 || m->view_start_ns > m->view_end_ns ||
        m->view_end_ns > m->duration_ns) {
        return "the run's extent is not ordered";
    }
    const char *(*const checks[])(const trace_model *) = {check_ranks, check_lanes, check_threads, check_names,
                                                          check_tables};
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        const char *why = checks[i](m);
        if (why) {
            return why;
        }
    }
    return NULL;
}
