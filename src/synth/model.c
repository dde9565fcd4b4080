#include "synth/model.h"

#include <string.h>

#define N(x)     NAME_##x
#define COUNT(a) ((int)(sizeof(a) / sizeof *(a)))
#define TP_ALLREDUCE(part)                                                                                             \
    {                                                                                                                  \
        N(K_ALLREDUCE), N(C_ALLREDUCE), 0, 0, "[[2048,1,5120]]", part, FLOW_CHAIN, HIDDEN, "", 0                       \
    }
#define HIDDEN "[2048,1,5120]"

/* One block of a GPT-like decoder of width 5120: attention and a feed-forward of four times the width. */
static const model_op gpt_fwd[] = {
    {N(K_LN_FWD), N(C_LAYER_NORM), 22, 3, "[[2048,1,5120],[],[5120],[5120],[]]", "attention", FLOW_CHAIN, HIDDEN,
     "[[1,1,1],[1],[1]]", 0},
    {N(K_GEMM_TN), N(C_LINEAR), 180, 0, "[[2048,1,5120],[7680,5120],[7680]]", "attention", FLOW_CHAIN, "[2048,1,7680]",
     "[[1,1,1],[t,1],[t]]", 0},
    {N(K_COPY), N(C_COPY), 12, 5, NULL, "attention", FLOW_CHAIN, "[2048,1,7680]", "[[1,1,t]]", 0},
    {N(K_FLASH_FWD), N(C_ATTENTION), 170, 0, "[[1,20,2048,128],[1,20,2048,128],[1,20,2048,128]]", "attention",
     FLOW_CHAIN, "[1,20,2048,128]", "[[1,t,1,1],[1,t,1,1],[1,t,1,1]]", 0},
    {N(K_GEMM_TN2), N(C_LINEAR), 70, 1, "[[2048,1,2560],[5120,2560],[]]", "attention", FLOW_CHAIN, HIDDEN,
     "[[1,1,t],[1,t]]", 0},
    TP_ALLREDUCE("attention"),
    {N(K_DROPOUT), N(C_DROPOUT), 14, 4, "[[2048,1,5120],[],[]]", "attention", FLOW_CHAIN, HIDDEN, "[[1,1,1]]", 0},
    {N(K_ADD), N(C_ADD), 14, 4, "[[2048,1,5120],[2048,1,5120],[]]", "attention", FLOW_RESIDUAL, HIDDEN,
     "[[1,1,1],[1,1,1]]", 0},
    {N(K_LN_FWD), N(C_LAYER_NORM), 22, 3, "[[2048,1,5120],[],[5120],[5120],[]]", "mlp", FLOW_CHAIN, HIDDEN,
     "[[1,1,1],[1],[1]]", 0},
    {N(K_GEMM_TN), N(C_LINEAR), 228, 0, "[[2048,1,5120],[10240,5120],[10240]]", "mlp", FLOW_CHAIN, "[2048,1,10240]",
     "[[1,1,1],[t,1],[t]]", 0},
    {N(K_GELU), N(C_GELU), 36, 2, "[[2048,1,10240]]", "mlp", FLOW_CHAIN, "[2048,1,10240]", "[[1,1,t]]", 0},
    {N(K_GEMM_TN2), N(C_LINEAR), 226, 0, "[[2048,1,10240],[5120,10240],[]]", "mlp", FLOW_CHAIN, HIDDEN,
     "[[1,1,t],[1,t]]", 0},
    TP_ALLREDUCE("mlp"),
    {N(K_DROPOUT), N(C_DROPOUT), 14, 4, "[[2048,1,5120],[],[]]", "mlp", FLOW_CHAIN, HIDDEN, "[[1,1,1]]", 0},
    {N(K_ADD), N(C_ADD), 14, 4, "[[2048,1,5120],[2048,1,5120],[]]", "mlp", FLOW_RESIDUAL, HIDDEN, "[[1,1,1],[1,1,1]]",
     0},
};

