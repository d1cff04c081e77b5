#include <hip/hip_bf16.h>
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>

template <class T> struct Convert;
template <> struct Convert<float> {
  static __device__ float load(float x) { return x; }
  static __device__ float store(float x) { return x; }
};
template <> struct Convert<__half> {
  static __device__ float load(__half x) { return __half2float(x); }
  static __device__ __half store(float x) { return __float2half(x); }
};
template <> struct Convert<__hip_bfloat16> {
  static __device__ float load(__hip_bfloat16 x) { return __bfloat162float(x); }
  static __device__ __hip_bfloat16 store(float x) { return __float2bfloat16(x); }
};

template <class T, int THREADS>
__global__ __launch_bounds__(THREADS) void layernorm(T* out, const T* in, const float* gamma, const float* beta, int columns, float epsilon) {
  __shared__ float sums[THREADS], squares[THREADS];
  const T* row = in + (size_t)blockIdx.x * columns;
  float s = 0, q = 0;
  for (int c = threadIdx.x; c < columns; c += THREADS) {
    const float x = Convert<T>::load(row[c]);
    s += x;
    q += x * x;
  }
  sums[threadIdx.x] = s;
  squares[threadIdx.x] = q;
  for (int stride = THREADS / 2; stride > 0; stride /= 2) {
    __syncthreads();
    if ((int)threadIdx.x < stride) {
      sums[threadIdx.x] += sums[threadIdx.x + stride];
      squares[threadIdx.x] += squares[threadIdx.x + stride];
    }
  }
  __syncthreads();
  const float mean = sums[0] / columns, scale = rsqrtf(squares[0] / columns - mean * mean + epsilon);
  for (int c = threadIdx.x; c < columns; c += THREADS)
    out[(size_t)blockIdx.x * columns + c] = Convert<T>::store((Convert<T>::load(row[c]) - mean) * scale * gamma[c] + beta[c]);
}

template __global__ void layernorm<float, 256>(float*, const float*, const float*, const float*, int, float);
template __global__ void layernorm<__half, 256>(__half*, const __half*, const float*, const float*, int, float);
template __global__ void layernorm<__hip_bfloat16, 128>(__hip_bfloat16*, const __hip_bfloat16*, const float*, const float*, int, float);
