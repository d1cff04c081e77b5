#include <cuda_runtime.h>

template <bool wide>
__global__ void add(float* x, int n) {
    if (threadIdx.x < n) x[threadIdx.x] += wide ? 2.f : 1.f;
}

void run(float* x, int n, cudaStream_t stream) {
    n > 64
        ? add<true><<<1, 128, 0, stream>>>(x, n)
        : add<false><<<1, 64, 0, stream>>>(x, n);
}
