#include <hip/hip_runtime.h>

__global__ void shuffles(int* out, const int* in) {
  int v = in[threadIdx.x];
  v += __shfl(v, 3);
  v += __shfl_up(v, 1);
  v += __shfl_down(v, 2);
  v += __shfl_xor(v, 4, 16);
  out[threadIdx.x] = v;
}

__global__ void shuffles_sync(double* out, const double* in) {
  double v = in[threadIdx.x];
  v += __shfl_sync(~0ull, v, 3);
  v += __shfl_up_sync(~0ull, v, 1u);
  v += __shfl_down_sync(~0ull, v, 2u, 32);
  v += __shfl_xor_sync(~0ull, v, 4);
  out[threadIdx.x] = v;
}
