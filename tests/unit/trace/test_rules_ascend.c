/*
 * The built-in rules know Ascend's names under the sources that the readers give: collectives as a whole are
 * communication, their pieces and waits are no work, what repeats other time is an annotation, and an operator's scope
 * tells its phase.
 */
#include "cm.h"

#include "trace/rules.h"

static void ascend(void **state)
{
    (void)state;
    static const struct {
        const char *name, *source, *category;
        trace_kind kind;
        trace_mark mark;
    } cases[] = {
        {"hcom_allReduce__586_0_1", "hccl", "allreduce", KIND_COMMUNICATION, MARK_NONE},
        {"AllReduce-op4542", "hccl", "allreduce", KIND_COMMUNICATION, MARK_NONE},
        {"Default/AllReduce-op534_0", "hccl", "allreduce", KIND_COMMUNICATION, MARK_NONE},
        {"Send-op2054", "hccl", "send", KIND_COMMUNICATION, MARK_NONE},
        {"Receive-op1893", "hccl", "receive", KIND_COMMUNICATION, MARK_NONE},
        {"stream_520_parallel_0", "hccl", "communication", KIND_COMMUNICATION, MARK_NONE},
        {"Reduce_Inline", "hccl_task", "device task", KIND_OTHER, MARK_NONE},
        {"Memcpy", "hccl_task", "device task", KIND_OTHER, MARK_NONE},
        {"Notify Wait", "ascend_task", "device wait", KIND_OTHER, MARK_NONE},
        {"SDMA", "ascend_task", "device task", KIND_OTHER, MARK_NONE},
        {"StreamRecv-op10587", "ascend_wait", "device wait", KIND_OTHER, MARK_NONE},
        {"Communication(Not Overlapped)", "overlap_analysis", "annotation", KIND_ANNOTATION, MARK_NONE},
        {"Node@launch", "cann_runtime", "launch", KIND_CPU, MARK_NONE},
        {"AscendCL@aclrtSynchronizeStreamWithTimeout", "cann_runtime", "synchronize", KIND_CPU, MARK_NONE},
        {"Dequeue@Conv2D", "dequeue", "cpu op", KIND_CPU, MARK_NONE},
        {"MEMCPY_ASYNC", "gpu_memcpy", "copy", KIND_COPY, MARK_NONE},
        {"Conv2D-op1547", "ascend_kernel.forward", "convolution", KIND_COMPUTE, MARK_FORWARD},
        {"Conv2DBackpropInput-op1899", "ascend_kernel.backward", "convolution", KIND_COMPUTE, MARK_BACKWARD},
        {"MatMul-op5257", "ascend_kernel.recompute", "matmul", KIND_COMPUTE, MARK_RECOMPUTE},
        {"ApplyMomentum-op4133", "ascend_kernel", "optimizer", KIND_COMPUTE, MARK_OPTIMIZER},
        {"Mul-op4124", "ascend_kernel.optimizer", "elementwise", KIND_COMPUTE, MARK_OPTIMIZER},
        {"BNTrainingReduce-op4855", "ascend_kernel.forward", "normalization", KIND_COMPUTE, MARK_FORWARD},
        {"trans_TransData_0", "kernel", "layout", KIND_COMPUTE, MARK_NONE},
        {"aclnnInplaceRelu_Relu_Relu", "kernel", "elementwise", KIND_COMPUTE, MARK_NONE},
        {"ProfilerStep#3", "user_annotation", "step", KIND_ANNOTATION, MARK_STEP},
        {"FP_BP", "user_annotation", "annotation", KIND_ANNOTATION, MARK_NONE},
    };
    trace_rules *r = NULL;
    assert_int_equal(trace_rules_create(&r, NULL, NULL), MAREY_OK);
    size_t n = 0;
    const trace_category *all = trace_rules_categories(r, &n);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        trace_meaning m = trace_rules_classify(r, cases[i].name, cases[i].source);
        if (strcmp(all[m.category].name, cases[i].category) != 0 || all[m.category].kind != cases[i].kind ||
            m.mark != cases[i].mark) {
            fail_msg("%s [%s]: %s, kind %s, mark %d", cases[i].name, cases[i].source, all[m.category].name,
                     trace_kind_name(all[m.category].kind), (int)m.mark);
        }
    }
    trace_rules_destroy(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(ascend)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
