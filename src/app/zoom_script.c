#include "app/zoom_script.h"

#include <math.h>

#include "base/clock.h"

static bool is_device_track(const trace_model *m, uint32_t track)
{
    return kind_is_device(m->lanes[m->tracks[track].lane].kind);
}

/* Device tracks first; any event with a length is good where there is none. */
static bool find_event(const store_file *f, const store_block_info *b, const store_columns *c, prng *r, int64_t *start,
                       int64_t *dur)
{
    const trace_model *m = store_model(f);
    for (int want_device = 1; want_device >= 0; want_device--) {
        uint32_t first = (uint32_t)prng_below(r, b->n_tracks);
        for (uint32_t k = 0; k < b->n_tracks; k++) {
            uint32_t at = (first + k) % b->n_tracks;
            uint32_t from = b->offsets[at];
            uint32_t n = b->offsets[at + 1] - from;
            if (n == 0 || (want_device && !is_device_track(m, b->tracks[at]))) {
                continue;
            }
            uint32_t i = from + (uint32_t)prng_below(r, n);
            if (c->dur_ns[i] > 0) {
                *start = c->start_ns[i];
                *dur = c->dur_ns[i];
                return true;
            }
        }
    }
    return false;
}

marey_status zoom_script_choose(zoom_script *z, session *s, uint64_t seed, diag *d)
{
    *z = (zoom_script){moment_at(s->duration_ns / 2), 1000, fmax((double)s->duration_ns, 1000)};
    prng r;
    prng_seed(&r, seed);
    size_t n_blocks = store_n_blocks(s->file);
    store_columns c = {0};
    marey_status status = MAREY_OK;
    for (int try = 0; try < 16 && n_blocks > 0; try++) {
        uint32_t block = (uint32_t)prng_below(&r, n_blocks);
        store_block_info b = store_block(s->file, block);
        int64_t start = 0;
        int64_t dur = 0;
        if (b.n_tracks == 0 || store_group_at(s->file, b.group).kind != GROUP_EVENTS) {
            continue;
        }
        MAREY_TRY(store_read_block(s->file, block, COL_START | COL_DUR, &c, d));
        if (find_event(s->file, &b, &c, &r, &start, &dur)) {
            z->centre = moment_plus(moment_at(start), 0.5 * (double)dur);
            z->narrow_ns = fmin(fmax(3 * (double)dur, 1000), z->wide_ns);
            break;
        }
    }
fail:
    store_columns_free(&c);
    return status;
}

void zoom_script_view(const zoom_script *z, session *s, uint64_t i, uint64_t n)
{
    double half = fmax((double)(n / 2), 1);
    double way = 1 - fabs((double)i - half) / half; /* 0 at the ends, 1 in the middle */
    double width = z->wide_ns * pow(z->narrow_ns / z->wide_ns, way);
    /* The operator's place on screen goes from where it lies in the whole run to the middle. */
    double at_wide = moment_minus(z->centre, moment_at(0)) / z->wide_ns;
    double at = at_wide + (0.5 - at_wide) * way;
    moment t0 = moment_plus(z->centre, -at * width);
    view_show_range(&s->view, t0, moment_plus(t0, width));
    view_clamp(&s->view, s->duration_ns);
}
