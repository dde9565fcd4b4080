/* The names of a simulated run's events, with what Kineto writes beside them. */
#ifndef MAREY_SYNTH_NAMES_H
#define MAREY_SYNTH_NAMES_H

#include <stddef.h>

#define SYNTH_NAME_LIST(X)                                                                                             \
    /* kernels */                                                                                                      \
    X(K_GEMM_TN, "ampere_fp16_s16816gemm_fp16_128x256_ldg8_f2f_stages_64x3_tn")                                        \
    X(K_GEMM_TN2, "ampere_fp16_s16816gemm_fp16_256x128_ldg8_f2f_stages_64x3_tn")                                       \
    X(K_GEMM_NN, "ampere_fp16_s16816gemm_fp16_128x256_ldg8_f2f_stages_64x3_nn")                                        \
    X(K_GEMM_NT, "ampere_fp16_s16816gemm_fp16_256x128_ldg8_f2f_stages_32x3_nt")                                        \
    X(K_FLASH_FWD, "void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4, false, false, "              \
                   "cutlass::half_t> >(flash::Flash_fwd_params)")                                                      \
    X(K_FLASH_BWD, "void flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Flash_bwd_kernel_traits<128, 64, 128, "   \
                   "8, 2, 4, 2, false, false, cutlass::half_t> >(flash::Flash_bwd_params)")                            \
    X(K_FLASH_DOT, "void flash::flash_bwd_dot_do_o_kernel<true, Flash_bwd_kernel_traits<128, 64, 128, 8, 2, 4, 2, "    \
                   "false, false, cutlass::half_t> >(flash::Flash_bwd_params)")                                        \
    X(K_LN_FWD, "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::Half, float>(int, float, "  \
                "c10::Half const*, c10::Half const*, c10::Half const*, float*, float*, c10::Half*)")                   \
    X(K_LN_BWD, "void at::native::(anonymous namespace)::layer_norm_grad_input_kernel<c10::Half, float>(c10::Half "    \
                "const*, c10::Half const*, float const*, float const*, c10::Half const*, c10::Half*, int)")            \
    X(K_LN_GAMMA, "void at::native::(anonymous namespace)::GammaBetaBackwardCUDAKernel<c10::Half, float>(long, long, " \
                  "c10::Half const*, c10::Half const*, float const*, float const*, c10::Half*, c10::Half*)")           \
    X(K_GELU, "void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl("                      \
              "at::TensorIteratorBase&, at::native::GeluType)::{lambda(c10::Half)#1}, at::detail::Array<char*, 2> >")  \
    X(K_GELU_BWD, "void at::native::vectorized_elementwise_kernel<4, at::native::GeluBackwardCUDAKernelImpl("          \
                  "at::TensorIteratorBase&, at::native::GeluType)::{lambda(c10::Half, c10::Half)#1}, "                 \
                  "at::detail::Array<char*, 3> >")                                                                     \
    X(K_ADD,                                                                                                           \
      "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::Half>, "                     \
      "at::detail::Array<char*, 3> >(int, at::native::CUDAFunctor_add<c10::Half>, at::detail::Array<char*, 3>)")       \
    X(K_DROPOUT,                                                                                                       \
      "void at::native::(anonymous namespace)::fused_dropout_kernel_vec<c10::Half, float, unsigned int, 1, "           \
      "4, bool>(at::cuda::detail::TensorInfo<c10::Half const, unsigned int>)")                                         \
    X(K_MASK, "void at::native::vectorized_elementwise_kernel<4, at::native::masked_scale_kernel<bool, c10::Half, "    \
              "float>(at::Tensor&, at::Tensor const&)::{lambda(c10::Half, bool)#1}, at::detail::Array<char*, 3> >")    \
    X(K_BIAS_GRAD, "void at::native::reduce_kernel<128, 4, at::native::ReduceOp<c10::Half, "                           \
                   "at::native::func_wrapper_t<c10::Half, at::native::sum_functor<c10::Half>>, unsigned int, "         \
                   "c10::Half, 4> >")                                                                                  \
    X(K_COPY, "void at::native::vectorized_elementwise_kernel<4, "                                                     \
              "at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda(c10::Half)#3}, "                  \
              "at::detail::Array<char*, 2> >")                                                                         \
    X(K_EMBEDDING, "void at::native::(anonymous namespace)::indexSelectLargeIndex<c10::Half, long, unsigned int, 2, "  \
                   "2, -2, true>(at::cuda::detail::TensorInfo<c10::Half, unsigned int>)")                              \
    X(K_SOFTMAX, "void at::native::(anonymous namespace)::cunn_SoftMaxForward<8, c10::Half, float, c10::Half, "        \
                 "at::native::(anonymous namespace)::LogSoftMaxForwardEpilogue>(c10::Half*, c10::Half const*, int)")   \
    X(K_NORM, "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<"                                     \
              "at::native::(anonymous namespace)::TensorListMetadata<1>, "                                             \
              "at::native::(anonymous namespace)::LpNormFunctor<float, (at::native::NormType)1, float, 1, 1, 0> >")    \
    X(K_ADAM, "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<"                                     \
              "at::native::(anonymous namespace)::FusedOptimizerTensorListMetadata<4>, "                               \
              "at::native::(anonymous namespace)::FusedAdamMathFunctor<float, 4, "                                     \
              "(at::native::ADAM_MODE)0, false> >")                                                                    \
    X(K_CONV_FWD, "sm80_xmma_fprop_implicit_gemm_indexed_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize128x128x64_"          \
                  "stage3_warpsize2x2x1_g1_tensor16x8x16_execute_kernel__5x_cudnn")                                    \
    X(K_CONV_DGRAD, "sm80_xmma_dgrad_implicit_gemm_indexed_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize128x128x32_"        \
                    "stage4_warpsize2x2x1_g1_tensor16x8x16_kernel_cudnn")                                              \
    X(K_CONV_WGRAD, "sm80_xmma_wgrad_implicit_gemm_indexed_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize128x128x32_"        \
                    "stage4_warpsize2x2x1_g1_tensor16x8x16_execute_kernel__5x_cudnn")                                  \
    X(K_BN_FWD, "void cudnn::bn_fw_tr_1C11_kernel_NCHW<__half, float, 512, true, 1, true>(cudnnTensorStruct, "         \
                "__half const*, cudnnTensorStruct, __half*, float const*, float const*, float, float, float*)")        \
    X(K_BN_BWD, "void cudnn::bn_bw_1C11_kernel_new<__half, float, float2, 512, true, 1>(float, float, float, float, "  \
                "cudnnTensorStruct, __half const*, cudnnTensorStruct, __half const*, cudnnTensorStruct, __half*)")     \
    X(K_RELU, "void at::native::vectorized_elementwise_kernel<4, at::native::(anonymous namespace)::"                  \
              "launch_clamp_scalar(at::TensorIteratorBase&, c10::Scalar)::{lambda(c10::Half)#1}, "                     \
              "at::detail::Array<char*, 2> >")                                                                         \
    X(K_RELU_BWD, "void at::native::vectorized_elementwise_kernel<4, at::native::(anonymous namespace)::"              \
                  "threshold_kernel_impl<c10::Half>(at::TensorIteratorBase&, c10::Half, c10::Half)::"                  \
                  "{lambda(c10::Half, c10::Half)#1}, at::detail::Array<char*, 3> >")                                   \
    X(K_POOL,                                                                                                          \
      "void at::native::(anonymous namespace)::max_pool_forward_nhwc<c10::Half, float>(c10::Half const*, int)")        \
    X(K_ALLREDUCE, "ncclDevKernel_AllReduce_Sum_f16_RING_LL(ncclDevKernelArgsStorage<4096ul>)")                        \
    X(K_ALLREDUCE_F32, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)")                    \
    X(K_ALLREDUCE_MAX, "ncclDevKernel_AllReduce_Max_f32_TREE_LL(ncclDevKernelArgsStorage<4096ul>)")                    \
    X(K_ALLGATHER, "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)")                                \
    X(K_REDUCESCATTER, "ncclDevKernel_ReduceScatter_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)")                \
    X(K_SENDRECV, "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)")                                          \
    X(M_HTOD, "Memcpy HtoD (Pinned -> Device)")                                                                        \
    /* operators on the host */                                                                                        \
    X(C_LINEAR, "aten::linear")                                                                                        \
    X(C_ATTENTION, "aten::_scaled_dot_product_flash_attention")                                                        \
    X(C_LAYER_NORM, "aten::native_layer_norm")                                                                         \
    X(C_GELU, "aten::gelu")                                                                                            \
    X(C_ADD, "aten::add")                                                                                              \
    X(C_DROPOUT, "aten::native_dropout")                                                                               \
    X(C_COPY, "aten::copy_")                                                                                           \
    X(C_EMBEDDING, "aten::embedding")                                                                                  \
    X(C_SOFTMAX, "aten::_log_softmax")                                                                                 \
    X(C_CONV, "aten::cudnn_convolution")                                                                               \
    X(C_BN, "aten::cudnn_batch_norm")                                                                                  \
    X(C_RELU, "aten::clamp_min_")                                                                                      \
    X(C_POOL, "aten::max_pool2d_with_indices")                                                                         \
    X(C_MM_BWD, "autograd::engine::evaluate_function: AddmmBackward0")                                                 \
    X(C_ATTENTION_BWD, "autograd::engine::evaluate_function: ScaledDotProductFlashAttentionBackward0")                 \
    X(C_LN_BWD, "autograd::engine::evaluate_function: NativeLayerNormBackward0")                                       \
    X(C_GELU_BWD, "autograd::engine::evaluate_function: GeluBackward0")                                                \
    X(C_DROPOUT_BWD, "autograd::engine::evaluate_function: NativeDropoutBackward0")                                    \
    X(C_SUM_BWD, "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad")                               \
    X(C_CONV_BWD, "autograd::engine::evaluate_function: ConvolutionBackward0")                                         \
    X(C_BN_BWD, "autograd::engine::evaluate_function: CudnnBatchNormBackward0")                                        \
    X(C_RELU_BWD, "autograd::engine::evaluate_function: ReluBackward0")                                                \
    X(C_NORM, "aten::_foreach_norm")                                                                                   \
    X(C_ADAM, "aten::_fused_adamw_")                                                                                   \
    X(C_ALLREDUCE, "c10d::allreduce_")                                                                                 \
    X(C_ALLGATHER, "c10d::_allgather_base_")                                                                           \
    X(C_REDUCESCATTER, "c10d::_reduce_scatter_base_")                                                                  \
    X(C_SEND, "c10d::send")                                                                                            \
    X(C_RECV, "c10d::recv_")                                                                                           \
    X(R_LAUNCH, "cudaLaunchKernel")                                                                                    \
    X(R_LAUNCH_EX, "cudaLaunchKernelExC")                                                                              \
    X(R_MEMCPY, "cudaMemcpyAsync")                                                                                     \
    X(R_STREAM_SYNC, "cudaStreamSynchronize")                                                                          \
    X(R_DEVICE_SYNC, "cudaDeviceSynchronize")                                                                          \
    /* annotations; those from A_STEP to A_BLOCK are followed by a number */                                           \
    X(A_DATA, "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__")                                         \
    X(A_OPTIMIZER, "Optimizer.step#AdamW.step")                                                                        \
    X(A_STEP, "ProfilerStep#")                                                                                         \
    X(A_FORWARD, "forward micro-batch ")                                                                               \
    X(A_BACKWARD, "backward micro-batch ")                                                                             \
    X(A_RECOMPUTE, "recompute micro-batch ")                                                                           \
    X(A_LAYER, "nn.Module: ParallelTransformerLayer_")                                                                 \
    X(A_BLOCK, "nn.Module: Bottleneck_")                                                                               \
    X(T_SPAN, "PyTorch Profiler (0)")                                                                                  \
    X(T_START, "Iteration Start: PyTorch Profiler")                                                                    \
    X(T_END, "Record Window End")

typedef enum synth_name {
#define X(id, text) NAME_##id,
    SYNTH_NAME_LIST(X)
#undef X
        NAME_COUNT
} synth_name;

const char *synth_name_text(synth_name name);

/* Kinds of communication, as Kineto names them in "Collective name". */
typedef enum synth_coll {
    COLL_ALLREDUCE,
    COLL_REDUCESCATTER,
    COLL_ALLGATHER,
    COLL_SEND,
    COLL_RECV,
    COLL_COUNT
} synth_coll;

const char *synth_coll_name(synth_coll c);

/** The launch-independent tail of a kernel's arguments: `,"registers per thread": 96, ... }` without the brace. */
const char *synth_kernel_facts(synth_name kernel);

#endif
