/*
 * Contract: every unique name gets one category, the first rule that matches decides, the user's come before the
 * built-in ones; patterns know * and ?, ignore case and mind the input's own category; a fault in the user's file is
 * told with its line. The table that the built-in rules were made into beforehand is what reading them gives. It knows
 * the usual kernels of the usual libraries.
 */
#include "cm.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "trace/rules.h"

static const char *category(const trace_rules *r, const char *name, const char *source)
{
    size_t n;
    const trace_category *c = trace_rules_categories(r, &n);
    uint32_t id = trace_rules_classify(r, name, source).category;
    assert_true(id < n);
    return c[id].name;
}

static void knows_kernels(void **state)
{
    (void)state;
    static const struct {
        const char *name, *source, *category;
    } cases[] = {
        {"ncclDevKernel_AllReduce_Sum_f16_RING_LL(ncclDevComm*, unsigned long)", "kernel", "allreduce"},
        {"ncclKernel_AllGather_RING_LL_Sum_int8_t(ncclWorkElem)", "Kernel", "allgather"},
        {"ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL", "kernel", "reducescatter"},
        {"ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", "kernel", "send receive"},
        {"ncclDevKernel_Broadcast_RING_LL", "kernel", "broadcast"},
        {"ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)", "kernel", "communication"},
        {"hcom_allReduce__123_0", "kernel", "allreduce"},
        {"ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_32x5_tn", "kernel", "matmul"},
        {"Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT32x32x256", "kernel", "matmul"},
        {"nvjet_tst_64x64_64x16_2x1_2cta_v_bz_bias_TNT", "kernel", "matmul"},
        {"void cutlass::Kernel2<cutlass_80_tensorop_f16_s16816gemm_relu_f16_128x128_32x5_tn_align8>", "kernel",
         "matmul"},
        {"void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64, 128>>", "kernel",
         "attention"},
        {"fmhaSm100aKernel_QkvE4m3OBfloat16H64PagedKvCausalP16", "kernel", "attention"},
        {"sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nhwc", "kernel", "convolution"},
        {"void cuApplyLayerNorm<c10::Half, float, c10::Half>(c10::Half*, float*)", "kernel", "normalization"},
        {"void cudnn::bn_bw_1C11_kernel_new<float, float, float2, 32, true, 1>", "kernel", "normalization"},
        {"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>", "kernel",
         "elementwise"},
        {"void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::TensorListMetadata<4>>",
         "kernel", "optimizer"},
        {"void (anonymous namespace)::softmax_warp_forward<c10::Half, float>", "kernel", "softmax"},
        {"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>", "kernel", "reduction"},
        {"triton_poi_fused_add_mul_tanh_0", "kernel", "elementwise"},
        {"something_of_their_own", "kernel", "kernel"},
        {"Memcpy HtoD (Pinned -> Device)", "gpu_memcpy", "copy host to device"},
        {"Memcpy DtoH (Device -> Pageable)", "Memcpy", "copy device to host"},
        {"Memset (Device)", "gpu_memset", "memset"},
        {"cudaLaunchKernel", "cuda_runtime", "launch"},
        {"hipGraphLaunch", "cuda_runtime", "graph launch"},
        {"cudaDeviceSynchronize", "Runtime", "synchronize"},
        {"aten::addmm", "cpu_op", "cpu matmul"},
        {"autograd::engine::evaluate_function: AddmmBackward0", "cpu_op", "autograd"},
        {"torch/nn/modules/module.py(1511): _wrapped_call_impl", "python_function", "python"},
        {"ProfilerStep#3", "user_annotation", "step"},
        {"anything", "never seen", "other"},
        {"F_0,1", "", "forward"},
    };
    trace_rules *r = NULL;
    assert_int_equal(trace_rules_create(&r, NULL, NULL), MAREY_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_string_equal(category(r, cases[i].name, cases[i].source), cases[i].category);
    }
    trace_rules_destroy(&r);
    assert_null(r);
}

static void knows_phases(void **state)
{
    (void)state;
    static const struct {
        const char *name, *source;
        trace_mark mark;
    } cases[] = {
        {"ProfilerStep#12", "user_annotation", MARK_STEP},
        {"Optimizer.step#AdamW.step", "user_annotation", MARK_OPTIMIZER},
        {"autograd::engine::evaluate_function: AddmmBackward0", "cpu_op", MARK_BACKWARD},
        {"autograd::engine::evaluate_function: CheckpointFunctionBackward", "cpu_op", MARK_CHECKPOINT},
        {"## forward ##", "user_annotation", MARK_FORWARD},
        {"torch/utils/checkpoint.py(1500): recompute_fn", "python_function", MARK_RECOMPUTE},
        {"aten::mm", "cpu_op", MARK_NONE},
        {"backward", "some category of a plain trace", MARK_NONE},
    };
    trace_rules *r = NULL;
    assert_int_equal(trace_rules_create(&r, NULL, NULL), MAREY_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(trace_rules_classify(r, cases[i].name, cases[i].source).mark, cases[i].mark);
    }
    trace_rules_destroy(&r);
}