static const model_op gpt_bwd[] = {
    {N(K_MASK), N(C_DROPOUT_BWD), 10, 5, NULL, "mlp", FLOW_CHAIN, HIDDEN, "[[1,1,1]]", 0},
    {N(K_GEMM_NN), N(C_MM_BWD), 112, 0, "[[2048,5120],[5120,10240]]", "mlp", FLOW_CHAIN, "[2048,10240]",
     "[[1,1],[1,t]]", 0},
    {N(K_GEMM_NT), N(C_MM_BWD), 112, 0, "[[5120,2048],[2048,10240]]", "mlp", FLOW_WEIGHT, "[5120,10240]",
     "[[1,1],[1,t]]", N(C_GELU)},
    {N(K_GELU_BWD), N(C_GELU_BWD), 26, 2, "[[2048,1,10240],[2048,1,10240]]", "mlp", FLOW_CHAIN, "[2048,1,10240]",
     "[[1,1,t],[1,1,t]]", N(C_LINEAR)},
    {N(K_GEMM_NN), N(C_MM_BWD), 112, 0, "[[2048,10240],[10240,5120]]", "mlp", FLOW_CHAIN, "[2048,5120]",
     "[[1,t],[t,1]]", 0},
    TP_ALLREDUCE("mlp"),
    {N(K_GEMM_NT), N(C_MM_BWD), 112, 0, "[[10240,2048],[2048,5120]]", "mlp", FLOW_WEIGHT, "[10240,5120]",
     "[[t,1],[1,1]]", N(C_LAYER_NORM)},
    {N(K_BIAS_GRAD), N(C_SUM_BWD), 8, 5, NULL, "mlp", FLOW_WEIGHT, "[10240]", "", 0},
    {N(K_LN_BWD), N(C_LN_BWD), 16, 3, "[[2048,1,5120],[2048,1,5120],[],[2048,1,1],[2048,1,1],[5120],[5120],[]]", "mlp",
     FLOW_CHAIN, HIDDEN, "[[1,1,1],[1,1,1]]", 0},
    {N(K_LN_GAMMA), N(C_LN_BWD), 10, 4, NULL, "mlp", FLOW_WEIGHT, "[5120]", "", 0},
    {N(K_ADD), N(C_ADD), 8, 4, "[[2048,1,5120],[2048,1,5120],[]]", "mlp", FLOW_RESIDUAL, HIDDEN, "[[1,1,1],[1,1,1]]",
     0},
    {N(K_MASK), N(C_DROPOUT_BWD), 10, 5, NULL, "attention", FLOW_CHAIN, HIDDEN, "[[1,1,1]]", 0},
    {N(K_GEMM_NN), N(C_MM_BWD), 36, 0, "[[2048,5120],[5120,2560]]", "attention", FLOW_CHAIN, "[2048,2560]",
     "[[1,1],[1,t]]", 0},
    {N(K_GEMM_NT), N(C_MM_BWD), 36, 0, "[[5120,2048],[2048,2560]]", "attention", FLOW_WEIGHT, "[5120,2560]",
     "[[1,1],[1,t]]", N(C_ATTENTION)},
    {N(K_FLASH_DOT), N(C_ATTENTION_BWD), 14, 2, NULL, "attention", FLOW_CHAIN, "[20,2048]", "", N(C_ATTENTION)},
    {N(K_FLASH_BWD), N(C_ATTENTION_BWD), 168, 0, "[[1,2048,20,128],[1,20,2048,128],[1,20,2048,128]]", "attention",
     FLOW_CHAIN, "[1,20,2048,128]", "[[1,1,t,1],[1,t,1,1],[1,t,1,1]]", N(C_LINEAR)},
    {N(K_COPY), N(C_COPY), 8, 5, NULL, "attention", FLOW_CHAIN, "[2048,1,7680]", "[[1,1,t]]", 0},
    {N(K_COPY), N(C_COPY), 8, 5, NULL, "attention", FLOW_CHAIN, "[2048,1,7680]", "[[1,1,t]]", 0},
    {N(K_GEMM_NN), N(C_MM_BWD), 88, 0, "[[2048,7680],[7680,5120]]", "attention", FLOW_CHAIN, "[2048,5120]",
     "[[1,t],[t,1]]", 0},
    TP_ALLREDUCE("attention"),
    {N(K_GEMM_NT), N(C_MM_BWD), 88, 0, "[[7680,2048],[2048,5120]]", "attention", FLOW_WEIGHT, "[7680,5120]",
     "[[t,1],[1,1]]", N(C_LAYER_NORM)},
    {N(K_BIAS_GRAD), N(C_SUM_BWD), 8, 5, NULL, "attention", FLOW_WEIGHT, "[7680]", "", 0},
    {N(K_BIAS_GRAD), N(C_SUM_BWD), 6, 5, NULL, "attention", FLOW_WEIGHT, "[5120]", "", 0},
    {N(K_LN_BWD), N(C_LN_BWD), 16, 3, "[[2048,1,5120],[2048,1,5120],[],[2048,1,1],[2048,1,1],[5120],[5120],[]]",
     "attention", FLOW_CHAIN, HIDDEN, "[[1,1,1],[1,1,1]]", 0},
    {N(K_LN_GAMMA), N(C_LN_BWD), 10, 4, NULL, "attention", FLOW_WEIGHT, "[5120]", "", 0},
    {N(K_ADD), N(C_ADD), 8, 4, "[[2048,1,5120],[2048,1,5120],[]]", "attention", FLOW_RESIDUAL, HIDDEN,
     "[[1,1,1],[1,1,1]]", 0},
};

