/*
 * What a graph costs from its builder to its plan, on generated transformers.
 *
 *     bench_plan [OPERATORS]...       default: 10000 100000 1000000
 *
 * Three graphs a size: with scopes, with a backward pass in the same scopes, and flat with scopes inferred. Pushing
 * includes the making of the names. Times are of this thread alone (CPU), the best of three.
 */
#include <time.h>

#include "base/mem.h"
#include "graph/plan.h"
#include "help/graph_gen.h"

static double cpu_s(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static size_t plan_bytes(const graph_plan *p)
{
    return p->n_elements * sizeof *p->elements + p->n_text + p->g->n_nodes * sizeof *p->element_of +
           p->n_families * sizeof *p->families + p->n_members * sizeof *p->members + (size_t)p->n_map * sizeof *p->map +
           p->n_back_arcs * sizeof *p->back_arcs;
}

static void run(const char *words, const gen_transformer *o, bool infer)
{
    double best[3] = {1e9, 1e9, 1e9};
    size_t nodes = 0, model = 0, plan = 0, before = 0, after = 0;
    for (int round = 0; round < 3; round++) {
        double t0 = cpu_s();
        graph_builder *b = gen_transformer_builder(o);
        double t1 = cpu_s();
        graph g;
        gen_finish(&b, infer, &g);
        double t2 = cpu_s();
        plan_options po;
        plan_options_init(&po);
        graph_plan *p = NULL;
        if (graph_plan_create(&p, &g, &po, NULL) != MAREY_OK) {
            abort();
        }
        double took[3] = {t1 - t0, t2 - t1, cpu_s() - t2};
        for (int i = 0; i < 3; i++) {
            best[i] = took[i] < best[i] ? took[i] : best[i];
        }
        nodes = g.n_nodes;
        model = graph_bytes(&g, NULL);
        plan = plan_bytes(p);
        before = p->steps[STEP_PARAMETERS].nodes_before;
        after = p->steps[STEP_STACK].nodes_after;
        graph_plan_destroy(&p);
        graph_deinit(&g);
    }
    printf("%-9s %8zu operators  push %.3f s  finish %.3f s  plan %.3f s  model %.0f plan %.0f bytes/operator  "
           "elements %zu -> %zu\n",
           words, nodes, best[0], best[1], best[2], (double)model / (double)nodes, (double)plan / (double)nodes, before,
           after);
}

int main(int argc, char **argv)
{
    size_t sizes[16] = {10000, 100000, 1000000}, n = 3;
    for (int i = 1; i < argc && i <= 16; i++) {
        sizes[i - 1] = (size_t)strtoull(argv[i], NULL, 10);
        n = (size_t)i;
    }
    for (size_t i = 0; i < n; i++) {
        gen_transformer o = {.n_ops = sizes[i], .scopes = true, .by_names = true};
        run("scopes", &o, false);
        o.backward = true;
        run("backward", &o, false);
        o = (gen_transformer){.n_ops = sizes[i], .by_names = true};
        run("flat", &o, true);
    }
    return 0;
}
