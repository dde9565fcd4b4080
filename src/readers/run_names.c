#include "readers/run_names.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/file.h"

typedef struct stem {
    const char *text, *ext;
    run_role role;
    run_format format;
    bool neutral;
} stem;

/* Longer stems before those that they contain. */
static const stem stems[] = {
    {"ascend_marey_timeline", ".json", RUN_MAREY, RUN_FORMAT_MAREY, false},
    {"scope_map", ".json", RUN_SCOPE_MAP, RUN_FORMAT_MAREY, false},
    {"profiler_metadata", ".json", RUN_PROFILER_METADATA, RUN_FORMAT_ASCEND, false},
    {"profiler_info", ".json", RUN_PROFILER_INFO, RUN_FORMAT_ASCEND, true},
    {"communication_matrix", ".json", RUN_COMMUNICATION_MATRIX, RUN_FORMAT_ASCEND, false},
    {"communication", ".json", RUN_COMMUNICATION, RUN_FORMAT_ASCEND, false},
    {"kernel_details", ".csv", RUN_KERNEL_DETAILS, RUN_FORMAT_ASCEND, false},
    {"trace_view", ".json", RUN_TRACE_VIEW, RUN_FORMAT_ASCEND, false},
    {"step_trace_time", ".csv", RUN_STEP_TRACE_TIME, RUN_FORMAT_ASCEND, false},
    {"memory_record", ".csv", RUN_MEMORY_RECORD, RUN_FORMAT_ASCEND, false},
    {"operator_memory", ".csv", RUN_OPERATOR_MEMORY, RUN_FORMAT_ASCEND, false},
    {"npu_module_mem", ".csv", RUN_MODULE_MEMORY, RUN_FORMAT_ASCEND, false},
    {"l2_cache", ".csv", RUN_L2_CACHE, RUN_FORMAT_ASCEND, false},
    {"op_statistic", ".csv", RUN_OP_STATISTIC, RUN_FORMAT_ASCEND, false},
    {"api_statistic", ".csv", RUN_KNOWN, RUN_FORMAT_ASCEND, false},
    {"operator_details", ".csv", RUN_KNOWN, RUN_FORMAT_ASCEND, false},
    {"ascend_pytorch_profiler", ".db", RUN_PROFILER_DB, RUN_FORMAT_ASCEND, false},
    {"msprof", ".db", RUN_PROFILER_DB, RUN_FORMAT_ASCEND, false},
    {"analysis", ".db", RUN_ANALYSIS_DB, RUN_FORMAT_ASCEND, false},
    {"msprof", ".json", RUN_MSPROF, RUN_FORMAT_MSPROF, false},
    {"hccl", ".json", RUN_HCCL_TRACE, RUN_FORMAT_MSPROF, false},
    {"task_time", ".json", RUN_TASK_TIME, RUN_FORMAT_MSPROF, false},
    {"ascend_timeline_display", ".json", RUN_TIMELINE, RUN_FORMAT_MINDSPORE, false},
    {"timeline_display", ".json", RUN_TIMELINE, RUN_FORMAT_MINDSPORE, false},
    {"ascend_timeline_summary", ".json", RUN_KNOWN, RUN_FORMAT_MINDSPORE, false},
    {"timeline_summary", ".json", RUN_KNOWN, RUN_FORMAT_MINDSPORE, false},
    {"output_timeline_data", ".txt", RUN_TIMELINE_TEXT, RUN_FORMAT_MINDSPORE, false},
    {"step_trace_raw", ".csv", RUN_STEP_TRACE_RAW, RUN_FORMAT_MINDSPORE, false},
    {"step_trace_point_info", ".json", RUN_KNOWN, RUN_FORMAT_MINDSPORE, false},
    {"ascend_cluster_analyse", ".csv", RUN_CLUSTER_ANALYSE, RUN_FORMAT_MINDSPORE, false},
    {"hccl_raw", ".csv", RUN_HCCL_RAW, RUN_FORMAT_MINDSPORE, false},
    {"flops_summary", ".json", RUN_FLOPS_SUMMARY, RUN_FORMAT_MINDSPORE, false},
    {"flops_scope", ".json", RUN_KNOWN, RUN_FORMAT_MINDSPORE, false},
    {"flops", ".txt", RUN_FLOPS, RUN_FORMAT_MINDSPORE, false},
    {"memory_usage_summary", ".json", RUN_MEMORY_SUMMARY, RUN_FORMAT_MINDSPORE, false},
    {"memory_usage_details", ".json", RUN_MEMORY_DETAILS, RUN_FORMAT_MINDSPORE, false},
    {"parallel_strategy", ".json", RUN_PARALLEL_STRATEGY, RUN_FORMAT_MINDSPORE, false},
    {"framework_raw", ".csv", RUN_KNOWN, RUN_FORMAT_MINDSPORE, false},
    {"aicore_intermediate", ".csv", RUN_KNOWN, RUN_FORMAT_MINDSPORE, false},
    {"rank_table", ".json", RUN_RANK_TABLE, RUN_FORMAT_ASCEND, true},
};

