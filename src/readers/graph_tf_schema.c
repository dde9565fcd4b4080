/* TensorFlow's messages, as far as they are read: for their text and JSON forms. */
#include "readers/graph_schema_rows.h"
#include "readers/graph_tf.h"

static const pb_name data_types[] = {{"DT_FLOAT", 1},
                                     {"DT_DOUBLE", 2},
                                     {"DT_INT32", 3},
                                     {"DT_UINT8", 4},
                                     {"DT_INT16", 5},
                                     {"DT_INT8", 6},
                                     {"DT_STRING", 7},
                                     {"DT_COMPLEX64", 8},
                                     {"DT_INT64", 9},
                                     {"DT_BOOL", 10},
                                     {"DT_QINT8", 11},
                                     {"DT_QUINT8", 12},
                                     {"DT_QINT32", 13},
                                     {"DT_BFLOAT16", 14},
                                     {"DT_QINT16", 15},
                                     {"DT_QUINT16", 16},
                                     {"DT_UINT16", 17},
                                     {"DT_COMPLEX128", 18},
                                     {"DT_HALF", 19},
                                     {"DT_RESOURCE", 20},
                                     {"DT_VARIANT", 21},
                                     {"DT_UINT32", 22},
                                     {"DT_UINT64", 23},
                                     {"DT_FLOAT8_E5M2", 24},
                                     {"DT_INT4", 29},
                                     {"DT_UINT4", 30},
                                     {"DT_FLOAT8_E4M3FN", 25},
                                     {"DT_FLOAT_REF", 101},
                                     {"DT_DOUBLE_REF", 102},
                                     {"DT_INT32_REF", 103},
                                     {"DT_UINT8_REF", 104},
                                     {"DT_STRING_REF", 107},
                                     {"DT_INT64_REF", 109},
                                     {"DT_BOOL_REF", 110},
                                     {NULL, 0}};

#define FLOAT(name, number)                                                                                            \
    {                                                                                                                  \
        name, number, PB_KIND_FLOAT, NULL, NULL                                                                        \
    }
#define BYTES(name, number)                                                                                            \
    {                                                                                                                  \
        name, number, PB_KIND_BYTES, NULL, NULL                                                                        \
    }
#define MAP(name, number, schema)                                                                                      \
    {                                                                                                                  \
        name, number, PB_KIND_MAP, &(schema), NULL                                                                     \
    }
#define SCHEMA(name, ...)                                                                                              \
    static const pb_schema_field name##_fields[] = {__VA_ARGS__, END};                                                 \
    static const pb_schema name = {name##_fields}

/* clang-format off */
SCHEMA(dim, INT("size", 1), STRING("name", 2));
SCHEMA(shape, MESSAGE("dim", 2, dim), INT("unknown_rank", 3));
SCHEMA(tensor, TYPE("dtype", 1), MESSAGE("tensor_shape", 2, shape));
SCHEMA(func, STRING("name", 1));
SCHEMA(list, BYTES("s", 2), INT("i", 3), FLOAT("f", 4), INT("b", 5), TYPE("type", 6), MESSAGE("shape", 7, shape),
       MESSAGE("tensor", 8, tensor), MESSAGE("func", 9, func));
SCHEMA(value, MESSAGE("list", 1, list), BYTES("s", 2), INT("i", 3), FLOAT("f", 4), INT("b", 5), TYPE("type", 6),
       MESSAGE("shape", 7, shape), MESSAGE("tensor", 8, tensor), STRING("placeholder", 9), MESSAGE("func", 10, func));
SCHEMA(attr, STRING("key", 1), MESSAGE("value", 2, value));
SCHEMA(node, STRING("name", 1), STRING("op", 2), STRING("input", 3), STRING("device", 4), MAP("attr", 5, attr));
SCHEMA(arg, STRING("name", 1), TYPE("type", 3), STRING("type_attr", 4));
SCHEMA(op_def, STRING("name", 1), MESSAGE("input_arg", 2, arg), MESSAGE("output_arg", 3, arg));
SCHEMA(ret, STRING("key", 1), STRING("value", 2));
SCHEMA(function, MESSAGE("signature", 1, op_def), MESSAGE("node_def", 3, node), MAP("ret", 4, ret),
       MAP("control_ret", 6, ret));
SCHEMA(library, MESSAGE("function", 1, function));
SCHEMA(meta_info, STRING("tags", 4), STRING("tensorflow_version", 5));

static const pb_schema_field graph_fields[] = {MESSAGE("node", 1, node), MESSAGE("library", 2, library), END};
static const pb_schema_field meta_fields[] = {MESSAGE("meta_info_def", 1, meta_info),
                                              MESSAGE("graph_def", 2, TF_GRAPH_DEF), END};
static const pb_schema_field saved_fields[] = {INT("saved_model_schema_version", 1),
                                               MESSAGE("meta_graphs", 2, TF_META_GRAPH), END};
/* clang-format on */

const pb_schema TF_GRAPH_DEF = {graph_fields};
const pb_schema TF_META_GRAPH = {meta_fields};
const pb_schema TF_SAVED_MODEL = {saved_fields};
