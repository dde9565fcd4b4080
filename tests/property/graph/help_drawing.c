#include "help_drawing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* px: what is nearer is the same place; how near crossings are one. */
static const double TOUCH = 0.05;
static const double SAME_SPOT = 1;

typedef struct contact {
    double i0, i1, k0, k1; /* where on the two lines, px from their start; k0 belongs to i0, k1 to i1 */
    bool proper;           /* the insides of two pieces: they cross there */
} contact;

typedef struct point {
    double x, y;
} point;

typedef struct counter {
    const drawing *d;
    double *at;      /* [n] px from the line's start */
    double (*box)[4]; /* [n_lines] */
    contact *contacts;
    size_t n_contacts, cap_contacts;
    point *spots;
    size_t n_spots, cap_spots;
} counter;

void drawing_init(drawing *d, size_t n_lines)
{
    memset(d, 0, sizeof *d);
    d->n_lines = n_lines;
    d->first = mem_calloc(n_lines + 1, sizeof *d->first);
    d->ends = mem_calloc(n_lines + 1, sizeof *d->ends);
}

void drawing_deinit(drawing *d)
{
    free(d->points);
    free(d->first);
    free(d->ends);
    memset(d, 0, sizeof *d);
}

void drawing_push(drawing *d, double x, double y)
{
    VEC_PUSH(d->points, d->n, d->cap, ((layout_point){(float)x, (float)y}));
}

void drawing_push_curve(drawing *d, const layout_point *q, size_t n)
{
    drawing_push(d, (double)q[0].x, (double)q[0].y);
    for (size_t i = 0; i + 3 < n; i += 3) {
        for (int k = 1; k <= DRAWING_PIECES; k++) {
            double t = (double)k / DRAWING_PIECES;
            double s = 1 - t;
            double w[4] = {s * s * s, 3 * s * s * t, 3 * s * t * t, t * t * t};
            double x = 0;
            double y = 0;
            for (size_t j = 0; j < 4; j++) {
                x += w[j] * (double)q[i + j].x;
                y += w[j] * (double)q[i + j].y;
            }
            drawing_push(d, x, y);
        }
    }
}

static point at_point(const drawing *d, size_t p)
{
    return (point){(double)d->points[p].x, (double)d->points[p].y};
}

static double cross(point a, point b)
{
    return a.x * b.y - a.y * b.x;
}

static point minus(point a, point b)
{
    return (point){a.x - b.x, a.y - b.y};
}

static double line_length(const counter *c, size_t line)
{
    return c->d->first[line + 1] > c->d->first[line] ? c->at[c->d->first[line + 1] - 1] : 0;
}

/* The point of a line, px from its start. */
static point on_line(const counter *c, size_t line, double t)
{
    size_t p = c->d->first[line];
    while (p + 2 < c->d->first[line + 1] && c->at[p + 1] <= t) {
        p++;
    }
    point a = at_point(c->d, p);
    point b = at_point(c->d, p + 1);
    double len = c->at[p + 1] - c->at[p];
    double s = len > 0 ? (t - c->at[p]) / len : 0;
    return (point){a.x + s * (b.x - a.x), a.y + s * (b.y - a.y)};
}

static void push_contact(counter *c, contact x)
{
    VEC_PUSH(c->contacts, c->n_contacts, c->cap_contacts, x);
}

/* Where q lies on the segment a-b: px from a; -1: it does not. */
static double place_on(point q, point a, point b, double len)
{
    if (len <= 0) {
        return -1;
    }
    point d = {(b.x - a.x) / len, (b.y - a.y) / len};
    double t = (q.x - a.x) * d.x + (q.y - a.y) * d.y;
    if (fabs(cross(d, minus(q, a))) > TOUCH || t < -TOUCH || t > len + TOUCH) {
        return -1;
    }
    return fmin(fmax(t, 0), len);
}

/* Ends of one segment on the other make one contact: a point, or a stretch of both. @return whether any does */
static bool touch_segments(counter *c, size_t p, size_t q, const point s[4])
{
    double u = c->at[p + 1] - c->at[p];
    double v = c->at[q + 1] - c->at[q];
    contact all = {0};
    size_t n = 0;
    for (size_t e = 0; e < 4; e++) {
        double t = e < 2 ? place_on(s[e], s[2], s[3], v) : place_on(s[e], s[0], s[1], u);
        if (t < 0) {
            continue;
        }
        double i = c->at[p] + (e < 2 ? (e == 0 ? 0 : u) : t);
        double k = c->at[q] + (e < 2 ? t : (e == 2 ? 0 : v));
        if (n++ == 0) {
            all = (contact){i, i, k, k, false};
        } else if (i < all.i0) {
            all.i0 = i;
            all.k0 = k;
        } else if (i > all.i1) {
            all.i1 = i;
            all.k1 = k;
        }
    }
    if (n > 0) {
        push_contact(c, all);
    }
    return n > 0;
}