static const model_op gpt_first[] = {
    {N(K_EMBEDDING), N(C_EMBEDDING), 30, 0, "[[20000,5120],[1,2048],[],[],[]]", "embedding", FLOW_CHAIN, HIDDEN,
     "[[t,1],[1,1]]", 0},
    {N(K_ADD), N(C_ADD), 10, 0, "[[2048,1,5120],[2048,1,5120],[]]", "embedding", FLOW_CHAIN, HIDDEN,
     "[[1,1,1],[1,1,1]]", 0},
};

static const model_op gpt_last[] = {
    {N(K_LN_FWD), N(C_LAYER_NORM), 20, 0, "[[2048,1,5120],[],[5120],[5120],[]]", "head", FLOW_CHAIN, HIDDEN,
     "[[1,1,1],[1],[1]]", 0},
    {N(K_GEMM_TN), N(C_LINEAR), 90, 0, "[[2048,1,5120],[20000,5120],[]]", "head", FLOW_CHAIN, "[2048,1,20000]",
     "[[1,1,1],[t,1]]", 0},
    {N(K_SOFTMAX), N(C_SOFTMAX), 20, 0, "[[2048,20000],[],[]]", "loss", FLOW_CHAIN, "[2048,20000]", "[[1,t]]", 0},
};

/* A bottleneck block of ResNet-50. */
static const model_op resnet_fwd[] = {
    {N(K_CONV_FWD), N(C_CONV), 170, 0, "[[256,1024,14,14],[256,1024,1,1],[],[],[],[],[],[],[]]", "conv1", FLOW_CHAIN,
     "[256,256,14,14]", "", 0},
    {N(K_BN_FWD), N(C_BN), 60, 2, "[[256,256,14,14],[256],[256],[256],[256],[],[],[]]", "conv1", FLOW_CHAIN,
     "[256,256,14,14]", "", 0},
    {N(K_RELU), N(C_RELU), 30, 3, "[[256,256,14,14],[]]", "conv1", FLOW_CHAIN, "[256,256,14,14]", "", 0},
    {N(K_CONV_FWD), N(C_CONV), 260, 0, "[[256,256,14,14],[256,256,3,3],[],[],[],[],[],[],[]]", "conv2", FLOW_CHAIN,
     "[256,256,14,14]", "", 0},
    {N(K_BN_FWD), N(C_BN), 60, 2, "[[256,256,14,14],[256],[256],[256],[256],[],[],[]]", "conv2", FLOW_CHAIN,
     "[256,256,14,14]", "", 0},
    {N(K_RELU), N(C_RELU), 30, 3, "[[256,256,14,14],[]]", "conv2", FLOW_CHAIN, "[256,256,14,14]", "", 0},
    {N(K_CONV_FWD), N(C_CONV), 190, 0, "[[256,256,14,14],[1024,256,1,1],[],[],[],[],[],[],[]]", "conv3", FLOW_CHAIN,
     "[256,1024,14,14]", "", 0},
    {N(K_BN_FWD), N(C_BN), 110, 1, "[[256,1024,14,14],[1024],[1024],[1024],[1024],[],[],[]]", "conv3", FLOW_CHAIN,
     "[256,1024,14,14]", "", 0},
    {N(K_ADD), N(C_ADD), 50, 3, "[[256,1024,14,14],[256,1024,14,14],[]]", "", FLOW_SKIP, "[256,1024,14,14]", "", 0},
    {N(K_RELU), N(C_RELU), 40, 3, "[[256,1024,14,14],[]]", "", FLOW_CHAIN, "[256,1024,14,14]", "", 0},
};

