/*
 * Contract: at every window size from 640 x 400 to 3840 x 2160 and scale 1 to 3 no text is cut by the frame or its
 * panel, no two texts of one panel overlap, the parts of the frame do not overlap; what a frame draws is bounded by its
 * pixels, not by the events; the same view gives the same list; picking finds what was drawn; a tooltip stays inside
 * the frame and says exact numbers.
 */
#include "cm.h"

#include <math.h>

#include "help/ns.h"
#include "help/stage.h"
#include "help_brute.h"

static const struct {
    int w, h;
    double scale;
} sizes[] = {{640, 400, 1},  {800, 600, 1},   {1024, 768, 1.25}, {1280, 720, 1},  {1280, 800, 2},  {1366, 768, 1.5},
             {1600, 900, 3}, {1920, 1080, 1}, {1920, 1080, 2},   {2560, 1440, 1}, {3840, 2160, 2}, {3840, 2160, 3}};

static void names_run(small_run *r, prng *p)
{
    brute_random_run(r, p, 12, 200, 2000);
    r->m.name = "a run with a rather long name that can't fit everywhere, 40 layers, 20 steps";
    for (uint32_t k = 0; k < r->m.n_ranks; k++) {
        r->m.ranks[k].stage = (int32_t)k / 4;
        r->m.ranks[k].host = "cluster-node-0042.example-datacentre.internal";
        small_step(r, k, 100, 0, 200000);
        small_step(r, k, 101, 200000, 400000);
    }
}

/* Ascent and descent, roughly: what may not leave the panel. */
static void text_box(const draw_run *t, float box[4])
{
    box[0] = t->x;
    box[1] = t->y - 0.74F * t->size;
    box[2] = t->x + t->width;
    box[3] = t->y + 0.05F * t->size;
}

static bool overlap(const float a[4], const float b[4])
{
    return a[0] < b[2] - 0.5F && b[0] < a[2] - 0.5F && a[1] < b[3] - 0.5F && b[1] < a[3] - 0.5F;
}

static void check_texts(const draw_list *l)
{
    for (size_t i = 0; i < l->n_runs; i++) {
        const draw_run *t = &l->runs[i];
        const rect *clip = &l->clips[t->clip];
        float box[4];
        text_box(t, box);
        assert_true(box[0] >= clip->x - 0.5F && box[2] <= clip->x + clip->w + 1);
        assert_true(box[1] >= clip->y - 0.5F && box[3] <= clip->y + clip->h + 0.5F);
        for (size_t k = 0; k < i; k++) {
            float other[4];
            text_box(&l->runs[k], other);
            if (l->runs[k].layer == t->layer) {
                if (overlap(box, other)) {
                    fail_msg("\"%s\" overlaps \"%s\"", l->text.s + t->text, l->text.s + l->runs[k].text);
                }
            }
        }
    }
}

static bool apart(rect a, rect b)
{
    return a.w <= 0 || b.w <= 0 || a.h <= 0 || b.h <= 0 || a.x + a.w <= b.x || b.x + b.w <= a.x || a.y + a.h <= b.y ||
           b.y + b.h <= a.y;
}

static void check_parts(const stage *g)
{
    const metrics *m = &g->scene->m;
    const rect parts[] = {m->bar, m->overview, m->axis, m->labels, m->plot, m->status};
    for (size_t i = 0; i < 6; i++) {
        assert_true(parts[i].x >= 0 && parts[i].y >= 0 && parts[i].x + parts[i].w <= (float)g->in.width_px);
        assert_true(parts[i].y + parts[i].h <= (float)g->in.height_px);
        assert_true(parts[i].x == floorf(parts[i].x) && parts[i].y == floorf(parts[i].y));
        for (size_t k = 0; k < i; k++) {
            assert_true(apart(parts[i], parts[k]));
        }
    }
    assert_true(m->plot.w >= 60 && m->plot.h >= 40);
}

