/*
 * Contract of cache/cache.h, stepped by hand (no threads):
 *
 * - An absent key is NULL, is queued once however often it is asked for, and is there after its step.
 * - What is more urgent loads first; what an ended frame did not ask for again never loads.
 * - A key that fails is told so, is not tried again, and its message reaches cache_take_errors.
 * - Over the budget the least recently used go, never what the latest frame used, and a read into reused memory is
 * right.
 * - Requests of low urgency never push the cache over its budget.
 * - Cells are decoded as cache_cell says: the largest class (ties: the lowest), 255 where nothing is busy.
 */
#include "cm.h"

#include "cache/internal.h"
#include "help/fake_source.h"

enum { TILE_BYTES = TILE_CELLS * (LOD_PLANES + 4) };

static cache *make(fake_source *f, size_t budget, unsigned n_threads)
{
    cache_source source = fake_cache_source(f);
    cache_options options = {.budget_bytes = budget, .n_threads = n_threads};
    cache *c = NULL;
    assert_int_equal(cache_create(&c, &source, &options, NULL), MAREY_OK);
    return c;
}

static void absent_queued_ready(void **state)
{
    (void)state;
    fake_source f = {0};
    cache *c = make(&f, 0, 0);
    cache_begin_frame(c);
    assert_null(cache_get_block(c, 7, 0));
    assert_null(cache_get_block(c, 7, 0));
    assert_null(cache_peek_tile(c, 7));
    assert_int_equal(cache_get_stats(c).n_queued, 1);
    cache_end_frame(c);
    assert_true(cache_step(c));
    assert_false(cache_step(c));
    assert_int_equal(f.n_reads, 1);
    cache_begin_frame(c);
    const cache_block *b = cache_get_block(c, 7, 0);
    assert_non_null(b);
    assert_int_equal(b->block, 7);
    assert_int_equal(b->columns->start_ns[3], 7003);
    assert_non_null(cache_peek_block(c, 7));
    assert_null(cache_peek_block(c, 8));
    cache_end_frame(c);
    assert_int_equal(cache_get_stats(c).n_queued, 0);
    cache_destroy(&c);
    assert_null(c);
}

static void urgent_first(void **state)
{
    (void)state;
    fake_source f = {0};
    cache *c = make(&f, 0, 0);
    cache_begin_frame(c);
    (void)cache_get_tile(c, 1, 1);
    (void)cache_get_tile(c, 2, 0);
    (void)cache_get_tile(c, 3, 0);
    (void)cache_get_tile(c, 1, 0); /* asked for again, more urgently: now the last of the urgent ones */
    (void)cache_get_tile(c, 4, 1);
    cache_end_frame(c);
    const uint32_t order[] = {2, 3, 1, 4};
    for (size_t i = 0; i < 4; i++) {
        assert_null(cache_peek_tile(c, order[i]));
        assert_true(cache_step(c));
        assert_non_null(cache_peek_tile(c, order[i]));
    }
    cache_destroy(&c);
}

static void old_requests_are_dropped(void **state)
{
    (void)state;
    fake_source f = {0};
    cache *c = make(&f, 0, 0);
    cache_begin_frame(c);
    (void)cache_get_tile(c, 1, 0);
    (void)cache_get_tile(c, 2, 0);
    cache_end_frame(c);
    cache_begin_frame(c);
    (void)cache_get_tile(c, 2, 0);
    cache_end_frame(c);
    cache_settle(c);
    assert_null(cache_peek_tile(c, 1));
    assert_non_null(cache_peek_tile(c, 2));
    assert_int_equal(f.n_reads, 1);
    assert_int_equal(cache_get_stats(c).n_dropped, 1);
    cache_begin_frame(c); /* dropped is absent, not failed: it can be asked for again */
    assert_null(cache_get_tile(c, 1, 0));
    cache_end_frame(c);
    cache_settle(c);
    assert_non_null(cache_peek_tile(c, 1));
    cache_destroy(&c);
}

static void failures_are_remembered(void **state)
{
    (void)state;
    fake_source f = {.faulty = 1U << 5};
    cache *c = make(&f, 0, 0);
    for (int frame = 0; frame < 3; frame++) {
        cache_begin_frame(c);
        assert_null(cache_get_block(c, 5, 0));
        cache_end_frame(c);
        cache_settle(c);
    }
    assert_int_equal(f.n_reads, 1);
    assert_true(cache_failed(c, false, 5));
    assert_false(cache_failed(c, true, 5));
    assert_false(cache_failed(c, false, 6));
    assert_int_equal(cache_get_stats(c).n_failed, 1);
    assert_int_equal(cache_get_stats(c).bytes, 0);
    diag d;
    diag_init(&d);
    cache_take_errors(c, &d);
    assert_int_equal(d.n_messages, 1);
    assert_string_equal(d.messages[0].text, "Item 5 is damaged.");
    cache_take_errors(c, &d);
    assert_int_equal(d.n_messages, 1);
    diag_deinit(&d);
    cache_destroy(&c);
}

