#include "store/model_columns.h"

#define NUMBER(id, type, field)                                                                                        \
    {                                                                                                                  \
        S_##id, offsetof(type, field), FIELD_NUMBER, 0                                                                 \
    }
#define TEXT(id, type, field)                                                                                          \
    {                                                                                                                  \
        S_##id, offsetof(type, field), FIELD_TEXT, 0                                                                   \
    }

static const model_column RANKS[] = {
    NUMBER(RANK_RANK, trace_rank, rank),
    TEXT(RANK_HOST, trace_rank, host),
    TEXT(RANK_DEVICE, trace_rank, device),
    TEXT(RANK_LABEL, trace_rank, label),
    NUMBER(RANK_STAGE, trace_rank, stage),
    NUMBER(RANK_DP, trace_rank, dp),
    NUMBER(RANK_TP, trace_rank, tp),
    NUMBER(RANK_EP, trace_rank, ep),
    NUMBER(RANK_INFERRED, trace_rank, inferred),
    NUMBER(RANK_FIRST_LANE, trace_rank, first_lane),
    NUMBER(RANK_N_LANES, trace_rank, n_lanes),
    NUMBER(RANK_GROUP, trace_rank, group),
    NUMBER(RANK_OFFSET, trace_rank, clock_offset_ns),
    NUMBER(RANK_DRIFT, trace_rank, clock_drift_ppm),
    NUMBER(RANK_RESIDUAL, trace_rank, clock_residual_ns),
    NUMBER(RANK_MATCHED, trace_rank, clock_matched),
    TEXT(RANK_METHOD, trace_rank, clock_method),
};

static const model_column THREADS[] = {
    NUMBER(THREAD_RANK, trace_thread, rank),       TEXT(THREAD_PID, trace_thread, pid),
    TEXT(THREAD_TID, trace_thread, tid),           TEXT(THREAD_PROCESS, trace_thread, process_name),
    TEXT(THREAD_NAME, trace_thread, name),         NUMBER(THREAD_SORT, trace_thread, sort_index),
    NUMBER(THREAD_EVENTS, trace_thread, n_events), NUMBER(THREAD_BUSY, trace_thread, busy_ns),
    NUMBER(THREAD_SUM, trace_thread, sum_ns),      NUMBER(THREAD_FIRST, trace_thread, first_ns),
    NUMBER(THREAD_LAST, trace_thread, last_ns),
};

static const model_column LANES[] = {
    NUMBER(LANE_RANK, trace_lane, rank),
    NUMBER(LANE_THREAD, trace_lane, thread),
    {S_LANE_KIND, offsetof(trace_lane, kind), FIELD_ENUM, KIND_COUNT},
    TEXT(LANE_NAME, trace_lane, name),
    NUMBER(LANE_FIRST_TRACK, trace_lane, first_track),
    NUMBER(LANE_N_TRACKS, trace_lane, n_tracks),
    NUMBER(LANE_EVENTS, trace_lane, n_events),
    NUMBER(LANE_BUSY, trace_lane, busy_ns),
    NUMBER(LANE_SUM, trace_lane, sum_ns),
    NUMBER(LANE_FIRST, trace_lane, first_ns),
    NUMBER(LANE_LAST, trace_lane, last_ns),
};

static const model_column TRACKS[] = {
    NUMBER(TRACK_LANE, trace_track, lane),
    NUMBER(TRACK_DEPTH, trace_track, depth),
    NUMBER(TRACK_ROW, trace_track, row),
};

static const model_column NAMES[] = {
    TEXT(NAME_TEXT, trace_name, text),
    NUMBER(NAME_CATEGORY, trace_name, category),
    NUMBER(NAME_SOURCE, trace_name, source),
};

static const model_column CATEGORIES[] = {
    TEXT(CATEGORY_NAME, trace_category, name),
    {S_CATEGORY_CLASS, offsetof(trace_category, klass), FIELD_ENUM, CLASS_COUNT},
    {S_CATEGORY_KIND, offsetof(trace_category, kind), FIELD_ENUM, KIND_COUNT},
};

static const model_column SOURCES[] = {{S_SOURCE_NAME, 0, FIELD_TEXT, 0}};

static const model_column STEPS[] = {
    NUMBER(STEP_RANK, trace_step, rank),
    NUMBER(STEP_INDEX, trace_step, index),
    TEXT(STEP_NAME, trace_step, name),
    NUMBER(STEP_START, trace_step, start_ns),
    NUMBER(STEP_END, trace_step, end_ns),
    NUMBER(STEP_DEVICE_START, trace_step, device_start_ns),
    NUMBER(STEP_DEVICE_END, trace_step, device_end_ns),
};

static const model_column GROUPS[] = {
    TEXT(COMM_NAME, trace_group, name),
    TEXT(COMM_DESCRIPTION, trace_group, description),
    NUMBER(COMM_N, trace_group, n_ranks),
};

static const model_column COUNTERS[] = {
    TEXT(COUNTER_NAME, trace_counter, name),       NUMBER(COUNTER_RANK, trace_counter, rank),
    NUMBER(COUNTER_THREAD, trace_counter, thread), NUMBER(COUNTER_FIRST, trace_counter, first_sample),
    NUMBER(COUNTER_N, trace_counter, n_samples),   NUMBER(COUNTER_MIN, trace_counter, min),
    NUMBER(COUNTER_MAX, trace_counter, max),
};

static const model_column INPUTS[] = {
    TEXT(INPUT_PATH, trace_input, path),     TEXT(INPUT_FORMAT, trace_input, format),
    NUMBER(INPUT_BYTES, trace_input, bytes), NUMBER(INPUT_EVENTS, trace_input, n_events),
    NUMBER(INPUT_RANK, trace_input, rank),
};

static const model_column LOSSES[] = {
    {S_LOSS_CODE, offsetof(trace_loss, code), FIELD_LOSS, 0},
    NUMBER(LOSS_COUNT, trace_loss, count),
    NUMBER(LOSS_INPUT, trace_loss, input),
    NUMBER(LOSS_OFFSET, trace_loss, first_offset),
    TEXT(LOSS_DETAIL, trace_loss, detail),
};

#define TABLE(name, type, columns)                                                                                     \
    {                                                                                                                  \
        offsetof(trace_model, name), offsetof(trace_model, n_##name), offsetof(trace_model, cap_##name), sizeof(type), \
            columns, sizeof(columns) / sizeof(columns)[0]                                                              \
    }

const model_table MODEL_TABLES[] = {
    TABLE(ranks, trace_rank, RANKS),       TABLE(threads, trace_thread, THREADS),
    TABLE(lanes, trace_lane, LANES),       TABLE(tracks, trace_track, TRACKS),
    TABLE(names, trace_name, NAMES),       TABLE(categories, trace_category, CATEGORIES),
    TABLE(sources, const char *, SOURCES), TABLE(steps, trace_step, STEPS),
    TABLE(groups, trace_group, GROUPS),    TABLE(counters, trace_counter, COUNTERS),
    TABLE(inputs, trace_input, INPUTS),    TABLE(losses, trace_loss, LOSSES),
};

const size_t N_MODEL_TABLES = sizeof MODEL_TABLES / sizeof MODEL_TABLES[0];
