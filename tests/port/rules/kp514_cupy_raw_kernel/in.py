import cupy as cp

add = cp.RawKernel("extern \"C\" __global__ void add(float* x) { x[threadIdx.x] += 1; }", "add")
module = cp.RawModule(code="")
