/*
 * Contract: in runs whose events lie anywhere up to 2^62 ns, and views of any width from 20 ns to the whole run, each
 * pixel column that a row inks is one that integers of 128 bits say an event meets, and no other; also where events lie
 * right on the edges of pixels. Ticks stand at the times that they say, under the base that the axis shows; what lies
 * under a pixel is told with the time of that pixel; an event that is picked is one of its column. Bands and outlines
 * stand at their times to a hundredth of a pixel.
 */
#include "cm.h"

#include <math.h>

#include "help/ns.h"
#include "help/stage.h"
#include "help_brute.h"

static const int64_t LAST_NS = INT64_C(1) << 62;

/* n times what lies from the beginning of the view to t, in 2^-32 ns. */
static fine_ns place_times_n(const stage *g, int64_t t_ns)
{
    fine_ns since = ((fine_ns)t_ns - g->view.t0.ns) * MOMENT_PARTS - (fine_ns)g->view.t0.part;
    return since * (fine_ns)g->scene->src.grid.n;
}

static fine_ns span_of_view(const stage *g)
{
    return ((fine_ns)g->view.t1.ns - g->view.t0.ns) * MOMENT_PARTS + (fine_ns)g->view.t1.part -
           (fine_ns)g->view.t0.part;
}

/* A random run, pushed to `base`: before it lies one event at the very beginning. */
static void late_run(small_run *r, prng *p, int64_t base)
{
    brute_random_run(r, p, 1 + (uint32_t)prng_below(p, 3), 20 + (uint32_t)prng_below(p, 200),
                     3 + (int64_t)prng_below(p, UINT64_C(1) << (2 + prng_below(p, 11))));
    for (size_t i = 0; i < r->n; i++) {
        r->events[i].start_ns += base;
    }
    if (base > 0) {
        small_put(r, (small_event){r->events[0].track, 0, 7, 0, 0, CLASS_MATMUL, 0, NULL});
    }
}

static int64_t random_base(prng *p)
{
    switch (prng_below(p, 4)) {
    case 0:
        return LAST_NS - (INT64_C(1) << 33) - (int64_t)prng_below(p, 1000);
    case 1:
        return (INT64_C(1) << 53) + 1 + (int64_t)prng_below(p, 1000);
    default:
        return (int64_t)prng_below(p, UINT64_C(1) << (1 + prng_below(p, 61)));
    }
}

/* Half of the views have whole numbers of ns to a pixel, or of pixels to a ns, so that events lie on edges. */
static void random_view(prng *p, stage *g, const small_run *r, int64_t base, int n_columns)
{
    const small_event *e = &r->events[prng_below(p, r->n)];
    double most = prng_below(p, 8) == 0 ? (double)r->m.duration_ns : (double)(r->m.duration_ns - base);
    double width = exp(log(20) + prng_unit(p) * log(fmax(most, 21) / 20));
    moment at = moment_at(prng_below(p, 2) ? e->start_ns : e->start_ns + e->dur_ns);
    if (prng_below(p, 2)) {
        double step = width / n_columns;
        step = step >= 1 ? floor(step) : 1 / fmin(floor(1 / step), n_columns / 20);
        g->view.t0 = moment_shift(at, (int64_t)(-prng_unit(p) * width));
        g->view.t1 = moment_plus(g->view.t0, step * n_columns);
    } else {
        g->view.t0 = moment_plus(at, -prng_unit(p) * width);
        g->view.t1 = moment_plus(g->view.t0, width);
    }
}

static size_t check_row(const small_run *r, const stage *g, const scene_row *row)
{
    uint32_t one = 0;
    uint32_t n = 0;
    const uint32_t *tracks = row_tracks(g->scene, row, &n, &one);
    const time_grid *grid = &g->scene->src.grid;
    const row_raster *cells = stage_raster(g, row);
    size_t inked = 0;
    assert_non_null(cells);
    assert_int_equal(cells->n, grid->n);
    brute_column *truth = mem_calloc(grid->n, sizeof *truth);
    brute_columns(r, tracks, n, grid, truth);
    for (uint32_t i = 0; i < grid->n; i++) {
        bool is_inked = cells->cells[i].klass != CELL_EMPTY;
        assert_int_equal(is_inked, truth[i].count > 0);
        if (is_inked && cells->from_tiles == false) {
            assert_true(fabs(cells->cells[i].occupancy - fmin(255, fmax(1, truth[i].busy * 255))) <= 1.0);
        }
        inked += is_inked;
    }
    free(truth);
    return inked;
}

static size_t check_rows(const small_run *r, const stage *g)
{
    size_t inked = 0;
    for (size_t i = g->scene->first_visible; i < g->scene->end_visible; i++) {
        if (g->scene->tree.rows[i].kind != ROW_GROUP) {
            inked += check_row(r, g, &g->scene->tree.rows[i]);
        }
    }
    return inked;
}

