/*
 * The GPU programs and the buffers of their instances, one pair per kind; made when a frame first needs them.
 * A debug build takes changed shader files from the folder that MAREY_SHADER_DIR names; while one does not compile, the
 * old program stays.
 */
#ifndef MAREY_RENDER_PROGRAMS_H
#define MAREY_RENDER_PROGRAMS_H

#include "gpu/gpu.h"
#include "render/pack.h"

/* The kinds of pack.h, and the pass that measures the floor. */
enum { PROGRAM_FLOOR = PACK_COUNT, PROGRAM_COUNT };

/* The place of the one uniform that every program has: 2 / frame size. */
enum { UNIFORM_PIXEL };

typedef struct program {
    gpu_program program;
    gpu_buffer buffer;
    gpu_layout layout;
    int64_t changed_ns; /* of its files, for the reload */
} program;

typedef struct programs {
    program list[PROGRAM_COUNT];
} programs;

/** The program of a kind, made if need be. Errors: GPU. */
marey_status programs_get(programs *p, gpu *g, unsigned kind, program **out, diag *d);
/** Look for changed shader files (debug builds with MAREY_SHADER_DIR only). */
void programs_reload(programs *p, gpu *g, diag *d);
void programs_deinit(programs *p, gpu *g);

#endif
