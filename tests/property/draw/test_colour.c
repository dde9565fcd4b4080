/*
 * Contract: in both themes, members of the data palette that stand beside each other (the phases and communication of a
 * device row; the kinds of a row whose phases are unknown; the kinds of a CPU row) differ by at least 7.5 in CIEDE2000,
 * in normal vision and in simulated protan, deutan and tritan vision (Machado, Oliveira, Fernandes 2009, severity 1),
 * and from the ground by 10. Text and dim text have a contrast of 4.5 or more on every surface; the label colour that
 * the theme chooses has at least 4.0 on every datum. Heat goes in one direction of lightness, by steps of 5 or more.
 */
#include "cm.h"

#include <math.h>

#include "draw/colour.h"

enum { N_VISIONS = 4, N_CLASSES = 14 };

static const double visions[N_VISIONS][3][3] = {
    {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
    {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}},
    {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}},
    {{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}},
};

static const char *const class_names[N_CLASSES] = {"forward", "backward",   "recompute",  "optimizer", "matmul",
                                                   "compute", "collective", "send",       "receive",   "copy",
                                                   "cpu-op",  "runtime",    "annotation", "other"};

typedef struct lab {
    double l, a, b;
} lab;

static double linear_of(uint8_t v)
{
    double x = v / 255.0;
    return x <= 0.04045 ? x / 12.92 : pow((x + 0.055) / 1.055, 2.4);
}

static double lab_curve(double t)
{
    return t > 216.0 / 24389 ? cbrt(t) : (24389.0 / 27 * t + 16) / 116;
}

static lab lab_of_linear(const double c[3])
{
    double x = (0.4124564 * c[0] + 0.3575761 * c[1] + 0.1804375 * c[2]) / 0.95047;
    double y = 0.2126729 * c[0] + 0.7151522 * c[1] + 0.0721750 * c[2];
    double z = (0.0193339 * c[0] + 0.1191920 * c[1] + 0.9503041 * c[2]) / 1.08883;
    double fx = lab_curve(x);
    double fy = lab_curve(y);
    double fz = lab_curve(z);
    return (lab){116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)};
}

/* How a colour looks in one kind of vision. */
static lab seen(rgba c, int vision)
{
    double in[3] = {linear_of(c.r), linear_of(c.g), linear_of(c.b)};
    double out[3];
    for (int i = 0; i < 3; i++) {
        const double *m = visions[vision][i];
        out[i] = fmin(fmax(m[0] * in[0] + m[1] * in[1] + m[2] * in[2], 0), 1);
    }
    return lab_of_linear(out);
}

static double degrees(double radians)
{
    return radians * 180 / acos(-1.0);
}

static double cos_degrees(double d)
{
    return cos(d * acos(-1.0) / 180);
}

static double hue_of(double a, double b)
{
    double h = degrees(atan2(b, a));
    return h < 0 ? h + 360 : h;
}

static double hue_difference(double h1, double h2)
{
    double d = h2 - h1;
    return d > 180 ? d - 360 : (d < -180 ? d + 360 : d);
}

static double mean_hue(double h1, double h2)
{
    if (fabs(h1 - h2) <= 180) {
        return (h1 + h2) / 2;
    }
    return h1 + h2 < 360 ? (h1 + h2 + 360) / 2 : (h1 + h2 - 360) / 2;
}

/* CIEDE2000 (Sharma, Wu, Dalal 2005). */
static double difference(lab x, lab y)
{
    const double to_7 = pow(25, 7);
    double c_mean = (hypot(x.a, x.b) + hypot(y.a, y.b)) / 2;
    double g = 0.5 * (1 - sqrt(pow(c_mean, 7) / (pow(c_mean, 7) + to_7)));
    double a1 = x.a * (1 + g);
    double a2 = y.a * (1 + g);
    double c1 = hypot(a1, x.b);
    double c2 = hypot(a2, y.b);
    double h1 = hue_of(a1, x.b);
    double h2 = hue_of(a2, y.b);
    double dh = c1 * c2 > 0 ? hue_difference(h1, h2) : 0;
    double big_h = 2 * sqrt(c1 * c2) * sin(dh * acos(-1.0) / 360);
    double l = (x.l + y.l) / 2;
    double c = (c1 + c2) / 2;
    double h = c1 * c2 > 0 ? mean_hue(h1, h2) : h1 + h2;
    double t = 1 - 0.17 * cos_degrees(h - 30) + 0.24 * cos_degrees(2 * h) + 0.32 * cos_degrees(3 * h + 6) -
               0.2 * cos_degrees(4 * h - 63);
    double turn = 30 * exp(-pow((h - 275) / 25, 2));
    double rt = -sin(2 * turn * acos(-1.0) / 180) * 2 * sqrt(pow(c, 7) / (pow(c, 7) + to_7));
    double sl = 1 + 0.015 * pow(l - 50, 2) / sqrt(20 + pow(l - 50, 2));
    double dl = (y.l - x.l) / sl;
    double dc = (c2 - c1) / (1 + 0.045 * c);
    double dhue = big_h / (1 + 0.015 * c * t);
    return sqrt(dl * dl + dc * dc + dhue * dhue + rt * dc * dhue);
}

