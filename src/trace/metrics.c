#include "trace/metrics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *unit, *text;
} kinds[METRIC_KIND_COUNT] = {
#define X(name, code, unit, text) [METRIC_##name] = {code, unit, text},
    TRACE_METRIC_LIST(X)
#undef X
};

const char *trace_metric_name(trace_metric_kind k)
{
    return (unsigned)k < METRIC_KIND_COUNT ? kinds[k].name : "unknown";
}

const char *trace_metric_unit(trace_metric_kind k)
{
    return (unsigned)k < METRIC_KIND_COUNT ? kinds[k].unit : "";
}

const char *trace_metric_text(trace_metric_kind k)
{
    return (unsigned)k < METRIC_KIND_COUNT ? kinds[k].text : "";
}

trace_metric_in trace_metric(trace_metric_kind kind, double value)
{
    return (trace_metric_in){.kind = kind,
                             .rank = -1,
                             .a = -1,
                             .b = -1,
                             .step = -1,
                             .time_ns = INT64_MIN,
                             .value = value,
                             .name = UINT32_MAX,
                             .tag = UINT32_MAX};
}

trace_place_in trace_place(uint32_t process)
{
    return (trace_place_in){.process = process,
                            .rank = -1,
                            .device = -1,
                            .stage = -1,
                            .dp = -1,
                            .tp = -1,
                            .ep = -1,
                            .cp = -1,
                            .host = UINT32_MAX,
                            .label = UINT32_MAX};
}

void trace_side_deinit(trace_side *s)
{
    free(s->metrics);
    free(s->places);
    free(s->groups);
    free(s->group_ranks);
    *s = (trace_side){0};
}

void trace_side_metric(trace_side *s, const trace_metric_in *m)
{
    if (!isfinite(m->value)) {
        s->n_refused++;
        return;
    }
    VEC_PUSH(s->metrics, s->n_metrics, s->cap_metrics, *m);
}

void trace_side_place(trace_side *s, const trace_place_in *p)
{
    VEC_PUSH(s->places, s->n_places, s->cap_places, *p);
}

void trace_side_group(trace_side *s, uint32_t name, uint32_t kind, const int64_t *ranks, size_t n_ranks)
{
    trace_group_in g = {name, kind, s->n_group_ranks, n_ranks};
    VEC_PUSH(s->groups, s->n_groups, s->cap_groups, g);
    for (size_t i = 0; i < n_ranks; i++) {
        VEC_PUSH(s->group_ranks, s->n_group_ranks, s->cap_group_ranks, ranks[i]);
    }
}

const trace_place_in *trace_side_find_place(const trace_side *s, uint32_t process)
{
    const trace_place_in *any = NULL;
    for (size_t i = 0; i < s->n_places; i++) {
        if (s->places[i].process == process) {
            return &s->places[i];
        }
        if (s->places[i].process == UINT32_MAX) {
            any = &s->places[i];
        }
    }
    return any;
}
