/* Moments of small runs as doubles, and back: exact below 2^53 ns. */
#ifndef TESTS_HELP_NS_H
#define TESTS_HELP_NS_H

#include "scene/view.h"

static inline double ns_of(moment m)
{
    return moment_minus(m, moment_at(0));
}

static inline void look_at_ns(view *v, double t0_ns, double t1_ns)
{
    view_show_range(v, moment_about(t0_ns), moment_about(t1_ns));
}

#endif