/* ---- numbers behind words ---- */

/* A number at `s`, at most nine digits (longer ones are dates). @return its digits; 0: none */
static size_t take_number(const char *s, size_t n, int64_t *v)
{
    size_t digits = 0;
    int64_t x = 0;
    while (digits < n && isdigit((unsigned char)s[digits])) {
        x = digits < 9 ? x * 10 + (s[digits] - '0') : x;
        digits++;
    }
    if (digits > 0 && digits < 10) {
        *v = x;
    }
    return digits;
}

/* "rank3", "rank_3", "rank-3" at the start of s. @return its bytes; 0: none */
static size_t take_tagged(const char *s, size_t n, const char *tag, int64_t *v)
{
    size_t t = strlen(tag);
    if (n <= t || strncasecmp(s, tag, t) != 0) {
        return 0;
    }
    size_t at = t + (s[t] == '-' || s[t] == '_');
    size_t digits = at < n ? take_number(s + at, n - at, v) : 0;
    return digits ? at + digits : 0;
}

static size_t take_rank_or_device(const char *s, size_t n, run_name *out)
{
    static const char *const ranks[] = {"rank", "worker"};
    static const char *const devices[] = {"device", "dev", "card", "npu"};
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++) {
        size_t k = take_tagged(s, n, ranks[i], &out->rank);
        if (k) {
            return k;
        }
    }
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        size_t k = take_tagged(s, n, devices[i], &out->device);
        if (k) {
            return k;
        }
    }
    return 0;
}

/* ---- the parts before and behind the stem ---- */

/* Nothing, or a rank or device and one separator. */
static bool prefix_fits(const char *s, size_t n, run_name *out)
{
    if (n == 0) {
        return true;
    }
    size_t k = take_rank_or_device(s, n, out);
    return k > 0 && k + 1 == n && (s[k] == '_' || s[k] == '-' || s[k] == '.');
}

static bool is_suffix_word(const char *s, size_t n)
{
    static const char *const words[] = {
        "detail", "time", "type", "slice", "data-parallel", "model-parallel", "pipeline-parallel", "none"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strlen(words[i]) == n && memcmp(words[i], s, n) == 0) {
            return true;
        }
    }
    return false;
}

typedef struct suffix {
    int64_t numbers[RUN_MAX_NUMBERS];
    size_t n;
    bool dated;
} suffix;

/* "_1_detail_time", "_0_1_3", "_iter2", "_pipeline-parallel_2_4_0": numbers and known words only. */
static bool suffix_fits(const char *s, size_t n, run_name *out, suffix *found)
{
    size_t at = 0;
    while (at < n) {
        if (s[at] != '_' && s[at] != '-') {
            return false;
        }
        at++;
        size_t end = at;
        while (end < n && s[end] != '_') {
            end++;
        }
        int64_t v = -1;
        size_t digits = take_number(s + at, end - at, &v);
        if (digits && digits == end - at) {
            found->dated |= v < 0;
            if (v >= 0 && found->n < RUN_MAX_NUMBERS) {
                found->numbers[found->n++] = v;
            }
        } else if (take_tagged(s + at, end - at, "iter", &out->iteration) != end - at &&
                   take_rank_or_device(s + at, end - at, out) != end - at && !is_suffix_word(s + at, end - at)) {
            return false;
        }
        at = end;
    }
    return true;
}

