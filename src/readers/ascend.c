#include "readers/ascend.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

static bool is(const char *s, size_t n, const char *text)
{
    return strlen(text) == n && memcmp(s, text, n) == 0;
}

static bool begins(const char *s, size_t n, const char *text)
{
    size_t k = strlen(text);
    return n >= k && memcmp(s, text, k) == 0;
}

const char *ascend_source(ascend_kind k)
{
    static const char *const sources[] = {"kernel",       "gpu_memcpy",       "hccl", "hccl_task", "ascend_task",
                                          "cann_runtime", "overlap_analysis", NULL};
    return sources[k];
}

ascend_kind ascend_task_kind(const char *type, size_t n)
{
    static const char *const work[] = {"AI_", "AIV", "AIC", "MIX_", "KERNEL", "DSA", "DVPP", "FFTS", "STARS"};
    static const char *const copies[] = {"MEMCPY", "PCIE_DMA", "SDMA_SQE"};
    for (size_t i = 0; i < sizeof work / sizeof *work; i++) {
        if (begins(type, n, work[i])) {
            return ASCEND_KERNEL;
        }
    }
    for (size_t i = 0; i < sizeof copies / sizeof *copies; i++) {
        if (begins(type, n, copies[i])) {
            return ASCEND_COPY;
        }
    }
    return ASCEND_TASK;
}

bool ascend_is_overlap(const char *name, size_t n)
{
    return is(name, n, "Computing") || is(name, n, "Communication") || is(name, n, "Communication(Not Overlapped)") ||
           is(name, n, "Free");
}

const char *ascend_dtype(const char *dtype, size_t n, size_t *n_out)
{
    static const char *const names[][2] = {
        {"INT8", "Char"},   {"INT16", "Short"}, {"INT32", "Int"},    {"INT64", "Long"},     {"UINT8", "Byte"},
        {"FP16", "Half"},   {"FP32", "Float"},  {"FP64", "Double"},  {"BFP16", "BFloat16"}, {"BF16", "BFloat16"},
        {"UINT64", "Long"}, {"UINT32", "Int"},  {"UINT16", "Short"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (is(dtype, n, names[i][0])) {
            *n_out = strlen(names[i][1]);
            return names[i][1];
        }
    }
    *n_out = n;
    return dtype;
}

/* The number at the start of s. @return its digits */
static size_t digits_at(const char *s, size_t n)
{
    size_t k = 0;
    while (k < n && isdigit((unsigned char)s[k])) {
        k++;
    }
    return k;
}

ascend_collective ascend_collective_parse(const char *name, size_t n)
{
    ascend_collective c = {.seq = -1};
    if (!begins(name, n, "hcom_")) {
        return c;
    }
    size_t at = 5;
    size_t k = 0;
    while (at < n && isalpha((unsigned char)name[at]) && k + 1 < sizeof c.what) {
        c.what[k++] = (char)tolower((unsigned char)name[at++]);
    }
    while (at < n && name[at] == '_') {
        at++;
    }
    c.digits = name + at;
    c.n_digits = digits_at(name + at, n - at);
    at += c.n_digits;
    if (c.n_digits && at < n && name[at] == '_') {
        size_t m = digits_at(name + at + 1, n - at - 1);
        int64_t seq = 0;
        for (size_t i = 0; i < m && i < 18; i++) {
            seq = seq * 10 + (name[at + 1 + i] - '0');
        }
        c.seq = m ? seq : -1;
    }
    return c;
}

void ascend_push_collective(run_reader *r, const char *name, size_t n, uint32_t group, const char *dtype,
                            size_t n_dtype, int64_t count)
{
    ascend_collective c = ascend_collective_parse(name, n);
    if (!c.what[0]) {
        return;
    }
    if (group == NO_ID) {
        const uint64_t *known = map64_get(&r->collective_groups, hash_bytes(name, n));
        group = known ? (uint32_t)*known : NO_ID;
    }
    if (group == NO_ID && c.n_digits) {
        char text[48];
        int k = snprintf(text, sizeof text, "hccl %.*s", (int)(c.n_digits < 32 ? c.n_digits : 32), c.digits);
        group = trace_builder_string(r->b, text, (size_t)k);
    }
    size_t n_name = 0;
    const char *type = dtype ? ascend_dtype(dtype, n_dtype, &n_name) : NULL;
    trace_collective_in in = {.event = r->b->n_events,
                              .what = run_cstring(r, c.what),
                              .group = group,
                              .group_desc = NO_ID,
                              .group_ranks = NO_ID,
                              .dtype = type && n_name ? run_string(r, type, n_name) : NO_ID,
                              .in_elements = count,
                              .out_elements = -1,
                              .group_size = -1,
                              .seq = c.seq};
    trace_builder_collective(r->b, &in);
}

void ascend_pid(uint64_t host_pid, unsigned index, int64_t device, char *out, size_t cap)
{
    uint64_t pid = (host_pid << 10 | (uint64_t)index << 5) + (device > 0 ? (uint64_t)device : 0);
    (void)snprintf(out, cap, "%llu", (unsigned long long)pid);
}
