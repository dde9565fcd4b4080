/* The shaders that the build embedded (tools/embed.c writes the table). */
#ifndef MAREY_RENDER_SHADERS_H
#define MAREY_RENDER_SHADERS_H

#include <stddef.h>

typedef struct shader_file {
    const char *name;  /* "strip.frag" */
    const char *bytes; /* GLSL, includes resolved; a NUL behind the last byte */
    size_t size;
} shader_file;

extern const shader_file marey_shaders[];
extern const size_t marey_n_shaders;

#endif