static void nothing_is_cut_at_any_size(void **state)
{
    (void)state;
    enum { KEYS = 64 }; /* more than a small window has room for, under a heading every ten */
    const char *keys[KEYS][2];
    for (size_t i = 0; i < KEYS; i++) {
        keys[i][0] = i % 10 ? "Shift+Wheel" : "";
        keys[i][1] = i % 10 ? "zooms at the pointer, or something else as long" : "Heading";
    }
    prng p;
    prng_seed(&p, 31);
    small_run r;
    stage g;
    names_run(&r, &p);
    assert_int_equal(stage_open(&g, &r, 800, 600), MAREY_OK);
    scene_set_help(g.scene, (const char *const(*)[2])keys, KEYS);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (int k = 0; k < 12; k++) {
            g.in.width_px = sizes[i].w;
            g.in.height_px = sizes[i].h;
            g.in.scale = sizes[i].scale;
            g.view.layout = k % 2 ? LAYOUT_MAREY : LAYOUT_TIMELINE;
            g.view.theme = k % 3 ? THEME_DARK : THEME_LIGHT;
            g.view.show_help = k == 5;
            view_init(&g.view, r.m.duration_ns);
            view_zoom(&g.view, exp(prng_unit(&p) * 7), prng_unit(&p));
            scene_open_all(g.scene, (int)prng_below(&p, 4));
            g.in.cursor_x = prng_unit(&p) * sizes[i].w;
            g.in.cursor_y = prng_unit(&p) * sizes[i].h;
            assert_true(stage_settle(&g) > 0);
            assert_null(draw_list_check(&g.list));
            check_parts(&g);
            check_texts(&g.list);
        }
    }
    stage_close(&g);
    small_free(&r);
}

static void the_list_is_bounded_and_repeats(void **state)
{
    (void)state;
    prng p;
    prng_seed(&p, 32);
    for (int size = 1; size <= 100; size *= 10) {
        small_run r;
        stage g;
        brute_random_run(&r, &p, 4, (uint32_t)(300 * size), 1000);
        assert_int_equal(stage_open(&g, &r, 1920, 1080), MAREY_OK);
        for (int layout = 0; layout < 2; layout++) {
            view_init(&g.view, r.m.duration_ns);
            g.view.layout = (view_layout)layout;
            while (view_span_ns(&g.view) > 500) {
                assert_true(stage_settle(&g) > 0);
                assert_true(draw_list_primitives(&g.list) < 30000);
                assert_true(g.list.n_cells < 1920U * 1200U);
                strbuf a = {0};
                strbuf b = {0};
                draw_list_dump(&g.list, &a);
                assert_int_equal(stage_frame(&g), MAREY_OK); /* from kept rasters */
                draw_list_dump(&g.list, &b);
                assert_string_equal(strbuf_str(&a), strbuf_str(&b));
                strbuf_deinit(&a);
                strbuf_deinit(&b);
                view_zoom(&g.view, 6, 0.31);
            }
        }
        stage_close(&g);
        small_free(&r);
    }
}

/* The event under the pointer, found by brute force. */
static const small_event *brute_at(const small_run *r, const uint32_t *tracks, uint32_t n, double t)
{
    const small_event *best = NULL;
    for (size_t i = 0; i < r->n; i++) {
        const small_event *e = &r->events[i];
        for (uint32_t k = 0; k < n; k++) {
            if (e->track == tracks[k] && (double)e->start_ns <= t && (double)(e->start_ns + e->dur_ns) > t) {
                best = !best || e->start_ns >= best->start_ns ? e : best;
            }
        }
    }
    return best;
}