static const model_op resnet_bwd[] = {
    {N(K_RELU_BWD), N(C_RELU_BWD), 30, 3, NULL, "", FLOW_CHAIN, "[256,1024,14,14]", "", N(C_RELU)},
    {N(K_BN_BWD), N(C_BN_BWD), 90, 1, NULL, "conv3", FLOW_CHAIN, "[256,1024,14,14]", "", N(C_CONV)},
    {N(K_CONV_DGRAD), N(C_CONV_BWD), 110, 0, "[[256,1024,14,14],[256,256,14,14],[1024,256,1,1]]", "conv3", FLOW_CHAIN,
     "[256,256,14,14]", "", 0},
    {N(K_CONV_WGRAD), N(C_CONV_BWD), 110, 0, "[[256,1024,14,14],[256,256,14,14],[1024,256,1,1]]", "conv3", FLOW_WEIGHT,
     "[1024,256,1,1]", "", 0},
    {N(K_RELU_BWD), N(C_RELU_BWD), 20, 3, NULL, "conv2", FLOW_CHAIN, "[256,256,14,14]", "", N(C_RELU)},
    {N(K_BN_BWD), N(C_BN_BWD), 50, 2, NULL, "conv2", FLOW_CHAIN, "[256,256,14,14]", "", N(C_CONV)},
    {N(K_CONV_DGRAD), N(C_CONV_BWD), 140, 0, "[[256,256,14,14],[256,256,14,14],[256,256,3,3]]", "conv2", FLOW_CHAIN,
     "[256,256,14,14]", "", 0},
    {N(K_CONV_WGRAD), N(C_CONV_BWD), 140, 0, "[[256,256,14,14],[256,256,14,14],[256,256,3,3]]", "conv2", FLOW_WEIGHT,
     "[256,256,3,3]", "", 0},
    {N(K_RELU_BWD), N(C_RELU_BWD), 20, 3, NULL, "conv1", FLOW_CHAIN, "[256,256,14,14]", "", N(C_RELU)},
    {N(K_BN_BWD), N(C_BN_BWD), 50, 2, NULL, "conv1", FLOW_CHAIN, "[256,256,14,14]", "", N(C_CONV)},
    {N(K_CONV_DGRAD), N(C_CONV_BWD), 100, 0, "[[256,256,14,14],[256,1024,14,14],[256,1024,1,1]]", "conv1", FLOW_CHAIN,
     "[256,1024,14,14]", "", 0},
    {N(K_CONV_WGRAD), N(C_CONV_BWD), 100, 0, "[[256,256,14,14],[256,1024,14,14],[256,1024,1,1]]", "conv1", FLOW_WEIGHT,
     "[256,1024,1,1]", "", 0},
    {N(K_ADD), N(C_ADD), 40, 3, "[[256,1024,14,14],[256,1024,14,14],[]]", "", FLOW_SKIP, "[256,1024,14,14]", "", 0},
};

