#include <cuda_runtime.h>

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
