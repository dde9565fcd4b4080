#include "golden/golden.h"

#include "cm.h"

#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"

enum { TOLERANCE = 3, FEW_PER_MILLION = 200 };

/* ---- setting up ---- */

static const char *const font_dirs[] = {"/usr/share/fonts/opentype/inter", "/usr/share/fonts/truetype/jetbrains-mono",
                                        "/usr/share/fonts/truetype/wqy"};

/* Only the fonts that the pictures were made with: what else is installed must not matter. */
static bool use_fonts_of_packages(const golden *g)
{
    strbuf config = {0};
    bool all = true;
    strbuf_puts(&config, "<?xml version=\"1.0\"?><!DOCTYPE fontconfig SYSTEM \"fonts.dtd\"><fontconfig>");
    for (size_t i = 0; i < sizeof font_dirs / sizeof font_dirs[0]; i++) {
        all = all && file_is_dir(font_dirs[i]);
        strbuf_printf(&config, "<dir>%s</dir>", font_dirs[i]);
    }
    strbuf_printf(&config, "<cachedir>%s/font-cache</cachedir></fontconfig>", g->dir);
    char path[1100];
    (void)snprintf(path, sizeof path, "%s/fonts.conf", g->dir);
    bool written = all && file_write_all(path, config.s, config.n, NULL) == MAREY_OK;
    strbuf_deinit(&config);
    return written && setenv("FONTCONFIG_FILE", path, 1) == 0;
}

static void skip_program(const char *why)
{
    print_message("skipped: %s\n", why);
    exit(77);
}

static const char *env_or(const char *name, const char *otherwise)
{
    const char *value = getenv(name);
    return value ? value : otherwise;
}

int golden_set_up(void **state)
{
    golden *g = mem_calloc(1, sizeof *g);
    diag_init(&g->diag);
    (void)snprintf(g->dir, sizeof g->dir, "%s/golden", env_or("MAREY_BINARY_DIR", "."));
    (void)snprintf(g->source, sizeof g->source, "%s", env_or("MAREY_SOURCE_DIR", "."));
    (void)mkdir(g->dir, 0755);
    if (headless_create(&g->headless, 64, 64, &g->diag) != MAREY_OK) {
        skip_program(g->diag.messages[0].text);
    }
    assert_int_equal(renderer_create(&g->renderer, headless_get_proc(), &g->diag), MAREY_OK);
    if (!strstr(renderer_name(g->renderer), "llvmpipe")) {
        skip_program("the expected pictures are of Mesa's software renderer");
    }
    g->has_fonts = use_fonts_of_packages(g);
    assert_int_equal(text_create(&g->text, &g->diag), MAREY_OK);
    *state = g;
    return 0;
}

int golden_tear_down(void **state)
{
    golden *g = *state;
    text_destroy(&g->text);
    renderer_destroy(&g->renderer);
    headless_destroy(&g->headless);
    diag_deinit(&g->diag);
    free(g);
    return 0;
}

void golden_need_fonts(const golden *g)
{
    if (!g->has_fonts) {
        print_message("skipped: needs the packages fonts-inter, fonts-jetbrains-mono and fonts-wqy-microhei\n");
        skip();
    }
}

/* ---- comparing ---- */

typedef struct picture {
    uint8_t *pixels;
    int width, height;
} picture;

static picture draw(golden *g, const draw_list *l)
{
    picture p = {.width = (int)l->width, .height = (int)l->height};
    p.pixels = mem_alloc((size_t)p.width * (size_t)p.height * 4);
    assert_null(draw_list_check(l));
    text_frame(g->text);
    assert_int_equal(headless_resize(g->headless, p.width, p.height, &g->diag), MAREY_OK);
    assert_int_equal(renderer_draw(g->renderer, l, g->text, NULL, &g->diag), MAREY_OK);
    assert_int_equal(headless_read(g->headless, p.pixels, &g->diag), MAREY_OK);
    return p;
}

static int pixel_difference(const uint8_t *a, const uint8_t *b)
{
    int most = 0;
    for (int i = 0; i < 4; i++) {
        int d = abs(a[i] - b[i]);
        most = d > most ? d : most;
    }
    return most;
}

/* What differs, in red over the faded expected picture. @return the number of pixels beyond the tolerance */
static size_t compare(const picture *expected, const picture *actual, uint8_t *shown)
{
    size_t n_different = 0;
    for (size_t i = 0; i < (size_t)actual->width * (size_t)actual->height; i++) {
        const uint8_t *e = expected->pixels + i * 4;
        int d = pixel_difference(e, actual->pixels + i * 4);
        uint8_t grey = (uint8_t)(160 + (e[0] + e[1] + e[2]) / 9);
        uint8_t less = (uint8_t)(grey - (d < grey ? d : grey));
        shown[i * 4] = d > TOLERANCE ? 255 : grey;
        shown[i * 4 + 1] = shown[i * 4 + 2] = d > TOLERANCE ? 0 : less;
        shown[i * 4 + 3] = 255;
        n_different += d > TOLERANCE;
    }
    return n_different;
}

