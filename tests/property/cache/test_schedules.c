/*
 * Contract of cache/cache.h under random schedules: frames that ask for random keys, loads in between and in the middle
 * of frames, a small budget, some faulty keys. After every step:
 *
 * - what a lookup returned in this frame still holds the right content when the frame ends, whatever was loaded
 * meanwhile;
 * - bytes are the sum of what is there, and go over the budget only by what the last two frames used and one load;
 * - a faulty key is read at most once; a key that two consecutive frames and enough steps asked for is there;
 * - queued, loaded, dropped and failed add up to what was asked for.
 */
#include "cm.h"

#include "base/clock.h"
#include "cache/internal.h"
#include "help/fake_source.h"

#ifdef __SANITIZE_THREAD__
enum { SEEDS = 3 }; /* twenty times as slow */
#else
enum { SEEDS = 16 };
#endif
enum { KEYS = 48, HELD = 64 };

typedef struct schedule {
    prng rng;
    fake_source source;
    cache *c;
    const cache_tile *tiles[HELD];
    const cache_block *blocks[HELD];
    uint32_t tile_ids[HELD], block_ids[HELD];
    size_t n_tiles, n_blocks;
    size_t used_bytes[2]; /* by this frame and the one before */
} schedule;

static void check_held(schedule *s)
{
    for (size_t i = 0; i < s->n_tiles; i++) {
        assert_int_equal(s->tiles[i]->key.col, s->tile_ids[i]);
        assert_int_equal(s->tiles[i]->cells[TILE_CELLS - 1].klass, s->tile_ids[i] % CLASS_COUNT);
    }
    for (size_t i = 0; i < s->n_blocks; i++) {
        assert_int_equal(s->blocks[i]->columns->start_ns[FAKE_EVENTS - 1],
                         (int64_t)s->block_ids[i] * 1000 + FAKE_EVENTS - 1);
    }
}

static void check_stats(schedule *s)
{
    cache_stats t = cache_get_stats(s->c);
    size_t block = entry_bytes(&(entry){.key = 0});
    size_t tile = entry_bytes(&(entry){.key = TILE_BIT});
    assert_int_equal(t.bytes, t.n_blocks * block + t.n_tiles * tile);
    assert_int_equal(t.n_loaded - t.n_evicted, t.n_blocks + t.n_tiles);
    size_t allowed = s->used_bytes[0] + s->used_bytes[1];
    allowed = (allowed > s->c->options.budget_bytes ? allowed : s->c->options.budget_bytes) + block;
    assert_true(t.bytes <= allowed);
    assert_true(t.n_failed <= 4);
    assert_int_equal(atomic_load(&s->source.n_reads), t.n_loaded + t.n_failed);
}

static void ask(schedule *s)
{
    uint32_t id = (uint32_t)prng_below(&s->rng, KEYS);
    int urgency = prng_below(&s->rng, 4) == 0;
    bool is_tile = prng_below(&s->rng, 2) != 0;
    s->used_bytes[0] += entry_bytes(&(entry){.key = is_tile ? TILE_BIT : 0});
    if (is_tile) {
        const cache_tile *t = cache_get_tile(s->c, id, urgency);
        if (t && s->n_tiles < HELD) {
            s->tiles[s->n_tiles] = t;
            s->tile_ids[s->n_tiles++] = id;
        }
        assert_false(t && cache_failed(s->c, true, id));
    } else {
        const cache_block *b = cache_get_block(s->c, id, urgency);
        if (b && s->n_blocks < HELD) {
            s->blocks[s->n_blocks] = b;
            s->block_ids[s->n_blocks++] = id;
        }
        assert_false(b && cache_failed(s->c, false, id));
    }
}

static void run_frame(schedule *s)
{
    s->n_tiles = 0;
    s->n_blocks = 0;
    s->used_bytes[1] = s->used_bytes[0];
    s->used_bytes[0] = 0;
    cache_begin_frame(s->c);
    for (uint64_t n = prng_below(&s->rng, 30); n > 0; n--) {
        ask(s);
        if (prng_below(&s->rng, 5) == 0) {
            (void)cache_step(s->c);
        }
    }
    check_held(s);
    check_stats(s);
    cache_end_frame(s->c);
}

static void random_schedules(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        schedule s = {.source = {.faulty = 1U << 11 | 1U << 30}};
        prng_seed(&s.rng, seed);
        cache_source source = fake_cache_source(&s.source);
        cache_options options = {.budget_bytes = (size_t)(1 + prng_below(&s.rng, 12)) << 20};
        assert_int_equal(cache_create(&s.c, &source, &options, NULL), MAREY_OK);
        for (int frame = 0; frame < 40; frame++) {
            run_frame(&s);
            for (uint64_t n = prng_below(&s.rng, 12); n > 0; n--) {
                (void)cache_step(s.c);
                check_stats(&s);
            }
        }
        cache_settle(s.c);
        assert_int_equal(cache_get_stats(s.c).n_queued + cache_get_stats(s.c).n_loading, 0);
        assert_false(s.source.overlapped);
        cache_destroy(&s.c);
    }
}

/* Whatever the budget: a frame that is built again and again becomes complete, or headless pictures would never end. */
static void every_frame_completes(void **state)
{
    (void)state;
    for (size_t budget = 1; budget < (size_t)64 << 20; budget = budget * 8 + 1) {
        fake_source f = {0};
        cache_source source = fake_cache_source(&f);
        cache_options options = {.budget_bytes = budget};
        cache *c = NULL;
        assert_int_equal(cache_create(&c, &source, &options, NULL), MAREY_OK);
        size_t missing = 1;
        for (int round = 0; round < 2; round++) {
            missing = 0;
            cache_begin_frame(c);
            for (uint32_t i = 0; i < KEYS; i++) {
                missing += cache_get_tile(c, i, 0) == NULL;
            }
            cache_end_frame(c);
            cache_settle(c);
        }
        assert_int_equal(missing, 0);
        cache_destroy(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_schedules),
        cmocka_unit_test(every_frame_completes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
