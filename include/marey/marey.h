/*
 * marey as a library. libmarey-data converts, reads and sums; libmarey-view is the same and draws: link one of the two.
 *
 *     find_package(marey)                    pkg-config --cflags --libs marey-data
 *     target_link_libraries(mine marey::data)
 */
#ifndef MAREY_H
#define MAREY_H

#include <marey/convert.h>
#include <marey/graph.h>
#include <marey/status.h>
#include <marey/trace.h>
#include <marey/tracefile.h>
#include <marey/view.h>

#ifdef __cplusplus
extern "C" {
#endif

/** "0.1.0". Thread: any. */
MAREY_API const char *marey_version(void);

#ifdef __cplusplus
}
#endif

#endif