static void first_match_decides(void **state)
{
    (void)state;
    static const char text[] = "category a matmul compute\n"
                               "category \"b c\" collective communication # with a blank\n"
                               "category other other other\n"
                               "match a x?z,- ab* *Q\n"
                               "match \"b c\" * *b?d* \"two words\"\n"
                               "match a * *\n";
    trace_rules *r = NULL;
    assert_int_equal(trace_rules_create_from(&r, text, sizeof text - 1, NULL), MAREY_OK);
    assert_string_equal(category(r, "ABCD", "xyz"), "a");
    assert_string_equal(category(r, "ABCD", ""), "a");
    assert_string_equal(category(r, "abcd", "q"), "b c");
    assert_string_equal(category(r, "Two Words", "q"), "b c");
    assert_string_equal(category(r, "two  words", "q"), "a");
    assert_string_equal(category(r, "", "q"), "a");
    trace_rules_destroy(&r);
}

static marey_status create(const char *text, diag *d)
{
    trace_rules *r = NULL;
    marey_status status = trace_rules_create_from(&r, text, strlen(text), d);
    trace_rules_destroy(&r);
    return status;
}

static void tells_faults(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"category other other other\nmatch nothing * x\n", "line 2: unknown category \"nothing\""},
        {"category other pink other\n", "line 1: unknown class \"pink\""},
        {"category other other basement\n", "line 1: unknown lane \"basement\""},
        {"category other other other\n\nmatch other \"*\n", "line 3: a quote is not closed"},
        {"category other other other\nfrobnicate\n", "line 2: unknown word \"frobnicate\""},
        {"category other other other\nphase sideways * x\n", "line 2: unknown phase \"sideways\""},
        {"category a other other\n", "the rules have no category \"other\""},
        {"", "the rules have no category \"other\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        diag d;
        diag_init(&d);
        assert_int_equal(create(cases[i].text, &d), MAREY_FORMAT);
        assert_int_equal(d.n_messages, 1);
        assert_string_equal(d.messages[0].text, cases[i].message);
        diag_deinit(&d);
    }
}

static void user_comes_first(void **state)
{
    (void)state;
    char path[] = "/tmp/marey-rules-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    (void)close(fd);
    static const char text[] = "category mine compute compute\n"
                               "match mine kernel *gemm*\n"
                               "match softmax kernel their_*\n";
    assert_int_equal(file_write_all(path, text, sizeof text - 1, NULL), MAREY_OK);
    trace_rules *r = NULL;
    assert_int_equal(trace_rules_create(&r, path, NULL), MAREY_OK);
    assert_string_equal(category(r, "volta_sgemm_64x64_nt", "kernel"), "mine");
    assert_string_equal(category(r, "their_kernel", "kernel"), "softmax");
    assert_string_equal(category(r, "volta_sgemm_64x64_nt", "Kernel"), "mine");
    assert_string_equal(category(r, "nvjet_tst", "kernel"), "matmul");
    trace_rules_destroy(&r);
    (void)unlink(path);
    diag d;
    diag_init(&d);
    assert_int_equal(trace_rules_create(&r, path, &d), MAREY_IO);
    assert_int_equal(d.n_messages, 1);
    diag_deinit(&d);
}

/* A hostile pattern must not cost more than its length times the name's. */
static void stays_fast(void **state)
{
    (void)state;
    char text[4096] = "category other other other\ncategory a matmul compute\nmatch a * \"";
    for (int i = 0; i < 1000; i++) {
        (void)strcat(text, "*a");
    }
    (void)strcat(text, "*b\"\n");
    char *name = calloc(1, 65536);
    memset(name, 'a', 65535);
    trace_rules *r = NULL;
    assert_int_equal(trace_rules_create_from(&r, text, strlen(text), NULL), MAREY_OK);
    assert_string_equal(category(r, name, "x"), "other");
    trace_rules_destroy(&r);
    free(name);
}

static bool plain_glob(const char *p, const char *s)
{
    if (!*p) {
        return !*s;
    }
    if (*p == '*') {
        return plain_glob(p + 1, s) || (*s && plain_glob(p, s + 1));
    }
    return *s && (*p == '?' || *p == *s) && plain_glob(p + 1, s + 1);
}