/* ------------------------------------------------------------------ the axis */

/* "1 h 02 min 03.5 s", "12 345.6 µs", with a sign or none; thin spaces are left out. */
static int64_t time_said(const char *text)
{
    static const struct {
        const char *name;
        int64_t ns;
    } units[] = {{"ns", 1},         {"\xC2\xB5s", 1000}, {"ms", 1000000}, {"min", 60000000000},
                 {"s", 1000000000}, {"h", 3600000000000}};
    int64_t sum = 0;
    bool negative = strncmp(text, "\xE2\x88\x92", 3) == 0;
    text += negative ? 3 : text[0] == '+';
    while (*text) {
        int64_t whole = 0;
        int64_t part = 0;
        int64_t scale = 0;
        for (; (*text >= '0' && *text <= '9') || *text == '.' || strncmp(text, "\xE2\x80\x89", 3) == 0; text++) {
            if (*text == '.') {
                scale = 1;
            } else if ((unsigned char)*text == 0xE2) {
                text += 2;
            } else if (scale > 0) {
                part = part * 10 + (*text - '0');
                scale *= 10;
            } else {
                whole = whole * 10 + (*text - '0');
            }
        }
        text += *text == ' ';
        size_t k = 0;
        while (k < 6 && strncmp(text, units[k].name, strlen(units[k].name)) != 0) {
            k++;
        }
        assert_true(k < 6);
        sum += whole * units[k].ns + (scale > 1 ? part * (units[k].ns / scale) : 0);
        text += strlen(units[k].name);
        text += *text == ' ';
    }
    return negative ? -sum : sum;
}

static size_t check_ticks(const stage *g)
{
    const rect axis = g->scene->m.axis;
    const rect plot = g->scene->m.plot;
    int64_t base = 0;
    size_t n = 0;
    for (size_t i = 0; i < g->list.n_runs; i++) {
        const draw_run *run = &g->list.runs[i];
        const char *text = g->list.text.s + run->text;
        bool beside = run->y >= axis.y && run->y < axis.y + axis.h && run->x + run->width < axis.x;
        text += strncmp(text, "from ", 5) == 0 ? 5 : 0;
        if (beside && strstr(text, "\xE2\x80\xA6")) {
            return 0; /* no room for all of the base */
        }
        if (beside && ((text[0] >= '0' && text[0] <= '9') || text[0] == '\xE2')) {
            base = time_said(text);
        }
    }
    for (size_t i = 0; i < g->list.n_runs; i++) {
        const draw_run *run = &g->list.runs[i];
        if (run->y < axis.y || run->y >= axis.y + axis.h || run->x < axis.x || run->layer != LAYER_MARKS) {
            continue;
        }
        int64_t t = base + time_said(g->list.text.s + run->text);
        fine_ns span = span_of_view(g);
        fine_ns twice = 2 * place_times_n(g, t) + span; /* rounded to the next pixel */
        int64_t x = (int64_t)(twice / (2 * span)) - (twice % (2 * span) < 0);
        assert_true(run->x == plot.x + (float)x + 4);
        n++;
    }
    return n;
}

/* ------------------------------------------------------------------ under the pointer */

static void check_pick(stage *g, const small_run *r, prng *p)
{
    const rect plot = g->scene->m.plot;
    double x = (double)plot.x + floor(prng_unit(p) * (double)plot.w);
    scene_pick at = scene_pick_at(g->scene, x + 0.5, (double)plot.y + prng_unit(p) * (double)plot.h);
    double step = g->scene->src.grid.step_ns;
    double off = moment_minus(at.time, g->view.t0) / step - (x - (double)plot.x) - 0.5;
    assert_true(fabs(off) <= 1e-9 + 0x1p-31 / step);
    if (at.kind != PICK_EVENT) {
        return;
    }
    for (size_t i = 0; i < r->n; i++) { /* the store may have put them in another order */
        store_event_info e;
        assert_int_equal(store_read_event(g->file, at.event_row, &e, &g->diag), MAREY_OK);
        if (r->events[i].start_ns == e.start_ns && r->events[i].dur_ns == e.dur_ns && r->events[i].track == e.track) {
            int64_t column = (int64_t)(x - (double)plot.x);
            fine_ns span = span_of_view(g);
            assert_true(place_times_n(g, e.start_ns) < (column + 1) * span);
            fine_ns end = place_times_n(g, e.start_ns + e.dur_ns);
            assert_true(e.dur_ns > 0 ? end > column * span : end >= column * span);
            return;
        }
    }
    assert_true(false);
}

