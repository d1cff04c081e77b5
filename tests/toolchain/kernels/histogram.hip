#include <hip/hip_runtime.h>

template <int BINS> __global__ void histogram(unsigned* out, const unsigned char* in, size_t n) {
  __shared__ unsigned local[BINS];
  for (int b = threadIdx.x; b < BINS; b += blockDim.x) local[b] = 0;
  __syncthreads();
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
    atomicAdd(&local[in[i] % BINS], 1u);
  __syncthreads();
  for (int b = threadIdx.x; b < BINS; b += blockDim.x)
    if (local[b] != 0) atomicAdd(&out[b], local[b]);
}

template __global__ void histogram<256>(unsigned*, const unsigned char*, size_t);
template __global__ void histogram<64>(unsigned*, const unsigned char*, size_t);
