/*
 * Contract: a handle that was never made, was destroyed, or is of another kind does nothing and is counted; a place
 * that is used again gives a new handle; sizes and rectangles out of range are refused; what is drawn and sent is
 * counted.
 */
#include "cm.h"

#include "gpu/gpu.h"

static gpu *null_gpu(unsigned fail_at)
{
    gpu *g = NULL;
    assert_int_equal(gpu_create_null(&g, fail_at, NULL), MAREY_OK);
    return g;
}

static const gpu_program_desc no_shader = {.name = "test", .vertex = "", .fragment = "", .uniforms = {"u_pixel"}};
static const gpu_attribute one_part[] = {{0, 4, GPU_F32, 0}};

static void dead_handles(void **state)
{
    (void)state;
    gpu *g = null_gpu(0);
    gpu_buffer b = {0};
    gpu_buffer_write(g, b, "x", 1);
    assert_int_equal(gpu_counts(g).misuses, 1);
    assert_int_equal(gpu_buffer_create(g, &b, NULL), MAREY_OK);
    gpu_buffer old = b;
    gpu_buffer_destroy(g, &b);
    assert_int_equal(b.id, 0);
    gpu_buffer_write(g, old, "x", 1);
    assert_int_equal(gpu_counts(g).misuses, 2);
    gpu_texture t;
    assert_int_equal(gpu_texture_create(g, &t, GPU_R8, 4, 4, 0, NULL), MAREY_OK);
    assert_int_not_equal(t.id, old.id); /* the same place, another generation */
    gpu_buffer_write(g, (gpu_buffer){t.id}, "x", 1);
    assert_int_equal(gpu_counts(g).misuses, 3);
    assert_int_equal(gpu_counts(g).bytes_uploaded, 0);
    gpu_buffer_destroy(g, &b); /* none: allowed */
    assert_int_equal(gpu_counts(g).misuses, 3);
    gpu_destroy(&g);
    assert_null(g);
}

static void sizes(void **state)
{
    (void)state;
    gpu *g = null_gpu(0);
    gpu_texture t;
    gpu_target target;
    assert_int_equal(gpu_texture_create(g, &t, GPU_R8, 0, 4, 0, NULL), MAREY_GPU);
    assert_int_equal(gpu_texture_create(g, &t, GPU_R8, 4, 1 << 20, 0, NULL), MAREY_GPU);
    assert_int_equal(gpu_target_create(g, &target, -1, 4, NULL), MAREY_GPU);
    assert_int_equal(gpu_texture_create(g, &t, GPU_RGBA8, 8, 8, 2, NULL), MAREY_OK);
    uint8_t pixels[8 * 8 * 4] = {0};
    gpu_texture_write(g, t, 0, 0, 1, 8, 8, pixels);
    assert_int_equal(gpu_counts(g).bytes_uploaded, sizeof pixels);
    gpu_texture_write(g, t, 1, 0, 0, 8, 8, pixels);
    gpu_texture_write(g, t, 0, 0, 2, 8, 8, pixels);
    gpu_texture_write(g, t, -1, 0, 0, 1, 1, pixels);
    assert_int_equal(gpu_counts(g).misuses, 3);
    gpu_texture_write(g, t, 0, 0, 0, 0, 8, pixels); /* nothing */
    assert_int_equal(gpu_counts(g).bytes_uploaded, sizeof pixels);
    gpu_destroy(&g);
}

static void draws_are_counted(void **state)
{
    (void)state;
    gpu *g = null_gpu(0);
    gpu_program p;
    gpu_buffer b;
    gpu_draw draw = {.n = 7};
    assert_int_equal(gpu_program_create(g, &p, &no_shader, NULL), MAREY_OK);
    assert_int_equal(gpu_buffer_create(g, &b, NULL), MAREY_OK);
    draw.program = p;
    gpu_draw_instances(g, &draw); /* without a layout nothing is drawn */
    assert_int_equal(gpu_counts(g).draw_calls, 0);
    assert_int_equal(gpu_layout_create(g, &draw.layout, b, 16, one_part, 1, NULL), MAREY_OK);
    gpu_draw_instances(g, &draw);
    assert_int_equal(gpu_counts(g).draw_calls, 1);
    assert_int_equal(gpu_counts(g).instances, 7);
    draw.textures[0].id = 999;
    gpu_draw_instances(g, &draw);
    assert_int_equal(gpu_counts(g).draw_calls, 1);
    gpu_destroy(&g);
}

static void failures_leave_no_handle(void **state)
{
    (void)state;
    diag d;
    diag_init(&d);
    gpu *g = null_gpu(2);
    gpu_buffer a;
    gpu_buffer b = {77};
    assert_int_equal(gpu_buffer_create(g, &a, &d), MAREY_OK);
    assert_int_equal(gpu_buffer_create(g, &b, &d), MAREY_GPU);
    assert_int_equal(b.id, 0);
    assert_int_equal(d.n_messages, 1);
    gpu_layout l = {77};
    assert_int_equal(gpu_layout_create(g, &l, b, 16, one_part, 1, &d), MAREY_ARG);
    assert_int_equal(l.id, 0);
    gpu_destroy(&g);
    diag_deinit(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dead_handles),
        cmocka_unit_test(sizes),
        cmocka_unit_test(draws_are_counted),
        cmocka_unit_test(failures_leave_no_handle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