static void meet_segments(counter *c, size_t p, size_t q)
{
    const point s[4] = {at_point(c->d, p), at_point(c->d, p + 1), at_point(c->d, q), at_point(c->d, q + 1)};
    if (fmax(s[0].x, s[1].x) < fmin(s[2].x, s[3].x) - 1 || fmin(s[0].x, s[1].x) > fmax(s[2].x, s[3].x) + 1 ||
        fmax(s[0].y, s[1].y) < fmin(s[2].y, s[3].y) - 1 || fmin(s[0].y, s[1].y) > fmax(s[2].y, s[3].y) + 1 ||
        touch_segments(c, p, q, s)) {
        return;
    }
    point a = minus(s[1], s[0]);
    point b = minus(s[3], s[2]);
    double den = cross(a, b);
    double t = den != 0 ? cross(minus(s[2], s[0]), b) / den : -1;
    double r = den != 0 ? cross(minus(s[2], s[0]), a) / den : -1;
    if (t > 0 && t < 1 && r > 0 && r < 1) {
        double i = c->at[p] + t * (c->at[p + 1] - c->at[p]);
        double k = c->at[q] + r * (c->at[q + 1] - c->at[q]);
        push_contact(c, (contact){i, i, k, k, true});
    }
}

static int by_start(const void *a, const void *b)
{
    const contact *x = a;
    const contact *y = b;
    return x->i0 < y->i0 ? -1 : x->i0 > y->i0;
}

/* Contacts that go on from each other are one. */
static void join_contacts(counter *c)
{
    const double near = 4 * TOUCH;
    size_t n = 0;
    if (c->n_contacts > 1) {
        qsort(c->contacts, c->n_contacts, sizeof *c->contacts, by_start);
    }
    for (size_t x = 0; x < c->n_contacts; x++) {
        contact y = c->contacts[x];
        bool joined = false;
        for (size_t z = n; z-- > 0 && !joined;) {
            contact *w = &c->contacts[z];
            bool on_i = y.i0 <= w->i1 + near;
            bool on_k = fmin(y.k0, y.k1) <= fmax(w->k0, w->k1) + near && fmax(y.k0, y.k1) >= fmin(w->k0, w->k1) - near;
            if (on_i && on_k) {
                joined = true;
                w->proper = false;
                w->k1 = y.i1 > w->i1 ? y.k1 : w->k1;
                w->i1 = fmax(w->i1, y.i1);
            }
        }
        if (!joined) {
            c->contacts[n++] = y;
        }
    }
    c->n_contacts = n;
}

static double angle_from(point b, point r)
{
    double a = atan2(cross(b, r), b.x * r.x + b.y * r.y);
    return a < 0 ? a + 2 * acos(-1) : a;
}

/* Whether a ray from a path's bend lies at the left of the path: between what comes next and what came before. */
static bool at_left(point before, point next, point ray)
{
    return angle_from(next, ray) < angle_from(next, before);
}

static bool crosses_there(const counter *c, size_t i, size_t k, const contact *x)
{
    const double arm = 1;
    double lo = fmin(x->k0, x->k1);
    double hi = fmax(x->k0, x->k1);
    if (x->i0 < DRAWING_END || lo < DRAWING_END || x->i1 > line_length(c, i) - DRAWING_END || hi > line_length(c, k) - DRAWING_END) {
        return false;
    }
    if (x->proper) {
        return true;
    }
    bool turned = x->k1 < x->k0; /* k runs the other way */
    point p = on_line(c, i, x->i0);
    point q = on_line(c, i, x->i1);
    bool stretch = x->i1 - x->i0 > arm;
    point next = stretch ? minus(on_line(c, i, x->i0 + arm / 2), p) : minus(on_line(c, i, x->i1 + arm), q);
    point last = stretch ? minus(on_line(c, i, x->i1 - arm / 2), q) : minus(on_line(c, i, x->i0 - arm), p);
    point before = minus(on_line(c, i, x->i0 - arm), p);
    point after = minus(on_line(c, i, x->i1 + arm), q);
    point in = minus(on_line(c, k, turned ? hi + arm : lo - arm), on_line(c, k, turned ? hi : lo));
    point out = minus(on_line(c, k, turned ? lo - arm : hi + arm), on_line(c, k, turned ? lo : hi));
    return at_left(before, next, in) != at_left(last, after, out);
}