static void show(cache *c, uint32_t first, uint32_t n)
{
    for (int pass = 0; pass < 2; pass++) {
        cache_begin_frame(c);
        for (uint32_t i = first; i < first + n; i++) {
            const cache_tile *t = cache_get_tile(c, i, 0);
            if (pass == 1) {
                assert_non_null(t);
                assert_int_equal(t->key.col, i);
                assert_int_equal(t->cells[100].klass, i % CLASS_COUNT);
            }
        }
        cache_end_frame(c);
        cache_settle(c);
    }
}

static void eviction_keeps_the_frame(void **state)
{
    (void)state;
    fake_source f = {0};
    cache *c = make(&f, 3 * TILE_BYTES, 0);
    show(c, 0, 3);
    assert_int_equal(cache_get_stats(c).n_evicted, 0);
    show(c, 10, 2);
    assert_non_null(cache_peek_tile(c, 2)); /* the least recently used two went */
    assert_null(cache_peek_tile(c, 0));
    assert_null(cache_peek_tile(c, 1));
    assert_int_equal(cache_get_stats(c).bytes, 3 * TILE_BYTES);
    show(c, 20, 8); /* one frame needs more than the budget: it gets it */
    assert_int_equal(cache_get_stats(c).n_tiles, 8);
    show(c, 40, 1); /* and gives it back */
    assert_true(cache_get_stats(c).bytes <= 3 * TILE_BYTES);
    cache_destroy(&c);
}

static void prefetch_stays_inside(void **state)
{
    (void)state;
    fake_source f = {0};
    cache *c = make(&f, 3 * TILE_BYTES, 0);
    show(c, 0, 2);
    cache_begin_frame(c);
    assert_non_null(cache_get_tile(c, 0, 0));
    assert_non_null(cache_get_tile(c, 1, 0));
    for (uint32_t i = 10; i < 20; i++) {
        (void)cache_get_tile(c, i, 1);
    }
    cache_end_frame(c);
    cache_settle(c);
    assert_int_equal(cache_get_stats(c).n_tiles, 3);
    assert_int_equal(cache_get_stats(c).n_dropped, 9);
    cache_destroy(&c);
}

static void put(uint8_t *planes, int plane, int cell, uint8_t value)
{
    planes[plane * TILE_CELLS + cell] = value;
}

static void cells_are_decoded(void **state)
{
    (void)state;
    uint8_t *planes = mem_calloc(LOD_PLANES, TILE_CELLS);
    cache_cell *cells = mem_alloc(TILE_CELLS * sizeof *cells);
    put(planes, CLASS_COLLECTIVE, 0, 60);
    put(planes, CLASS_FORWARD, 0, 59);
    put(planes, PLANE_BUSY, 0, 119);
    put(planes, PLANE_SEVERITY, 0, 0xF4);
    put(planes, PLANE_COUNT, 0, 17);
    put(planes, CLASS_SEND, 1, 1);
    put(planes, CLASS_COPY, 1, 1);
    put(planes, PLANE_BUSY, 1, 1);
    put(planes, CLASS_OTHER, TILE_CELLS - 1, 255);
    put(planes, PLANE_BUSY, TILE_CELLS - 1, 255);
    decode_cells(planes, cells);
    assert_memory_equal(&cells[0], (&(cache_cell){CLASS_COLLECTIVE, 119, 4, 17}), sizeof(cache_cell));
    assert_memory_equal(&cells[1], (&(cache_cell){CLASS_SEND, 1, 0, 0}), sizeof(cache_cell));
    assert_memory_equal(&cells[2], (&(cache_cell){255, 0, 0, 0}), sizeof(cache_cell));
    assert_memory_equal(&cells[TILE_CELLS - 1], (&(cache_cell){CLASS_OTHER, 255, 0, 0}), sizeof(cache_cell));
    free(planes);
    free(cells);
}

static void wrong_source_is_refused(void **state)
{
    (void)state;
    fake_source f = {0};
    cache_source source = fake_cache_source(&f);
    source.read_tile = NULL;
    cache_options options = {0};
    cache *c = NULL;
    assert_int_equal(cache_create(&c, &source, &options, NULL), MAREY_ARG);
    assert_null(c);
    cache_destroy(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(absent_queued_ready),      cmocka_unit_test(urgent_first),
        cmocka_unit_test(old_requests_are_dropped), cmocka_unit_test(failures_are_remembered),
        cmocka_unit_test(eviction_keeps_the_frame), cmocka_unit_test(prefetch_stays_inside),
        cmocka_unit_test(cells_are_decoded),        cmocka_unit_test(wrong_source_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
