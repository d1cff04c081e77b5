import os

import cupy as cp

add = cp.RawKernel("extern \"C\" __global__ void add(float* x) { x[threadIdx.x] += 1; }", "add")
module = cp.RawModule(code="")
old = cp.cuda.compile_with_cache("")
os.environ["CUDA_HOME"] = cp.cuda.get_cuda_path()