static void path_of(char *out, size_t cap, const char *dir, const char *name, const char *ending)
{
    (void)snprintf(out, cap, "%s/%s%s", dir, name, ending);
}

/* ---- the report ---- */

static void append_part(strbuf *page, const char *dir, const char *name)
{
    char path[1400];
    char *text = NULL;
    size_t n = 0;
    path_of(path, sizeof path, dir, name, "");
    if (file_read_all(path, 1 << 20, &text, &n, NULL) == MAREY_OK) {
        strbuf_add(page, text, n);
    }
    free(text);
}

/* Each picture that differs leaves a part; the page is all parts there are. Programs may run at the same time. */
static void write_report(const golden *g)
{
    strbuf page = {0};
    char path[1400];
    strbuf_puts(&page,
                "<!doctype html><meta charset=utf-8><title>golden pictures</title><style>body{font:14px sans-serif}"
                "img{max-width:32%;image-rendering:pixelated;border:1px solid #ccc}</style>"
                "<p>Expected, actual, difference.</p>\n");
    DIR *d = opendir(g->dir);
    for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
        if (strstr(e->d_name, ".part.html")) {
            append_part(&page, g->dir, e->d_name);
        }
    }
    if (d) {
        (void)closedir(d);
    }
    path_of(path, sizeof path, g->dir, "report", ".html");
    (void)file_write_all(path, page.s, page.n, NULL);
    strbuf_deinit(&page);
}

static void report(const golden *g, const char *name, const char *what)
{
    strbuf part = {0};
    char path[1400];
    strbuf_printf(&part,
                  "<h2>%s</h2><p>%s</p><img src=\"%s/tests/golden/expected/%s.png\"> <img src=\"%s.actual.png\"> "
                  "<img src=\"%s.diff.png\">\n",
                  name, what, g->source, name, name, name);
    path_of(path, sizeof path, g->dir, name, ".part.html");
    (void)file_write_all(path, part.s, part.n, NULL);
    strbuf_deinit(&part);
    write_report(g);
}

static void write_picture(const golden *g, const char *name, const char *ending, const picture *p)
{
    char path[1400];
    path_of(path, sizeof path, g->dir, name, ending);
    assert_int_equal(png_write(path, p->pixels, p->width, p->height, NULL), MAREY_OK);
}

/* A picture that is right again leaves no traces of when it was not. */
static void forget(const golden *g, const char *name)
{
    static const char *const endings[] = {".part.html", ".actual.png", ".diff.png"};
    char path[1400];
    bool any = false;
    for (size_t i = 0; i < 3; i++) {
        path_of(path, sizeof path, g->dir, name, endings[i]);
        any = unlink(path) == 0 || any;
    }
    if (any) {
        write_report(g);
    }
}

/* ---- the check ---- */

/* @return what is wrong, in words (static), or NULL */
static const char *judge(const golden *g, const char *name, const picture *expected, const picture *actual)
{
    static char words[128];
    if (!expected->pixels) {
        return "there is no expected picture";
    }
    if (expected->width != actual->width || expected->height != actual->height) {
        return "the expected picture is of another size";
    }
    picture shown = *actual;
    size_t n = (size_t)actual->width * (size_t)actual->height;
    shown.pixels = mem_alloc(n * 4);
    size_t n_different = compare(expected, actual, shown.pixels);
    bool differs = n_different * 1000000 > n * FEW_PER_MILLION;
    if (differs) {
        write_picture(g, name, ".diff.png", &shown);
        (void)snprintf(words, sizeof words, "%zu of %zu pixels differ", n_different, n);
    }
    free(shown.pixels);
    return differs ? words : NULL;
}

void golden_check(golden *g, const char *name, const draw_list *l)
{
    char path[1400];
    picture actual = draw(g, l);
    picture expected = {0};
    (void)snprintf(path, sizeof path, "%s/tests/golden/expected/%s.png", g->source, name);
    if (getenv("MAREY_GOLDEN_ACCEPT")) {
        assert_int_equal(png_write(path, actual.pixels, actual.width, actual.height, NULL), MAREY_OK);
    }
    (void)png_read(path, &expected.pixels, &expected.width, &expected.height, NULL);
    const char *wrong = judge(g, name, &expected, &actual);
    if (wrong) {
        write_picture(g, name, ".actual.png", &actual);
        report(g, name, wrong);
    } else {
        forget(g, name);
    }
    free(actual.pixels);
    free(expected.pixels);
    if (wrong) {
        fail_msg("%s: %s; see %s/report.html", name, wrong, g->dir);
    }
}
