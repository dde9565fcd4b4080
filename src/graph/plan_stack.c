#include "graph/plan_work.h"

marey_status plan_stack(plan_work *w)
{
    w->p->steps[STEP_STACK].on = w->o.steps[STEP_STACK];
    return MAREY_OK;
}
