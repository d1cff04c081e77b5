#include <hip/hip_runtime.h>

#include <type_traits>

template <class T, class Op, int UNROLL> __global__ void map_kernel(T* data, int n, Op op) {
  int base = (blockIdx.x * blockDim.x + threadIdx.x) * UNROLL;
#pragma unroll
  for (int k = 0; k < UNROLL; ++k)
    if (base + k < n) data[base + k] = op(data[base + k]);
}

template <class T> struct Scale {
  T factor;
  __host__ __device__ T operator()(T x) const { return x * factor; }
};
struct Clamp {
  template <class T> __device__ T operator()(T x) const {
    if constexpr (std::is_floating_point_v<T>)
      return x < T(0) ? T(0) : x;
    else
      return x & T(0xff);
  }
};

void launch(float* f, int* i, double* d) {
  map_kernel<float, Scale<float>, 4><<<8, 128>>>(f, 4096, Scale<float>{2.0f});
  map_kernel<int, Clamp, 2><<<8, 128>>>(i, 2048, Clamp{});
  map_kernel<double, Clamp, 1><<<8, 128>>>(d, 1024, Clamp{});
  auto lambda = [] __device__(float x) { return x + 1.0f; };
  map_kernel<float, decltype(lambda), 1><<<8, 128>>>(f, 1024, lambda);
}