static void picking_finds_what_was_drawn(void **state)
{
    (void)state;
    prng p;
    prng_seed(&p, 33);
    small_run r;
    stage g;
    size_t events = 0;
    size_t cells = 0;
    brute_random_run(&r, &p, 3, 150, 3000);
    assert_int_equal(stage_open(&g, &r, 1200, 800), MAREY_OK);
    for (int k = 0; k < 300; k++) {
        view_init(&g.view, r.m.duration_ns);
        view_zoom(&g.view, exp(prng_unit(&p) * 5), prng_unit(&p));
        rect plot = g.scene->m.plot;
        g.in.cursor_x = floor((double)plot.x + prng_unit(&p) * (double)plot.w) + 0.5;
        g.in.cursor_y = (double)plot.y + prng_unit(&p) * (double)plot.h;
        assert_true(stage_settle(&g) > 0);
        scene_pick at = scene_pick_at(g.scene, g.in.cursor_x, g.in.cursor_y);
        if (at.kind == PICK_CELL) {
            cells++;
        }
        if (at.kind != PICK_EVENT) {
            continue;
        }
        events++;
        store_event_info e;
        assert_int_equal(store_read_event(g.file, at.event_row, &e, &g.diag), MAREY_OK);
        uint32_t n = 0;
        uint32_t one = 0;
        const uint32_t *tracks = row_tracks(g.scene, &g.scene->tree.rows[at.row], &n, &one);
        const small_event *truth = brute_at(&r, tracks, n, ns_of(at.time));
        if (truth) {
            assert_int_equal(truth->start_ns, e.start_ns);
        } else { /* in the same column at least */
            double step = g.scene->src.grid.step_ns;
            assert_true((double)e.start_ns <= ns_of(at.time) + step &&
                        (double)(e.start_ns + e.dur_ns) >= ns_of(at.time) - step);
        }
    }
    print_message("picked %zu events, %zu cells\n", events, cells);
    assert_true(events > 30);
    stage_close(&g);
    small_free(&r);
}

static bool says(const draw_list *l, const char *text)
{
    for (size_t i = 0; i < l->n_runs; i++) {
        if (strstr(l->text.s + l->runs[i].text, text)) {
            return true;
        }
    }
    return false;
}

static void a_tooltip_says_exact_numbers(void **state)
{
    (void)state;
    small_run r;
    stage g;
    small_init(&r);
    (void)small_name(&r, "void gemm<float>(int, float*)", CLASS_MATMUL, KIND_COMPUTE);
    (void)small_name(&r, "add", CLASS_COMPUTE, KIND_COMPUTE);
    (void)small_rank(&r, -1, "host");
    uint32_t track = small_lane(&r, KIND_COMPUTE, "stream 7", 1);
    small_put(&r, (small_event){track, 1000000, 602640127, 0, 3, CLASS_MATMUL, 0,
                                "{\"grid\":[4,1,1],\"note\":\"a, \\\"b\\\"\"}"});
    for (uint32_t i = 0; i < 40; i++) { /* within one column: 40 events of 1000 ns, busy 40 000 ns */
        small_put(&r, (small_event){track, 700000000 + 2000 * (int64_t)i, i == 7 ? 1500 : 1000, 1, i, CLASS_COMPUTE, 0,
                                    NULL});
    }
    small_put(&r, (small_event){track, 1000000000, 500, 1, 99, CLASS_COMPUTE, SEVERITY_LOST | EVENT_UNFINISHED, NULL});
    assert_int_equal(stage_open(&g, &r, 1200, 700), MAREY_OK);
    scene_open_all(g.scene, 0);
    assert_true(stage_settle(&g) > 0);
    rect strip = row_strip_rect(g.scene, &g.scene->tree.rows[0]);
    g.in.cursor_y = (double)(strip.y + strip.h / 2);
    g.in.cursor_x = floor(x_of(g.scene, 300e6)) + 0.5;
    assert_true(stage_settle(&g) > 0);
    assert_true(says(&g.list, "602.640\xE2\x80\x89"
                              "127 ms"));
    assert_true(says(&g.list, "void gemm<float>(int, float*)"));
    assert_true(says(&g.list, "[4,1,1]"));
    assert_true(says(&g.list, "occurrence 3") || !says(&g.list, "step"));
    g.in.cursor_x = floor(x_of(g.scene, 700.04e6)) + 0.5;
    assert_true(stage_settle(&g) > 0);
    assert_true(says(&g.list, "40 events"));
    assert_true(says(&g.list, "1.500 \xC2\xB5s") ||
                says(&g.list, "1\xE2\x80\x89"
                              "500 ns") ||
                says(&g.list, "1.500"));
    stage_close(&g);
    small_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_cut_at_any_size),
        cmocka_unit_test(the_list_is_bounded_and_repeats),
        cmocka_unit_test(picking_finds_what_was_drawn),
        cmocka_unit_test(a_tooltip_says_exact_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