static const model_op resnet_first[] = {
    {N(K_CONV_FWD), N(C_CONV), 400, 0, "[[256,3,224,224],[64,3,7,7],[],[],[],[],[],[],[]]", "stem", FLOW_CHAIN,
     "[256,64,112,112]", "", 0},
    {N(K_POOL), N(C_POOL), 100, 0, "[[256,64,112,112],[],[],[],[],[]]", "stem", FLOW_CHAIN, "[256,64,56,56]", "", 0},
};

static const model_op resnet_last[] = {
    {N(K_GEMM_TN), N(C_LINEAR), 60, 0, "[[256,2048],[1000,2048],[1000]]", "head", FLOW_CHAIN, "[256,1000]", "", 0},
    {N(K_SOFTMAX), N(C_SOFTMAX), 20, 0, "[[256,1000],[],[]]", "loss", FLOW_CHAIN, "[256,1000]", "", 0},
};

static const model_def models[] = {
    /* 317 M parameters a layer; gradients in 16 bits. A stage of five layers takes 18.5 ms forward, 37 ms backward. */
    {.name = "pangu-13b",
     .layers = 40,
     .micro_batches = 12,
     .detail = 15,
     .ranks = 32,
     .max_pp = 8,
     .tp = 2,
     .buckets = 0,
     .sharded = true,
     .fwd_ns = 3400000,
     .bwd_ns = 6900000,
     .optimizer_ns = 1200000,
     .activation_bytes = 20971520,
     .layer_grad_bytes = 634000000,
     .fwd = gpt_fwd,
     .n_fwd = COUNT(gpt_fwd),
     .bwd = gpt_bwd,
     .n_bwd = COUNT(gpt_bwd),
     .filler = N(K_ADD),
     .filler_cpu = N(C_ADD),
     .filler_bwd = N(K_BIAS_GRAD),
     .filler_bwd_cpu = N(C_SUM_BWD),
     .first = gpt_first,
     .n_first = COUNT(gpt_first),
     .last = gpt_last,
     .n_last = COUNT(gpt_last),
     .layer_name = N(A_LAYER),
     .device_name = "NVIDIA A100-SXM4-80GB"},
    /* 25.6 M parameters over 16 blocks, gradients in 32 bits, 256 pictures a device and step. */
    {.name = "resnet50",
     .layers = 16,
     .micro_batches = 1,
     .detail = 10,
     .ranks = 8,
     .max_pp = 1,
     .tp = 1,
     .buckets = 5,
     .sharded = false,
     .fwd_ns = 2100000,
     .bwd_ns = 4100000,
     .optimizer_ns = 60000,
     .activation_bytes = 102760448,
     .layer_grad_bytes = 6400000,
     .fwd = resnet_fwd,
     .n_fwd = COUNT(resnet_fwd),
     .bwd = resnet_bwd,
     .n_bwd = COUNT(resnet_bwd),
     .filler = N(K_RELU),
     .filler_cpu = N(C_RELU),
     .filler_bwd = N(K_BIAS_GRAD),
     .filler_bwd_cpu = N(C_SUM_BWD),
     .first = resnet_first,
     .n_first = COUNT(resnet_first),
     .last = resnet_last,
     .n_last = COUNT(resnet_last),
     .layer_name = N(A_BLOCK),
     .device_name = "NVIDIA A100-SXM4-80GB"},
};

const model_def *model_find(const char *name)
{
    for (int i = 0; i < COUNT(models); i++) {
        if (name && strcmp(models[i].name, name) == 0) {
            return &models[i];
        }
    }
    return NULL;
}
