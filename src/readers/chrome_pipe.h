/*
 * Two threads for one stream. The caller's walks the text; what it finds goes in batches to a thread that does all else
 * (arguments, times, names, rows, flows, the builder's flush), in the order of the stream, so that the result is the
 * one that a single thread gives. A batch holds copies of what differs from event to event; batches are few and take
 * turns.
 *
 * Thread: both functions on the walker's. In between, the builder and its diag belong to the other thread.
 */
#ifndef MAREY_READERS_CHROME_PIPE_H
#define MAREY_READERS_CHROME_PIPE_H

#include "readers/chrome.h"

typedef struct chrome_pipe chrome_pipe;

/** Before the walk of a stream, once the walker was begun anew. The reader has no hook.
 *  @return NULL when there is no thread to be had: then all stays on this one */
chrome_pipe *chrome_pipe_start(chrome_reader *c);

/**
 * After the walk: what is under way is dealt with unless `status`, the walk's, is a failure; the reader is the caller's
 * again.
 *
 * @return what the other thread ended with, or else `status`
 */
marey_status chrome_pipe_end(chrome_pipe **p, marey_status status);

/** Events pushed so far, a batch or two late. */
uint64_t chrome_pipe_events(const chrome_pipe *p);

#endif