static double least_difference(rgba a, rgba b)
{
    double least = 1e9;
    for (int v = 0; v < N_VISIONS; v++) {
        least = fmin(least, difference(seen(a, v), seen(b, v)));
    }
    return least;
}

/* Pairs 1, 7 and 16 of the table of test data that Sharma, Wu and Dalal published with the formula. */
static void formula_is_right(void **state)
{
    (void)state;
    assert_true(fabs(difference((lab){50, 2.6772, -79.7751}, (lab){50, 0, -82.7485}) - 2.0425) < 1e-4);
    assert_true(fabs(difference((lab){50, 0, 0}, (lab){50, -1, 2}) - 2.3669) < 1e-4);
    assert_true(fabs(difference((lab){50, 2.5, 0}, (lab){50, 0, -2.5}) - 4.3065) < 1e-4);
}

static void check_pair(const theme *t, int a, int b)
{
    double d = least_difference(t->data[a], t->data[b]);
    if (d < 7.5) {
        fail_msg("%s: %s and %s differ by %.1f only", t->name, class_names[a], class_names[b], d);
    }
}

static void neighbours_differ(void **state)
{
    (void)state;
    static const int rows[][9] = {
        {0, 1, 2, 3, 6, 7, 8, 9, -1}, {4, 5, 6, 7, 8, 9, 13, -1}, {10, 11, 12, 13, -1}, {0, 1, 4, 5, -1}};
    for (theme_id id = 0; id < THEME_COUNT; id++) {
        const theme *t = theme_get(id);
        for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
            for (int i = 0; rows[r][i] >= 0; i++) {
                for (int k = i + 1; rows[r][k] >= 0; k++) {
                    check_pair(t, rows[r][i], rows[r][k]);
                }
            }
        }
    }
}

static void data_stand_out(void **state)
{
    (void)state;
    for (theme_id id = 0; id < THEME_COUNT; id++) {
        const theme *t = theme_get(id);
        for (int i = 0; i < N_CLASSES; i++) {
            assert_true(least_difference(t->data[i], t->ground) >= 10);
            assert_true(least_difference(t->data[i], t->row) >= 10);
            assert_true(rgba_contrast(theme_label_colour(t, t->data[i]), t->data[i]) >= 4.0);
        }
    }
}

static void text_can_be_read(void **state)
{
    (void)state;
    for (theme_id id = 0; id < THEME_COUNT; id++) {
        const theme *t = theme_get(id);
        const rgba surfaces[] = {t->ground, t->panel, t->raised, t->row};
        for (size_t i = 0; i < sizeof surfaces / sizeof surfaces[0]; i++) {
            assert_true(rgba_contrast(t->text, surfaces[i]) >= 4.5);
            assert_true(rgba_contrast(t->dim, surfaces[i]) >= 4.5);
            assert_true(rgba_contrast(t->severity, surfaces[i]) >= 3.0);
            assert_true(rgba_contrast(t->accent, surfaces[i]) >= 3.0);
        }
    }
}

static void heat_has_one_direction(void **state)
{
    (void)state;
    for (theme_id id = 0; id < THEME_COUNT; id++) {
        const theme *t = theme_get(id);
        double sign = rgba_luminance(t->heat[4]) > rgba_luminance(t->heat[0]) ? 1 : -1;
        for (int i = 1; i < 5; i++) {
            assert_true(sign * (rgba_luminance(t->heat[i]) - rgba_luminance(t->heat[i - 1])) > 0);
            assert_true(least_difference(t->heat[i], t->heat[i - 1]) >= 5);
        }
    }
}

static void known_values(void **state)
{
    (void)state;
    rgba black = {0, 0, 0, 255};
    rgba white = {255, 255, 255, 255};
    assert_true(fabs(rgba_contrast(black, white) - 21) < 1e-9);
    assert_true(fabs(rgba_luminance((rgba){255, 0, 0, 255}) - 0.2126) < 1e-9);
    assert_ptr_equal(theme_find("light"), theme_get(THEME_LIGHT));
    assert_null(theme_find("sepia"));
    assert_null(theme_find(NULL));
    assert_int_equal(rgba_with_alpha(white, 107).a, 107);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formula_is_right), cmocka_unit_test(neighbours_differ),      cmocka_unit_test(data_stand_out),
        cmocka_unit_test(text_can_be_read), cmocka_unit_test(heat_has_one_direction), cmocka_unit_test(known_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