static void use_numbers(run_name *out, const suffix *f)
{
    out->number = f->n ? f->numbers[0] : -1;
    switch (out->role) {
    case RUN_MAREY:
    case RUN_SCOPE_MAP:
    case RUN_RANK_TABLE:
        break;
    case RUN_CLUSTER_ANALYSE:
        out->rank = f->n ? f->numbers[f->n - 1] : out->rank;
        break;
    case RUN_MSPROF:
    case RUN_HCCL_TRACE:
    case RUN_TASK_TIME:
        out->device = f->n && !f->dated && out->device < 0 ? f->numbers[0] : out->device;
        out->iteration = f->n > 1 && !f->dated ? f->numbers[f->n - 1] : out->iteration;
        break;
    default:
        out->rank = f->n && out->rank < 0 ? f->numbers[0] : out->rank;
        break;
    }
}

static size_t without_compression(const char *name)
{
    static const char *const ends[] = {".gz", ".zst", ".zip"};
    size_t n = strlen(name);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t k = strlen(ends[i]);
        if (n > k && strcasecmp(name + n - k, ends[i]) == 0) {
            return n - k;
        }
    }
    return n;
}

static bool stem_fits(const stem *s, const char *name, size_t n, run_name *out)
{
    size_t ext = strlen(s->ext);
    if (n <= ext || strncasecmp(name + n - ext, s->ext, ext) != 0) {
        return false;
    }
    size_t body = n - ext;
    const char *at = memmem(name, body, s->text, strlen(s->text));
    if (!at) {
        return false;
    }
    size_t before = (size_t)(at - name);
    size_t behind = before + strlen(s->text);
    run_name try = *out;
    suffix numbers = {.n = 0};
    if (!prefix_fits(name, before, &try) || !suffix_fits(name + behind, body - behind, &try, &numbers)) {
        return false;
    }
    try.role = s->role;
    try.format = s->format;
    try.neutral = s->neutral;
    use_numbers(&try, &numbers);
    *out = try;
    return true;
}

/* ---- folders ---- */

/* Fixed sub-folders of a rank's output do not separate runs. */
static bool is_fixed_folder(const char *s, size_t n)
{
    static const char *const fixed[] = {"ASCEND_PROFILER_OUTPUT", "timeline", "summary", "mindstudio_profiler_output",
                                        "host"};
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) {
        if (strlen(fixed[i]) == n && memcmp(fixed[i], s, n) == 0) {
            return true;
        }
    }
    int64_t v = 0;
    return (n > 5 && memcmp(s, "PROF_", 5) == 0) || (n > 0 && take_tagged(s, n, "device", &v) == n);
}

/* Walk up the folders: drop the fixed ones, look for a rank or device in their names. */
static void use_folders(const char *path, size_t n_dir, run_name *out)
{
    size_t end = n_dir;
    bool fixed = true;
    while (end > 0) {
        size_t start = end;
        while (start > 0 && path[start - 1] != '/') {
            start--;
        }
        run_name found = {.rank = -1, .device = -1};
        if (take_rank_or_device(path + start, end - start, &found) == end - start && end > start) {
            out->rank = out->rank < 0 ? found.rank : out->rank;
            out->device = out->device < 0 ? found.device : out->device;
        }
        fixed = fixed && is_fixed_folder(path + start, end - start);
        end = start > 0 ? start - 1 : 0;
        if (fixed) {
            out->root = end;
        }
    }
}

run_name run_name_parse(const char *path)
{
    const char *base = path_base(path);
    size_t n_dir = base > path ? (size_t)(base - path) - 1 : 0;
    run_name out = {.role = RUN_TRACE,
                    .format = RUN_FORMAT_TRACE,
                    .rank = -1,
                    .device = -1,
                    .iteration = -1,
                    .number = -1,
                    .root = n_dir};
    size_t n = without_compression(base);
    bool fits = false;
    for (size_t i = 0; i < sizeof stems / sizeof *stems && !fits; i++) {
        fits = stem_fits(&stems[i], base, n, &out);
    }
    if (fits) {
        use_folders(path, n_dir, &out);
    }
    return out;
}

bool run_name_grid(const char *path, int64_t *stages, int64_t *size, int64_t *rank)
{
    const char *base = path_base(path);
    const char *at = strstr(base, "-parallel_");
    run_name name = {.rank = -1};
    suffix numbers = {.n = 0};
    if (!at) {
        return false;
    }
    at += strlen("-parallel");
    size_t n = without_compression(at);
    const char *dot = memchr(at, '.', n);
    if (!suffix_fits(at, dot ? (size_t)(dot - at) : n, &name, &numbers) || numbers.n != 3) {
        return false;
    }
    *stages = numbers.numbers[0];
    *size = numbers.numbers[1];
    *rank = numbers.numbers[2];
    return true;
}
