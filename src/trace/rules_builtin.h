/* assets/categories.rules as bytes, and as the table that they become; made at build time by cmake/rules.cmake. */
#ifndef MAREY_TRACE_RULES_BUILTIN_H
#define MAREY_TRACE_RULES_BUILTIN_H

#include <stddef.h>

#include "trace/rules_private.h"

extern const unsigned char rules_builtin[]; /* a user's own rules come before them */
extern const size_t rules_builtin_size;
extern const rule_table rules_builtin_table; /* where there are none */

#endif
