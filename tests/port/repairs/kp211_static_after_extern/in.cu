#include <ATen/ATen.h>

template <bool twice> cudaError_t scale(float* x, cudaStream_t stream);

__global__ void times(float* x, float by) {
    x[threadIdx.x] *= by;
}

template <bool twice> static cudaError_t scale(float* x, cudaStream_t stream) {
    times<<<1, 32, 0, stream>>>(x, twice ? 2.f : 1.f);
    return cudaGetLastError();
}

template cudaError_t scale<true>(float* x, cudaStream_t stream);
