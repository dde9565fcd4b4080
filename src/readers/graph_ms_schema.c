/* MindSpore's anf_ir messages, as far as they are read: for their JSON form. */
#include "readers/graph_ms.h"
#include "readers/graph_schema_rows.h"

static const pb_name data_types[] = {{"DT_BOOL", 1},    {"DT_INT8", 2},     {"DT_INT16", 3},    {"DT_INT32", 4},
                                     {"DT_INT64", 5},   {"DT_UINT8", 6},    {"DT_UINT16", 7},   {"DT_UINT32", 8},
                                     {"DT_UINT64", 9},  {"DT_FLOAT16", 10}, {"DT_FLOAT32", 11}, {"DT_FLOAT64", 12},
                                     {"DT_STRING", 13}, {"DT_TENSOR", 14},  {NULL, 0}};

static const pb_name edge_types[] = {{"DATA_EDGE", 0}, {"CONTROL_EDGE", 1}, {NULL, 0}};

#define SCHEMA(name, ...)                                                                                              \
    static const pb_schema_field name##_fields[] = {__VA_ARGS__, END};                                                 \
    static const pb_schema name = {name##_fields}

static const pb_schema type;
static const pb_schema value;

/* clang-format off */
SCHEMA(dim, INT("size", 1), STRING("name", 2));
SCHEMA(shape, MESSAGE("dim", 1, dim));
SCHEMA(tensor_type, TYPE("elem_type", 1), MESSAGE("shape", 2, shape));
SCHEMA(sequence, MESSAGE("elem_types", 1, type));
static const pb_schema_field type_fields[] = {TYPE("data_type", 1), MESSAGE("tensor_type", 2, tensor_type),
                                              MESSAGE("sequence_type", 3, sequence), END};
static const pb_schema type = {type_fields};
static const pb_schema_field value_fields[] = {
    INT("bool_val", 2), INT("int_val", 3), INT("uint_val", 4), {"float_val", 5, PB_KIND_FLOAT, NULL, NULL},
    {"double_val", 6, PB_KIND_DOUBLE, NULL, NULL}, STRING("str_val", 7), INT("bool_vals", 10), INT("int_vals", 11),
    INT("uint_vals", 12), {"float_vals", 13, PB_KIND_FLOAT, NULL, NULL}, {"double_vals", 14, PB_KIND_DOUBLE, NULL, NULL},
    STRING("str_vals", 15), MESSAGE("values", 18, value), MESSAGE("type_val", 20, type), END};
static const pb_schema value = {value_fields};
SCHEMA(attribute, STRING("name", 1), MESSAGE("value", 2, value));
SCHEMA(input, STRING("name", 1), {"type", 2, PB_KIND_INT, NULL, edge_types});
SCHEMA(node, MESSAGE("input", 1, input), STRING("name", 2), STRING("op_type", 3), STRING("scope", 4),
       MESSAGE("attribute", 5, attribute), MESSAGE("output_type", 6, type), STRING("full_name", 8),
       STRING("source_address", 9), STRING("instance_name", 10));
SCHEMA(parameter, STRING("name", 1), MESSAGE("type", 2, type));
SCHEMA(named_value, STRING("key", 1), MESSAGE("value", 2, value));
SCHEMA(config, INT("rank_id", 1), INT("stage_id", 2), STRING("parallel_type", 3), MESSAGE("stage_devices", 4, shape));

static const pb_schema_field graph_fields[] = {
    MESSAGE("node", 1, node), STRING("name", 2), MESSAGE("parameters", 3, parameter), MESSAGE("outputs", 4, parameter),
    MESSAGE("const_vals", 5, named_value), END};
static const pb_schema_field model_fields[] = {INT("ir_version", 1), STRING("model_version", 3),
                                               MESSAGE("graph", 4, MS_GRAPH), END};
static const pb_schema_field parallel_fields[] = {MESSAGE("config", 2, config), MESSAGE("graph", 3, MS_GRAPH), END};
/* clang-format on */

const pb_schema MS_GRAPH = {graph_fields};
const pb_schema MS_MODEL = {model_fields};
const pb_schema MS_PARALLEL = {parallel_fields};
