/*
 * A shader file with its includes resolved. Used by the build, which embeds every stage, and by the reload of debug
 * builds. Thread: any.
 */
#ifndef MAREY_RENDER_SHADER_SOURCE_H
#define MAREY_RENDER_SHADER_SOURCE_H

#include <stddef.h>

#include "base/diag.h"
#include "base/text.h"

enum { SHADER_MAX_BYTES = 1 << 20, SHADER_MAX_INCLUDES = 16 };

/** Append `dir`/`name` to `out`; a line `#include "path"` (relative to `dir`) is replaced by that file, with #line so
 * that the compiler's messages point at the right place. Included files include no others. Errors: IO, FORMAT. */
marey_status shader_source_load(const char *dir, const char *name, strbuf *out, diag *d);

#endif
