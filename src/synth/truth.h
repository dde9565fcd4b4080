/* truth.json: what was simulated, so that a diagnosis can be scored against it. */
#ifndef MAREY_SYNTH_TRUTH_H
#define MAREY_SYNTH_TRUTH_H

#include "base/text.h"
#include "synth/solve.h"

void truth_json(strbuf *out, const solution *s);
marey_status truth_write(const solution *s, const char *path, diag *d);

#endif