static bool joined(const drawing *d, size_t i, size_t k)
{
    const uint32_t *a = d->ends[i];
    const uint32_t *b = d->ends[k];
    return a[0] == b[0] || a[1] == b[1] || a[0] == b[1] || a[1] == b[0];
}

/* The end of the contact that is the same whichever line is asked. */
static point spot_of(const counter *c, size_t i, const contact *x)
{
    point p = on_line(c, i, x->i0);
    point q = on_line(c, i, x->i1);
    bool first = p.x < q.x - TOUCH || (p.x < q.x + TOUCH && p.y < q.y);
    return first ? p : q;
}

static size_t count_pair(counter *c, size_t i, size_t k)
{
    const drawing *d = c->d;
    size_t n = 0;
    c->n_contacts = 0;
    for (size_t p = d->first[i]; p + 1 < d->first[i + 1]; p++) {
        for (size_t q = d->first[k]; q + 1 < d->first[k + 1]; q++) {
            meet_segments(c, p, q);
        }
    }
    join_contacts(c);
    for (size_t x = 0; x < c->n_contacts; x++) {
        bool covered = c->contacts[x].i1 - c->contacts[x].i0 > DRAWING_COVER && !joined(d, i, k);
        if (covered || crosses_there(c, i, k, &c->contacts[x])) {
            VEC_PUSH(c->spots, c->n_spots, c->cap_spots, spot_of(c, i, &c->contacts[x]));
            n++;
        }
    }
    return n;
}

static int by_place(const void *a, const void *b)
{
    const point *p = a;
    const point *q = b;
    if (p->x < q->x || p->x > q->x) {
        return p->x < q->x ? -1 : 1;
    }
    return p->y < q->y ? -1 : p->y > q->y;
}

/* Spots that are nearer than a px to one that counts do not count. */
static size_t distinct_spots(counter *c)
{
    size_t n = 0;
    if (c->n_spots > 1) {
        qsort(c->spots, c->n_spots, sizeof *c->spots, by_place);
    }
    for (size_t i = 0; i < c->n_spots; i++) {
        bool known = false;
        for (size_t k = n; k-- > 0 && !known && c->spots[k].x >= c->spots[i].x - SAME_SPOT;) {
            known = hypot(c->spots[k].x - c->spots[i].x, c->spots[k].y - c->spots[i].y) < SAME_SPOT;
        }
        if (!known) {
            c->spots[n++] = c->spots[i];
        }
    }
    return n;
}

static void prepare(counter *c)
{
    const drawing *d = c->d;
    c->at = mem_calloc(d->n + 1, sizeof *c->at);
    c->box = mem_calloc(d->n_lines + 1, sizeof *c->box);
    for (size_t i = 0; i < d->n_lines; i++) {
        double *b = c->box[i];
        b[0] = b[1] = INFINITY;
        b[2] = b[3] = -INFINITY;
        for (size_t p = d->first[i]; p < d->first[i + 1]; p++) {
            point x = at_point(d, p);
            b[0] = fmin(b[0], x.x);
            b[1] = fmin(b[1], x.y);
            b[2] = fmax(b[2], x.x);
            b[3] = fmax(b[3], x.y);
            point y = p > d->first[i] ? minus(x, at_point(d, p - 1)) : (point){0, 0};
            c->at[p] = p > d->first[i] ? c->at[p - 1] + hypot(y.x, y.y) : 0;
        }
    }
}

void drawing_measure(const drawing *d, drawing_score *s)
{
    counter c = {.d = d};
    memset(s, 0, sizeof *s);
    prepare(&c);
    for (size_t i = 0; i < d->n_lines; i++) {
        const double *a = c.box[i];
        s->length += line_length(&c, i);
        for (size_t k = i + 1; k < d->n_lines; k++) {
            const double *b = c.box[k];
            if (a[0] <= b[2] + 1 && b[0] <= a[2] + 1 && a[1] <= b[3] + 1 && b[1] <= a[3] + 1) {
                s->pairs += count_pair(&c, i, k);
            }
        }
    }
    s->crossings = distinct_spots(&c);
    free(c.at);
    free(c.box);
    free(c.contacts);
    free(c.spots);
}
