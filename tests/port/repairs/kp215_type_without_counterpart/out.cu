#include <cuda_runtime.h>
#if defined(USE_ROCM) || defined(__HIP_PLATFORM_AMD__)
#ifndef KPT_OPAQUE_cudaGraphConditionalHandle
#define KPT_OPAQUE_cudaGraphConditionalHandle
typedef struct kpt_cudaGraphConditionalHandle *cudaGraphConditionalHandle;
#endif
#endif

struct Plan {
    cudaGraphConditionalHandle loop;
    float* x;
};

__global__ void twice(float* x) {
    x[threadIdx.x] *= 2;
}

void run(Plan plan) {
    twice<<<1, 32>>>(plan.x);
}
