#include "synth/names.h"

#include "base/status.h"

const char *synth_name_text(synth_name name)
{
    static const char *const texts[] = {
#define X(id, text) text,
        SYNTH_NAME_LIST(X)
#undef X
    };
    MAREY_ASSERT((size_t)name < sizeof texts / sizeof *texts);
    return texts[name];
}

const char *synth_coll_name(synth_coll c)
{
    static const char *const texts[] = {"allreduce", "_reduce_scatter_base", "_allgather_base", "send", "recv"};
    MAREY_ASSERT((size_t)c < sizeof texts / sizeof *texts);
    return texts[c];
}

/* The families of kernels differ in what a block needs; within a family one figure serves. */
static const char facts_gemm[] = ",\"registers per thread\": 238,\"shared memory\": 147456,\"blocks per SM\": 2.962963,"
                                 "\"warps per SM\": 23.703703,\"grid\": [40, 8, 1],\"block\": [256, 1, 1],"
                                 "\"est. achieved occupancy %\": 13";
static const char facts_flash[] = ",\"registers per thread\": 255,\"shared memory\": 81920,\"blocks per SM\": 5.925926,"
                                  "\"warps per SM\": 23.703703,\"grid\": [16, 2, 20],\"block\": [128, 1, 1],"
                                  "\"est. achieved occupancy %\": 13";
static const char facts_conv[] = ",\"registers per thread\": 226,\"shared memory\": 98304,\"blocks per SM\": 7.259259,"
                                 "\"warps per SM\": 29.037037,\"grid\": [784, 1, 1],\"block\": [128, 1, 1],"
                                 "\"est. achieved occupancy %\": 19";
static const char facts_norm[] = ",\"registers per thread\": 40,\"shared memory\": 24,\"blocks per SM\": 18.962963,"
                                 "\"warps per SM\": 75.851852,\"grid\": [2048, 1, 1],\"block\": [32, 4, 1],"
                                 "\"est. achieved occupancy %\": 75";
static const char facts_nccl[] = ",\"registers per thread\": 96,\"shared memory\": 103808,\"blocks per SM\": 0.222222,"
                                 "\"warps per SM\": 3.555556,\"grid\": [24, 1, 1],\"block\": [512, 1, 1],"
                                 "\"est. achieved occupancy %\": 6";
static const char facts_plain[] = ",\"registers per thread\": 32,\"shared memory\": 0,\"blocks per SM\": 94.814814,"
                                  "\"warps per SM\": 379.259247,\"grid\": [10240, 1, 1],\"block\": [128, 1, 1],"
                                  "\"est. achieved occupancy %\": 100";

const char *synth_kernel_facts(synth_name kernel)
{
    switch (kernel) {
    case NAME_K_GEMM_TN:
    case NAME_K_GEMM_TN2:
    case NAME_K_GEMM_NN:
    case NAME_K_GEMM_NT:
        return facts_gemm;
    case NAME_K_FLASH_FWD:
    case NAME_K_FLASH_BWD:
    case NAME_K_FLASH_DOT:
        return facts_flash;
    case NAME_K_CONV_FWD:
    case NAME_K_CONV_DGRAD:
    case NAME_K_CONV_WGRAD:
        return facts_conv;
    case NAME_K_LN_FWD:
    case NAME_K_LN_BWD:
    case NAME_K_LN_GAMMA:
    case NAME_K_BN_FWD:
    case NAME_K_BN_BWD:
        return facts_norm;
    case NAME_K_ALLREDUCE:
    case NAME_K_ALLREDUCE_F32:
    case NAME_K_ALLREDUCE_MAX:
    case NAME_K_ALLGATHER:
    case NAME_K_REDUCESCATTER:
    case NAME_K_SENDRECV:
        return facts_nccl;
    default:
        return facts_plain;
    }
}
