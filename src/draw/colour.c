#include "draw/colour.h"

#include <math.h>
#include <string.h>

#define HEX(v)                                                                                                         \
    {                                                                                                                  \
        (uint8_t)((v) >> 16), (uint8_t)(((v) >> 8) & 255), (uint8_t)((v)&255), 255                                     \
    }
#define UNUSED_4(v)  HEX(v), HEX(v), HEX(v), HEX(v)
#define UNUSED_13(v) UNUSED_4(v), UNUSED_4(v), UNUSED_4(v), HEX(v)

/*
 * The data colours are in the order of trace_class: forward, backward, recompute, optimizer; matmul and other compute
 * of unknown phase; collective, send, receive, copy; CPU operator, runtime call, annotation; other. One hue per family,
 * told apart inside it by lightness. Forward, backward and collective are the design's; the others were moved from the
 * design's values as little as it takes for members that stand beside each other to be told apart with protan, deutan
 * and tritan vision, too (tests/property/draw/test_colour.c). The remaining places of the palette are painted like
 * `other`; the last five are the ramp of heat.
 */
static const theme themes[THEME_COUNT] = {
    [THEME_DARK] =
        {
            .id = THEME_DARK,
            .name = "dark",
            .ground = HEX(0x0f1216),
            .panel = HEX(0x151a20),
            .raised = HEX(0x1b2129),
            .row = HEX(0x12161b),
            .line = HEX(0x262d36),
            .hairline = HEX(0x1e242c),
            .text = HEX(0xe6e9ee),
            .dim = HEX(0x97a1af),
            .faint = HEX(0x5d6875),
            .accent = HEX(0x7cc4ff),
            .selection = HEX(0xffffff),
            .severity = HEX(0xff6b6b),
            .heat = {HEX(0x1b2129), HEX(0x27415c), HEX(0x2f6290), HEX(0x4f8fc4), HEX(0x9cc9ef)},
            .data = {HEX(0x7db3ea), HEX(0x3f78b5), HEX(0x8c8bc9), HEX(0x4bac9b), HEX(0x4690c6),
                     HEX(0xb2cff1), HEX(0xf0a04b), HEX(0xcb95be), HEX(0x8a5a91), HEX(0x9b8772),
                     HEX(0x56677c), HEX(0x7b9a89), HEX(0xbfb192), HEX(0x757c84), UNUSED_13(0x757c84),
                     HEX(0x1b2129), HEX(0x27415c), HEX(0x2f6290), HEX(0x4f8fc4), HEX(0x9cc9ef)},
            .on_data_dark = HEX(0x0f1216),
            .on_data_light = HEX(0xffffff),
            .line_memory = HEX(0xd8f26b),
            .line_flops = HEX(0xffffff),
        },
    [THEME_LIGHT] =
        {
            .id = THEME_LIGHT,
            .name = "light",
            .ground = HEX(0xffffff),
            .panel = HEX(0xf6f7f9),
            .raised = HEX(0xffffff),
            .row = HEX(0xfafbfc),
            .line = HEX(0xd9dee5),
            .hairline = HEX(0xeceff3),
            .text = HEX(0x1a2029),
            .dim = HEX(0x586374),
            .faint = HEX(0x95a0ae),
            .accent = HEX(0x1769c2),
            .selection = HEX(0x000000),
            .severity = HEX(0xd13438),
            .heat = {HEX(0xeef2f6), HEX(0xcfe0f1), HEX(0x9fc3e6), HEX(0x5d97cf), HEX(0x2f69a8)},
            .data = {HEX(0x8dbbe8), HEX(0x2f69a8), HEX(0x9694c3), HEX(0x4b9f8f), HEX(0x4783c9),
                     HEX(0xc1d7f2), HEX(0xe08a2c), HEX(0xb6699f), HEX(0x854684), HEX(0x94836f),
                     HEX(0x5a6b81), HEX(0x81a592), HEX(0xcbbd9d), HEX(0x969da6), UNUSED_13(0x969da6),
                     HEX(0xeef2f6), HEX(0xcfe0f1), HEX(0x9fc3e6), HEX(0x5d97cf), HEX(0x2f69a8)},
            .on_data_dark = HEX(0x1a2029),
            .on_data_light = HEX(0xffffff),
            .line_memory = HEX(0x3d7a00),
            .line_flops = HEX(0x111418),
        },
};

const theme *theme_get(theme_id id)
{
    return &themes[id == THEME_LIGHT ? THEME_LIGHT : THEME_DARK];
}

const theme *theme_find(const char *name)
{
    for (int i = 0; name && i < THEME_COUNT; i++) {
        if (strcmp(themes[i].name, name) == 0) {
            return &themes[i];
        }
    }
    return NULL;
}

rgba rgba_with_alpha(rgba c, uint8_t alpha)
{
    c.a = alpha;
    return c;
}

static double linear_light(uint8_t channel)
{
    double v = channel / 255.0;
    return v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4);
}

double rgba_luminance(rgba c)
{
    return 0.2126 * linear_light(c.r) + 0.7152 * linear_light(c.g) + 0.0722 * linear_light(c.b);
}

double rgba_contrast(rgba a, rgba b)
{
    double la = rgba_luminance(a);
    double lb = rgba_luminance(b);
    double high = la > lb ? la : lb;
    double low = la > lb ? lb : la;
    return (high + 0.05) / (low + 0.05);
}

rgba theme_label_colour(const theme *t, rgba on)
{
    bool dark = rgba_contrast(t->on_data_dark, on) >= rgba_contrast(t->on_data_light, on);
    return dark ? t->on_data_dark : t->on_data_light;
}
