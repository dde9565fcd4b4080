/* One byte for counts and durations, and the widths of bins. */
#include "lod/pyramid.h"

#include "lod/internal.h"

const uint32_t TILE_ROWS[LOD_R] = {LOD_TRACK_ROWS, 64, 8};
const uint32_t TILE_BINS[LOD_R] = {256, 256, 2048};

static unsigned log2_floor(uint64_t x)
{
    return 63U - (unsigned)__builtin_clzll(x);
}

/* 2^(i/8) in 63-bit fixed point, so that the codes are the same on every machine. */
static const uint64_t EIGHTH_POWERS[8] = {0x8000000000000000U, 0x8b95c1e3ea8bd6e6U, 0x9837f0518db8a96fU,
                                          0xa5fed6a9b15138eaU, 0xb504f333f9de6484U, 0xc5672a115506daddU,
                                          0xd744fccad69d6af4U, 0xeac0c6e7dd24392eU};
/* 2^((2i+1)/16): where rounding goes over to the next eighth. */
static const uint64_t SIXTEENTH_POWERS[8] = {0x85aac367cc487b14U, 0x91c3d373ab11c336U, 0x9ef5326091a111adU,
                                             0xad583eea42a14ac6U, 0xbd08a39f580c36beU, 0xce248c151f8480e3U,
                                             0xe0ccdeec2a94e111U, 0xf5257d152486cc2cU};

uint8_t lod_count_code(uint64_t n)
{
    if (n < 16) {
        return (uint8_t)n;
    }
    unsigned e = log2_floor(n);
    uint64_t mantissa = n << (63U - e);
    unsigned eighth = 0;
    while (eighth < 8 && mantissa >= SIXTEENTH_POWERS[eighth]) {
        eighth++;
    }
    unsigned code = 16U + 8U * (e - 4U) + eighth;
    return (uint8_t)(code > 255 ? 255 : code);
}

uint64_t lod_count_value(uint8_t code)
{
    if (code < 16) {
        return code;
    }
    unsigned e = 4U + (code - 16U) / 8U;
    uint64_t p = EIGHTH_POWERS[(code - 16U) % 8U];
    return (p + ((uint64_t)1 << (62U - e))) >> (63U - e);
}

int64_t lod_dur_value(uint8_t code)
{
    if (code == 0) {
        return 0;
    }
    unsigned e = (code - 1U) / 4U;
    if (e >= 63) {
        return INT64_MAX;
    }
    return (int64_t)(EIGHTH_POWERS[(code - 1U) % 4U * 2U] >> (63U - e));
}

uint8_t lod_dur_code(int64_t dur_ns)
{
    return lod_code_of_dur(dur_ns);
}

int64_t lod_bin_ns(int64_t bin0_ns, unsigned level)
{
    if (bin0_ns <= 0) {
        return 0;
    }
    unsigned e = log2_floor((uint64_t)bin0_ns);
    if (level > 31 || e + 2U * level > 62) {
        return INT64_MAX;
    }
    return bin0_ns << (2U * level);
}

void pyramid_choose_bins(uint64_t n_events, int64_t busy_rank_ns, uint32_t n_ranks, int64_t bin0_ns[LOD_R])
{
    enum { SMALLEST = 6, LARGEST = 36, USUAL = 20, EVENTS = 4 };
    unsigned e = USUAL;
    if (n_events > 0 && busy_rank_ns > 0) {
        /* Four events per bin, to the nearest power of two (in the logarithm: from sqrt(2) on it is the next one). */
        double bin = EVENTS * (double)busy_rank_ns / (double)n_events;
        /* Of few ranks the tiles of such bins are below what is stored, so that all work on them would be lost. */
        bin *= EVENTS * TILE_BINS[R_RANK] * n_ranks < LOD_SPARSE_EVENTS ? 1U << LOD_FACTOR_BITS : 1U;
        e = 0;
        while (e < LARGEST && bin >= 1.4142135623730951) {
            bin *= 0.5;
            e++;
        }
        e = e < SMALLEST ? SMALLEST : e;
    }
    bin0_ns[R_TRACK] = (int64_t)1 << e;
    bin0_ns[R_RANK] = (int64_t)1 << e;
    bin0_ns[R_EIGHT] = (int64_t)1 << (e - 3U);
}
