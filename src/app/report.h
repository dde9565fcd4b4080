/* A diagnosis as JSON (the contract is docs/cli.md) and in words. Thread: the main thread. */
#ifndef MAREY_APP_REPORT_H
#define MAREY_APP_REPORT_H

#include "base/text.h"
#include "diagnose/diagnose.h"

void report_json(json_out *j, const diagnosis *g);
void report_print(const diagnosis *g, const char *path);
/** The numbers of one rank's breakdown, inside an open object. */
void report_put_breakdown(json_out *j, const rank_step *s);

#endif
