/*
 * Contract: what stands in a block of the picture is short. A call loses its arguments and return type; a kernel of
 * NCCL is called by its operation; all other names stay as they are, cut between letters where there is no room.
 */
#include "cm.h"

#include "scene/internal.h"

static void check(const char *name, const char *expected)
{
    char out[64];
    short_name(name, out, sizeof out);
    assert_string_equal(out, expected);
}

static void names(void **state)
{
    (void)state;
    check("void at::native::vectorized_kernel<4, float>(int)", "at::native::vectorized_kernel");
    check("void at::native::(anonymous namespace)::layer_norm<c10::Half>(int)", "layer_norm");
    check("void at::native::(anonymous namespace)::f(at::native::(anonymous namespace)::g)", "f");
    check("(anonymous namespace)::f()", "f");
    check("(anonymous namespace)", "(anonymous namespace)");
    check("aten::mm", "aten::mm");
    check("step < 5", "step < 5");
    check("(anonymous)", "(anonymous)");
    check("", "");
    check("ncclDevKernel_AllReduce_Sum_f16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "AllReduce");
    check("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*)", "SendRecv");
    check("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", "SendRecv");
    check("ncclDevKernel_", "ncclDevKernel_");
    check("ncclAllReduce", "ncclAllReduce");
}

static void cut_between_letters(void **state)
{
    (void)state;
    char out[6];
    short_name("abcd\xC3\xA9", out, sizeof out);
    assert_string_equal(out, "abcd");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(names), cmocka_unit_test(cut_between_letters)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