static void random_word(prng *g, char *to, const char *letters, size_t least, size_t most)
{
    size_t n = least + prng_below(g, most - least + 1);
    for (size_t i = 0; i < n; i++) {
        to[i] = letters[prng_below(g, strlen(letters))];
    }
    to[n] = '\0';
}

/* Tables of random patterns over three letters, asked in order, each by a matcher that knows no short cut. */
static void equals_plain_matching(void **state)
{
    (void)state;
    enum { RULES = 12 };
    static const char *const scopes[] = {"x", "y,x", "-", "z*,-", "*", "?"};
    static const char *const parts[][2] = {{"x", "x"}, {"y", "x"}, {"-", "-"}, {"z*", "-"}, {"*", "*"}, {"?", "?"}};
    static const char *const sources[] = {"", "x", "y", "zz"};
    for (uint64_t seed = 0; seed < 200; seed++) {
        prng g;
        prng_seed(&g, seed);
        char patterns[RULES][8];
        size_t scope[RULES];
        strbuf text = {0};
        strbuf_printf(&text, "category other other compute\n");
        for (size_t i = 0; i < RULES; i++) {
            random_word(&g, patterns[i], "ab*?", 1, 6);
            scope[i] = prng_below(&g, sizeof scopes / sizeof *scopes);
            strbuf_printf(&text, "category c%zu other compute\nmatch c%zu %s %s\n", i, i, scopes[scope[i]],
                          patterns[i]);
        }
        trace_rules *r = NULL;
        assert_int_equal(trace_rules_create_from(&r, strbuf_str(&text), text.n, NULL), MAREY_OK);
        for (unsigned k = 0; k < 100; k++) {
            char name[64];
            random_word(&g, name, "abc", 0, k % 2 ? 10 : sizeof name - 1); /* also of several vectors */
            const char *source = sources[prng_below(&g, 4)];
            char wanted[8] = "other";
            for (size_t i = RULES; i-- > 0;) {
                bool in_scope = false;
                for (unsigned j = 0; j < 2; j++) {
                    const char *part = parts[scope[i]][j];
                    in_scope = in_scope || plain_glob(part, source) || (strcmp(part, "-") == 0 && !*source);
                }
                if (in_scope && plain_glob(patterns[i], name)) {
                    (void)snprintf(wanted, sizeof wanted, "c%zu", i);
                }
            }
            assert_string_equal(category(r, name, source), wanted);
        }
        trace_rules_destroy(&r);
        strbuf_deinit(&text);
    }
}

static void assert_same_meaning(const trace_rules *a, const trace_rules *b, const char *name, const char *source)
{
    trace_meaning x = trace_rules_classify(a, name, source);
    trace_meaning y = trace_rules_classify(b, name, source);
    if (x.category != y.category || x.mark != y.mark) {
        fail_msg("\"%s\" from \"%s\" means different things", name, source);
    }
}

/* Every word of the rules, and what lies between two words, is asked as a name and as a source. */
static void table_equals_its_text(void **state)
{
    (void)state;
    static const char *const sources[] = {
        "", "kernel", "cpu_op", "python_function", "gpu_user_annotation", "cuda_runtime", "device"};
    char path[512];
    char *text = NULL;
    size_t n = 0;
    trace_rules *table = NULL;
    trace_rules *read = NULL;
    (void)snprintf(path, sizeof path, "%s/assets/categories.rules", getenv("MAREY_SOURCE_DIR"));
    assert_int_equal(file_read_all(path, 1 << 20, &text, &n, NULL), MAREY_OK);
    assert_int_equal(trace_rules_create(&table, NULL, NULL), MAREY_OK);
    assert_int_equal(trace_rules_create_from(&read, text, n, NULL), MAREY_OK);
    size_t n_table;
    size_t n_read;
    const trace_category *a = trace_rules_categories(table, &n_table);
    const trace_category *b = trace_rules_categories(read, &n_read);
    assert_int_equal(n_table, n_read);
    for (size_t i = 0; i < n_table; i++) {
        assert_string_equal(a[i].name, b[i].name);
        assert_int_equal(a[i].klass, b[i].klass);
        assert_int_equal(a[i].kind, b[i].kind);
    }
    for (char *word = strtok(text, " \n\""); word; word = strtok(NULL, " \n\"")) {
        for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
            assert_same_meaning(table, read, word, sources[i]);
            assert_same_meaning(table, read, sources[i], word);
        }
    }
    trace_rules_destroy(&table);
    trace_rules_destroy(&read);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_kernels),         cmocka_unit_test(knows_phases),
        cmocka_unit_test(first_match_decides),   cmocka_unit_test(tells_faults),
        cmocka_unit_test(user_comes_first),      cmocka_unit_test(stays_fast),
        cmocka_unit_test(equals_plain_matching), cmocka_unit_test(table_equals_its_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
