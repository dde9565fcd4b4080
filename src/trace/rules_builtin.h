/* assets/categories.rules as bytes; made at build time by cmake/rules.cmake. */
#ifndef MAREY_TRACE_RULES_BUILTIN_H
#define MAREY_TRACE_RULES_BUILTIN_H

#include <stddef.h>

extern const unsigned char rules_builtin[];
extern const size_t rules_builtin_size;

#endif
