#include <hip/hip_runtime.h>

template <class T> __device__ T wave_sum(T v) {
  for (int offset = warpSize / 2; offset > 0; offset /= 2) v += __shfl_down(v, offset);
  return v;
}

template <class T> __global__ void reduce(T* out, const T* in, int n) {
  __shared__ T partial[1024 / 32];
  T sum = T(0);
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += in[i];
  sum = wave_sum(sum);
  const int lane = threadIdx.x % warpSize, wave = threadIdx.x / warpSize;
  if (lane == 0) partial[wave] = sum;
  __syncthreads();
  if (wave == 0) {
    sum = lane < (int)blockDim.x / warpSize ? partial[lane] : T(0);
    sum = wave_sum(sum);
    if (lane == 0) atomicAdd(out, sum);
  }
}

template __global__ void reduce<float>(float*, const float*, int);
template __global__ void reduce<double>(double*, const double*, int);
template __global__ void reduce<int>(int*, const int*, int);
