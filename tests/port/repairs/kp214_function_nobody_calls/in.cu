#include <cuda_runtime.h>

static inline int clusters(cudaClusterSchedulingPolicy policy) {
    return policy == cudaClusterSchedulingPolicyDefault ? 0 : 1;
}

__global__ void twice(float* x) {
    x[threadIdx.x] *= 2;
}