static void late_events_are_drawn_exactly(void **state)
{
    (void)state;
    prng p;
    prng_seed(&p, 21);
    size_t inked = 0;
    size_t ticks = 0;
    for (int k = 0; k < 40; k++) {
        small_run r;
        stage g;
        int64_t base = k == 0 ? 0 : random_base(&p);
        late_run(&r, &p, base);
        assert_int_equal(stage_open(&g, &r, 900, 900), MAREY_OK);
        scene_open_all(g.scene, (int)prng_below(&p, 4));
        for (int w = 0; w < 16; w++) {
            g.in.width_px = 300 + (int)prng_below(&p, 900);
            assert_true(stage_settle(&g) > 0); /* how wide the plot is */
            random_view(&p, &g, &r, base, (int)g.scene->m.plot.w);
            g.in.cursor_x = 250 + prng_unit(&p) * 300;
            g.in.cursor_y = 120 + prng_unit(&p) * 300;
            assert_true(stage_settle(&g) > 0);
            assert_null(draw_list_check(&g.list));
            inked += check_rows(&r, &g);
            g.in.cursor_x = -1; /* the pointer's own label */
            assert_true(stage_settle(&g) > 0);
            ticks += check_ticks(&g);
            check_pick(&g, &r, &p);
        }
        stage_close(&g);
        small_free(&r);
    }
    print_message("%zu inked columns and %zu ticks, all exact\n", inked, ticks);
    assert_true(inked > 100000 && ticks > 1500);
}

/* The same from tiles, once the picture is finished. */
static void late_tiles_end_exact(void **state)
{
    (void)state;
    prng p;
    prng_seed(&p, 22);
    size_t inked = 0;
    for (int k = 0; k < 6; k++) {
        small_run r;
        stage g;
        int64_t base = random_base(&p);
        brute_random_run(&r, &p, 2, 3000, 1000);
        for (size_t i = 0; i < r.n; i++) {
            r.events[i].start_ns += base;
        }
        assert_int_equal(stage_open(&g, &r, 700, 700), MAREY_OK);
        g.scene->event_budget = 0;
        for (int w = 0; w < 6; w++) {
            double length = (double)(r.m.duration_ns - base);
            double width = length * (w == 0 ? 1 : 0.3 + 0.7 * prng_unit(&p));
            g.view.t0 = moment_plus(moment_at(base), (length - width) * prng_unit(&p));
            g.view.t1 = moment_plus(g.view.t0, width);
            if (w == 5) {
                view_init(&g.view, r.m.duration_ns);
            }
            assert_true(stage_settle(&g) > 0);
            inked += check_rows(&r, &g);
        }
        stage_close(&g);
        small_free(&r);
    }
    print_message("from tiles: %zu inked columns, all exact\n", inked);
    assert_true(inked > 4000);
}

/* ------------------------------------------------------------------ bands and outlines */

static void late_bands_stand_at_their_times(void **state)
{
    (void)state;
    const int64_t base = LAST_NS - 4000;
    small_run r;
    stage g;
    small_init(&r);
    (void)small_name(&r, "kernel", CLASS_MATMUL, KIND_COMPUTE);
    for (uint32_t rank = 0; rank < 4; rank++) {
        (void)small_rank(&r, -1, "");
        uint32_t track = small_lane(&r, KIND_COMPUTE, "stream", 1);
        for (uint32_t i = 0; i < 10; i++) {
            small_put(&r, (small_event){track, base + 100 * i + rank, 41, 0, i, CLASS_MATMUL, 0, NULL});
        }
    }
    assert_int_equal(stage_open(&g, &r, 1000, 600), MAREY_OK);
    g.view.layout = LAYOUT_MAREY;
    for (int k = 0; k < 30; k++) {
        g.view.t0 = moment_plus(moment_at(base - 3), 0.3 * k);
        g.view.t1 = moment_plus(g.view.t0, 150);
        assert_true(stage_settle(&g) > 0);
        assert_true(g.list.n_bands >= 3);
        double px_per_ns = (double)g.scene->m.plot.w / 150;
        for (size_t i = 0; i < g.list.n_bands; i++) {
            const draw_band *b = &g.list.bands[i];
            if (b->x0 < g.scene->m.plot.x + 1 || b->x1 > g.scene->m.plot.x + g.scene->m.plot.w - 1) {
                continue; /* cut at the edge of the plot */
            }
            double t = moment_minus(g.view.t0, moment_at(base)) + (double)(b->x0 - g.scene->m.plot.x) / px_per_ns;
            double rank = t - 100 * floor(t / 100 + 0.001); /* starts on whole nanoseconds: 0 to 3 after a hundred */
            assert_true(fabs(rank - floor(rank + 0.5)) * px_per_ns < 0.01 && rank > -0.01 && rank < 3.01);
            assert_true(fabs((double)(b->x1 - b->x0) - 41 * px_per_ns) < 0.01);
        }
    }
    stage_close(&g);
    small_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(late_events_are_drawn_exactly),
        cmocka_unit_test(late_tiles_end_exact),
        cmocka_unit_test(late_bands_stand_at_their_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
