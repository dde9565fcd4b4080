/* Clocks and numbers from a seed. */
#ifndef MAREY_BASE_CLOCK_H
#define MAREY_BASE_CLOCK_H

#include <stdint.h>

/** Monotonic time in ns; for measuring only. Thread: any. */
int64_t clock_now_ns(void);

/* xoshiro256**, seeded by splitmix64 (Blackman, Vigna 2018). The same seed gives the same run on every machine. */
typedef struct prng {
    uint64_t s[4];
} prng;

void prng_seed(prng *r, uint64_t seed);
uint64_t prng_next(prng *r);
double prng_unit(prng *r);                /* [0, 1) */
uint64_t prng_below(prng *r, uint64_t n); /* [0, n), n > 0 */
double prng_normal(prng *r); /* mean 0, deviation 1; uses no libm function that may differ between machines */

#endif
