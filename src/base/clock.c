#include "base/clock.h"

#include <time.h>

int64_t clock_now_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static uint64_t splitmix(uint64_t *x)
{
    uint64_t z = (*x += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

void prng_seed(prng *r, uint64_t seed)
{
    for (int i = 0; i < 4; i++) {
        r->s[i] = splitmix(&seed);
    }
}

static uint64_t rotl(uint64_t x, int k)
{
    return (x << k) | (x >> (64 - k));
}

uint64_t prng_next(prng *r)
{
    uint64_t result = rotl(r->s[1] * 5, 7) * 9;
    uint64_t t = r->s[1] << 17;
    r->s[2] ^= r->s[0];
    r->s[3] ^= r->s[1];
    r->s[1] ^= r->s[2];
    r->s[0] ^= r->s[3];
    r->s[2] ^= t;
    r->s[3] = rotl(r->s[3], 45);
    return result;
}

double prng_unit(prng *r)
{
    return (double)(prng_next(r) >> 11) * 0x1.0p-53;
}

uint64_t prng_below(prng *r, uint64_t n)
{
    return (uint64_t)(((__uint128_t)prng_next(r) * n) >> 64);
}

double prng_normal(prng *r)
{
    /* Irwin-Hall: twelve uniforms less six. Tails end at 6 deviations, which suits simulated jitter. */
    double sum = 0;
    for (int i = 0; i < 12; i++) {
        sum += prng_unit(r);
    }
    return sum - 6.0;
}
