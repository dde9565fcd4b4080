/*
 * Contract: on the null device a frame of any size takes at most 60 draw calls, misuses no handle, and sends an
 * unchanged atlas only once; whichever object the GPU refuses to make, the renderer says so, and works again when the
 * GPU does; a frame without size or theme is refused. Shader sources resolve their includes and point messages at the
 * right line.
 */
#include "cm.h"

#include <math.h>
#include <sys/stat.h>

#include "base/file.h"
#include "render/renderer_internal.h"
#include "render/shader_source.h"
#include "temporary_dir.h"

static void fill(draw_list *l, text_ctx *t)
{
    draw_list_begin(l, 1920, 1080, 1, theme_get(THEME_LIGHT));
    const rgba c = l->theme->text;
    for (draw_layer layer = 0; layer < LAYER_COUNT; layer++) {
        for (int i = 0; i < 200; i++) {
            float x = (float)(i % 20) * 90;
            float y = (float)(i / 20) * 100;
            draw_push_clip(l, (rect){x, y, 80, 80});
            draw_rect(l, layer, (rect){x, y, 10, 10}, c);
            draw_round(l, layer, (rect){x, y, 30, 10}, 3, c, 1, c);
            memset(draw_add_strip(l, layer, (rect){x, y, 0, 19}, 70, i % 2), 1, 70 * sizeof(draw_cell));
            draw_add_band(l, layer, (draw_band){y, y + 9, x, x + 4, x, x + 9, c, 0, 0});
            draw_segment(l, layer, x, y, x + (float)(i % 3), y + 50, 1, c);
            draw_triangle(l, layer, (float[]){x, x + 9, x}, (float[]){y, y, y + 9}, c);
            text_put(t, l, layer, FACE_SANS, 11 + (float)(i % 4), x, y + 20, TEXT_LEFT, c, "micro-batch", 11);
            draw_pop_clip(l);
        }
    }
}

static void frames_are_bounded(void **state)
{
    (void)state;
    diag d;
    diag_init(&d);
    gpu *g = NULL;
    renderer *r = NULL;
    text_ctx *t = NULL;
    draw_list l = {0};
    render_stats first = {0};
    render_stats second = {0};
    assert_int_equal(gpu_create_null(&g, 0, &d), MAREY_OK);
    assert_int_equal(renderer_create_on(&r, g, &d), MAREY_OK);
    assert_int_equal(text_create(&t, &d), MAREY_OK);
    fill(&l, t);
    assert_null(draw_list_check(&l));
    assert_int_equal(renderer_draw(r, &l, t, &first, &d), MAREY_OK);
    assert_int_equal(renderer_draw(r, &l, t, &second, &d), MAREY_OK);
    assert_true(first.draw_calls >= LAYER_COUNT * 7 && first.draw_calls <= 60);
    assert_int_equal(second.draw_calls, first.draw_calls);
    assert_int_equal(second.primitives, first.primitives);
    assert_true(first.bytes_uploaded - second.bytes_uploaded > 1000 * 1000); /* the page of glyphs */
    assert_int_equal(gpu_counts(renderer_gpu(r)).misuses, 0);
    assert_int_equal(renderer_draw(r, &l, NULL, &second, &d), MAREY_OK); /* without text */
    assert_true(second.primitives < first.primitives);
    assert_string_equal(renderer_name(r), "null");
    draw_list_deinit(&l);
    text_destroy(&t);
    renderer_destroy(&r);
    diag_deinit(&d);
}

static void any_object_may_fail(void **state)
{
    (void)state;
    text_ctx *t = NULL;
    draw_list l = {0};
    assert_int_equal(text_create(&t, NULL), MAREY_OK);
    fill(&l, t);
    unsigned n_failed = 0;
    for (unsigned fail_at = 1; fail_at < 100; fail_at++) {
        diag d;
        diag_init(&d);
        gpu *g = NULL;
        renderer *r = NULL;
        assert_int_equal(gpu_create_null(&g, fail_at, &d), MAREY_OK);
        assert_int_equal(renderer_create_on(&r, g, &d), MAREY_OK);
        marey_status status = renderer_draw(r, &l, t, NULL, &d);
        if (status != MAREY_OK) {
            n_failed++;
            assert_int_equal(status, MAREY_GPU);
            assert_int_equal(d.n_messages, 1);
            assert_int_equal(renderer_draw(r, &l, t, NULL, &d), MAREY_OK); /* the next try succeeds */
        }
        assert_int_equal(gpu_counts(renderer_gpu(r)).misuses, 0);
        renderer_destroy(&r);
        diag_deinit(&d);
    }
    assert_int_equal(n_failed,
                     8 * 3 + 5); /* program, buffer, layout of each kind; cells, rows, palette, picture, atlas */
    draw_list_deinit(&l);
    text_destroy(&t);
}

static void bad_frames_are_refused(void **state)
{
    (void)state;
    gpu *g = NULL;
    renderer *r = NULL;
    draw_list l = {0};
    assert_int_equal(gpu_create_null(&g, 0, NULL), MAREY_OK);
    assert_int_equal(renderer_create_on(&r, g, NULL), MAREY_OK);
    assert_int_equal(renderer_draw(r, &l, NULL, NULL, NULL), MAREY_ARG);
    const float sizes[] = {0, -1, NAN, 1e9F};
    for (int i = 0; i < 4; i++) {
        draw_list_begin(&l, sizes[i], 100, 1, theme_get(THEME_DARK));
        assert_int_equal(renderer_draw(r, &l, NULL, NULL, NULL), MAREY_ARG);
    }
    draw_list_begin(&l, 1, 1, 1, theme_get(THEME_DARK));
    assert_int_equal(renderer_draw(r, &l, NULL, NULL, NULL), MAREY_OK);
    draw_list_deinit(&l);
    renderer_destroy(&r);
}

static void write_file(const char *dir, const char *name, const char *text)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    assert_int_equal(file_write_all(path, text, strlen(text), NULL), MAREY_OK);
}

static void includes_are_resolved(void **state)
{
    (void)state;
    char dir[256];
    temporary_dir(dir, sizeof dir);
    write_file(dir, "lib.glsl", "float one;\n");
    write_file(dir, "a.vert", "#version 330 core\n#include \"lib.glsl\"\nvoid main() {}");
    write_file(dir, "b.vert", "#include \"none.glsl\"\n");
    strbuf out = {0};
    assert_int_equal(shader_source_load(dir, "a.vert", &out, NULL), MAREY_OK);
    assert_string_equal(strbuf_str(&out), "#version 330 core\n#line 1 1\nfloat one;\n#line 3 0\nvoid main() {}");
    assert_int_not_equal(shader_source_load(dir, "b.vert", &out, NULL), MAREY_OK);
    assert_int_not_equal(shader_source_load(dir, "c.vert", &out, NULL), MAREY_OK);
    strbuf_deinit(&out);
    remove_dir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_are_bounded),
        cmocka_unit_test(any_object_may_fail),
        cmocka_unit_test(bad_frames_are_refused),
        cmocka_unit_test(includes_are_resolved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
