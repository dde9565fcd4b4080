#!/usr/bin/env python3
"""A large file in the layout of PyTorch's profiler, to standard output: for tests of memory and speed.

    big_trace.py MEBIBYTES [SEED] > big.json

Steps of operators, launches and kernels on a few threads and streams, with the arguments that real ones carry. The same
size and seed give the same bytes.
"""
import random
import sys

OPS = ['aten::linear', 'aten::addmm', 'aten::gelu', 'aten::add', 'aten::native_layer_norm', 'aten::mul', 'aten::softmax',
       'aten::bmm', 'aten::transpose', 'aten::view', 'aten::empty', 'aten::copy_', 'aten::dropout', 'aten::matmul']
KERNELS = ['ampere_fp16_s16816gemm_fp16_%dx128_ldg8_f2f_stages_32x5_tn', 'void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, int, %d>(cudnnTensorStruct)',
           'void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, at::detail::Array<char*, %d> >(int)',
           'void (anonymous namespace)::softmax_warp_forward<c10::Half, float, %d>(c10::Half*, int, int)']

CPU = '''  {
    "ph": "X", "cat": "cpu_op", "name": "%s", "pid": 4242, "tid": %d,
    "ts": %d.%03d, "dur": %d.%03d,
    "args": {
      "External id": %d,"Record function id": 0, "Ev Idx": %d
    }
  },
'''
LAUNCH = '''  {
    "ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 4242, "tid": %d,
    "ts": %d.%03d, "dur": %d.%03d,
    "args": {
      "External id": %d, "cbid": 211, "correlation": %d
    }
  },
  {
    "ph": "s", "id": %d, "pid": 4242, "tid": %d, "ts": %d.%03d,
    "cat": "ac2g", "name": "ac2g"
  },
'''
KERNEL = '''  {
    "ph": "X", "cat": "kernel", "name": "%s", "pid": 0, "tid": %d,
    "ts": %d.%03d, "dur": %d.%03d,
    "args": {
      "External id": %d,
      "queued": 0, "device": 0, "context": 1,
      "stream": %d, "correlation": %d,
      "registers per thread": 96, "shared memory": 49152, "blocks per SM": %d.5, "warps per SM": 16,
      "grid": [%d, 1, 1], "block": [256, 1, 1], "est. achieved occupancy %%": 25
    }
  },
'''


def main():
    limit = int(float(sys.argv[1]) * (1 << 20))
    rng = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    out = sys.stdout
    written = out.write('{\n  "schemaVersion": 1,\n  "deviceProperties": [{"id": 0, "name": "NVIDIA A100-SXM4-80GB"}],\n'
                        '  "distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 1},\n  "traceEvents": [\n')
    names = [k % n for k in KERNELS for n in (64, 128, 256)]
    now = 1700000000000000000
    free = {7: now, 20: now}
    correlation, step = 1, 0
    while written < limit:
        parts = []
        begin = now
        for _ in range(400):
            tid = 4242 if rng.random() < 0.7 else 4250
            length = 20000 + rng.randrange(30000)
            cut = lambda t: (t // 1000, t % 1000)
            parts.append(CPU % (rng.choice(OPS), tid, *cut(now), *cut(length), correlation, correlation))
            parts.append(CPU % (rng.choice(OPS), tid, *cut(now + 2000), *cut(length - 4000), correlation, correlation))
            at = now + 5000
            parts.append(LAUNCH % (tid, *cut(at), *cut(5000 + rng.randrange(900)), correlation, correlation, correlation, tid, *cut(at)))
            stream = 7 if rng.random() < 0.9 else 20
            start = max(free[stream] + 1000, at + 4000)
            dur = 3000 + rng.randrange(40000)
            free[stream] = start + dur
            parts.append(KERNEL % (rng.choice(names), stream, *cut(start), *cut(dur), correlation, stream, correlation, rng.randrange(90), rng.randrange(4000)))
            correlation += 1
            now += length + rng.randrange(2000)
        parts.append('  {\n    "ph": "X", "cat": "user_annotation", "name": "ProfilerStep#%d", "pid": 4242, "tid": 4242,\n    "ts": %d.%03d, "dur": %d.%03d,\n    "args": {\n    }\n  },\n'
                     % (step, begin // 1000, begin % 1000, (now - begin) // 1000, (now - begin) % 1000))
        step += 1
        written += out.write(''.join(parts))
    out.write('  {\n    "name": "process_name", "ph": "M", "ts": 0, "pid": 4242, "tid": 0, "args": {"name": "python"}\n  }\n  ]\n}\n')


main()
