#include <cuda_runtime.h>

template <typename T>
__global__ void fill(T *p, T v) {
  p[threadIdx.x] = v;
}

struct Twice {
  __device__ int operator()(int x) const { return x << 1; }
};

void run(float *p, int a, int b) {
  fill<float><<<1, 64>>>(p, 1.0f);
  bool less = 1 << a < b;
  fill<<<less ? 1 : 2, 64>>>(p, 2.0f);
}

template <typename T>
struct Limit {
  static constexpr int value = sizeof(T);
  template <int n>
  static __device__ int scaled(int x) { return n * x; }
};

template <typename T>
__device__ bool small(int x) {
  return Limit<T>::value < x && Limit<T>::template scaled<2>(x) > (x);
}

struct Plain {
  template <int Step> __device__ int advanced(int at) { return at + Step; }
};

__device__ int walk(Plain tile) { return tile.advanced<2>(1); }
