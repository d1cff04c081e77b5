#include <cuda_runtime.h>

template <typename T>
__global__ void fill(T *p, T v) {
  p[threadIdx.x] = v;
}

void run(float *p) {
  fill<float> << <1, 64 >> > (p, 1.0f);
  fill << <dim3(1), dim3(64), 0, 0>> >(p, 2.0f);
}

template <typename T>
struct Cast {
  template <int n>
  static __device__ void copy(T *to, const T *from) {
    for (int i = 0; i < n; ++i) to[i] = from[i];
  }
};

template <typename T>
__global__ void copy_pairs(T *to, const T *from) {
  Cast<T>::copy<2>(to, from);
}

template <int Stride> struct Tile {
  template <int Step> __device__ int advanced(int at) { return at + Step * Stride; }
};

template <int Stride> __device__ int walk(Tile<Stride> tile, Tile<Stride> *other) {
  return tile.advanced<2>(1) + other->advanced<3>(2);
}

template <typename T> struct Holder {
  template <typename U> using other = Holder<U>;
  template <typename U> struct rebind { typedef Holder<U> type; };
};

template <typename T> struct Pair {
  using first = typename Holder<T>::other<int>;
  typedef typename Holder<Holder<T>>::rebind<int>::type second;
};

__global__ void empty() {}

void run_lists(int n, cudaStream_t stream) {
  constexpr int wide = 32, high = 8;
  dim3 grid((n + wide - 1) / wide);
  empty<<<grid, {wide, high, 1}, 0, stream>>>();
  empty<<<{2, 3}, {wide}>>>();
}
