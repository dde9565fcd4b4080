/*
 * Contract: a frame never waits. What is not in the cache yet is asked for again by every frame until it is there,
 * stood in for by a coarser level that is ready, marked as coarse, and the frame says that it is not complete; loading
 * in any order ends in the same picture; a damaged block or tile does not keep a frame from completing.
 */
#include "cm.h"

#include "help/stage.h"

/* Enough events that the pyramid has stored levels and the window holds several blocks. */
static void make(small_run *r, uint32_t n_ranks, uint32_t per_rank)
{
    prng p;
    prng_seed(&p, 21);
    small_init(r);
    (void)small_name(r, "a", CLASS_FORWARD, KIND_COMPUTE);
    (void)small_name(r, "b", CLASS_BACKWARD, KIND_COMPUTE);
    for (uint32_t k = 0; k < n_ranks; k++) {
        (void)small_rank(r, -1, "host");
        uint32_t track = small_lane(r, KIND_COMPUTE, "stream 7", 1);
        int64_t t = 0;
        for (uint32_t i = 0; i < per_rank; i++) {
            int64_t length = 500 + (int64_t)prng_below(&p, 1000);
            uint32_t name = (uint32_t)prng_below(&p, 2);
            small_put(
                r, (small_event){track, t, length, name, i, (uint8_t)(name ? CLASS_BACKWARD : CLASS_FORWARD), 0, NULL});
            t += length + (int64_t)prng_below(&p, 200);
        }
    }
}

static size_t coarse_cells(const stage *g)
{
    size_t n = 0;
    for (size_t i = 0; i < g->list.n_cells; i++) {
        n += (g->list.cells[i].flags & CELL_COARSE) != 0;
    }
    return n;
}

static char *dump(const stage *g)
{
    strbuf b = {0};
    draw_list_dump(&g->list, &b);
    char *s = mem_strdup(strbuf_str(&b));
    strbuf_deinit(&b);
    return s;
}

static void step_by_step(bool tiles)
{
    small_run r;
    stage g;
    make(&r, 8, 20000);
    assert_int_equal(stage_open(&g, &r, 900, 600), MAREY_OK);
    g.scene->event_budget = tiles ? 0 : 1e9;
    assert_int_equal(stage_frame(&g), MAREY_OK);
    assert_false(g.frame.complete);
    assert_true(g.frame.n_wanted > 0);
    assert_null(draw_list_check(&g.list));
    size_t seen_coarse = 0;
    int frames = 1;
    for (; frames < 500 && !g.frame.complete; frames++) {
        assert_int_equal(stage_frame(&g), MAREY_OK); /* a second frame without any arrival keeps the requests alive */
        assert_int_equal(stage_frame(&g), MAREY_OK);
        seen_coarse += coarse_cells(&g);
        if (!g.frame.complete) {
            assert_true(cache_step(g.cache));
            assert_int_equal(stage_frame(&g), MAREY_OK);
        }
    }
    assert_true(g.frame.complete);
    assert_int_equal(coarse_cells(&g), 0);
    assert_true(seen_coarse > 0);
    char *slow = dump(&g);
    stage_close(&g);
    stage again;
    small_free(&r);
    make(&r, 8, 20000);
    assert_int_equal(stage_open(&again, &r, 900, 600), MAREY_OK);
    again.scene->event_budget = tiles ? 0 : 1e9;
    assert_true(stage_settle(&again) > 0);
    char *fast = dump(&again);
    assert_string_equal(slow, fast);
    free(slow);
    free(fast);
    stage_close(&again);
    small_free(&r);
}

static void blocks_arrive_one_by_one(void **state)
{
    (void)state;
    step_by_step(false);
}

static void tiles_arrive_one_by_one(void **state)
{
    (void)state;
    step_by_step(true);
}

/* Zooming in: the level before is on screen in the first frame of the new range. */
static void zooming_is_never_blank(void **state)
{
    (void)state;
    small_run r;
    stage g;
    make(&r, 8, 20000);
    assert_int_equal(stage_open(&g, &r, 900, 600), MAREY_OK);
    g.scene->event_budget = 0;
    assert_true(stage_settle(&g) > 0);
    for (int k = 0; k < 6; k++) {
        view_zoom(&g.view, 1.7, 0.4);
        assert_int_equal(stage_frame(&g), MAREY_OK);
        for (size_t i = 0; i < g.scene->tree.n_rows; i++) {
            const row_raster *cells = stage_raster(&g, &g.scene->tree.rows[i]);
            size_t inked = 0;
            for (uint32_t c = 0; cells && c < cells->n; c++) {
                inked += cells->cells[c].klass != CELL_EMPTY;
            }
            assert_true(cells && inked * 10 > cells->n * 9U); /* the run is busy for more than nine tenths */
        }
        assert_true(stage_settle(&g) > 0);
    }
    stage_close(&g);
    small_free(&r);
}

static marey_status fail_block(void *ctx, uint32_t block, store_columns *c, diag *d)
{
    if (block % 2 == 1) {
        return diag_error(d, MAREY_FORMAT, "test", block, "damaged");
    }
    return store_read_block(ctx, block, COL_ALL, c, d);
}

static marey_status fail_tile(void *ctx, uint32_t tile, uint8_t *cells, diag *d)
{
    if (tile % 3 == 0) {
        return diag_error(d, MAREY_FORMAT, "test", tile, "damaged");
    }
    return store_read_tile(ctx, tile, cells, d);
}

static tile_key key_of(void *ctx, uint32_t tile)
{
    return store_tile_key(ctx, tile);
}

static void damage_does_not_hang(void **state)
{
    (void)state;
    for (int tiles = 0; tiles < 2; tiles++) {
        small_run r;
        stage g;
        make(&r, 8, 20000);
        assert_int_equal(stage_open(&g, &r, 900, 600), MAREY_OK);
        scene_destroy(&g.scene);
        cache_destroy(&g.cache);
        cache_source source = {g.file, fail_block, fail_tile, key_of};
        cache_options o = {.n_threads = 0};
        assert_int_equal(cache_create(&g.cache, &source, &o, &g.diag), MAREY_OK);
        assert_int_equal(scene_create(&g.scene, g.file, g.cache, g.text, &g.diag), MAREY_OK);
        g.scene->event_budget = tiles ? 0 : 1e9;
        assert_true(stage_settle(&g) > 0);
        assert_null(draw_list_check(&g.list));
        stage_close(&g);
        small_free(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_arrive_one_by_one),
        cmocka_unit_test(tiles_arrive_one_by_one),
        cmocka_unit_test(zooming_is_never_blank),
        cmocka_unit_test(damage_does_not_hang),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
