/* Rows of a pb_schema table, for the readers that write one. `data_types` is the caller's table of enumerators. */
#ifndef MAREY_READERS_GRAPH_SCHEMA_ROWS_H
#define MAREY_READERS_GRAPH_SCHEMA_ROWS_H

#include "parse/pbschema.h"

#define INT(name, number)                                                                                              \
    {                                                                                                                  \
        name, number, PB_KIND_INT, NULL, NULL                                                                          \
    }
#define STRING(name, number)                                                                                           \
    {                                                                                                                  \
        name, number, PB_KIND_STRING, NULL, NULL                                                                       \
    }
#define TYPE(name, number)                                                                                             \
    {                                                                                                                  \
        name, number, PB_KIND_INT, NULL, data_types                                                                    \
    }
#define MESSAGE(name, number, schema)                                                                                  \
    {                                                                                                                  \
        name, number, PB_KIND_MESSAGE, &(schema), NULL                                                                 \
    }
#define END                                                                                                            \
    {                                                                                                                  \
        NULL, 0, PB_KIND_INT, NULL, NULL                                                                               \
    }

#endif
