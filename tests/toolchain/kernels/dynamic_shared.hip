#include <hip/hip_runtime.h>

template <class T> __global__ void reverse_block(T* out, const T* in) {
  extern __shared__ char raw[];
  T* tile = reinterpret_cast<T*>(raw);
  tile[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}

__global__ void with_macro(float* out) {
  HIP_DYNAMIC_SHARED(float, buffer)
  buffer[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = buffer[threadIdx.x ^ 1];
}

void launch(float* out, const float* in, double* out2, const double* in2, hipStream_t stream) {
  reverse_block<float><<<dim3(4), dim3(256), 256 * sizeof(float), stream>>>(out, in);
  reverse_block<<<4, 128, 128 * sizeof(double)>>>(out2, in2);
  with_macro<<<1, 64, 256>>>(out);
}
