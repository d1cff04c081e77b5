// y = a * x + y, and the sum of y in one pass: small, but with shuffles, LDS and an atomic.
#include <hip/hip_runtime.h>

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads) saxpy_sum(float a, const float *x, float *y, float *sum, int n) {
    __shared__ float partial[kThreads];
    float own = 0.0f;
    for (int i = blockIdx.x * kThreads + threadIdx.x; i < n; i += gridDim.x * kThreads) {
        y[i] = a * x[i] + y[i];
        own += y[i];
    }
    for (int offset = warpSize / 2; offset > 0; offset /= 2) own += __shfl_xor(own, offset);
    if (threadIdx.x % warpSize == 0) partial[threadIdx.x / warpSize] = own;
    __syncthreads();
    if (threadIdx.x == 0) {
        float total = 0.0f;
        for (int wave = 0; wave < kThreads / warpSize; ++wave) total += partial[wave];
        atomicAdd(sum, total);
    }
}
