/*
 * Opening a session beside the making of an OpenGL context: both take about as long, and the first picture waits for
 * both.
 *
 *     opening o;
 *     opening_begin(&o, path, &options, &input);   a thread opens the session and builds its first frame
 *     ... window or headless context, renderer, opening_warm() ...
 *     status = opening_end(&o, &session, d);       joins; must be called once after opening_begin
 *
 * Thread: begin and end on one thread; after end, the session belongs to the caller's.
 */
#ifndef MAREY_APP_OPENING_H
#define MAREY_APP_OPENING_H

#include <pthread.h>

#include "app/session.h"
#include "render/render.h"

typedef struct opening {
    pthread_t thread;
    bool is_threaded;
    const char *path;
    session_options options;
    scene_input input;
    session *session;
    marey_status status;
    diag diag;
} opening;

void opening_begin(opening *o, const char *path, const session_options *options, const scene_input *input);
/** Errors: what session_open and the first frame returned; then *out is NULL. */
marey_status opening_end(opening *o, session **out, diag *d);

/** Draw one of each kind, so that the first picture does not wait for shaders to be compiled. What it draws is drawn
 * over. */
marey_status opening_warm(renderer *r, diag *d);

#endif
