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

template <typename T> struct Holder {
  template <typename U> using other = Holder<U>;
  static constexpr int size = sizeof(T);
};

template <typename T> struct Pair {
  using first = typename Holder<T>::template other<int>;
  static constexpr bool small = Holder<T>::size < 4;
};

void run_typed(cudaStream_t stream) {
  fill<float><<<dim3{2, 1}, 64, 0, stream>>>(nullptr, 1.0f);
  if (stream) { fill<float><<<1, 64>>>(nullptr, 1.0f); }
}
