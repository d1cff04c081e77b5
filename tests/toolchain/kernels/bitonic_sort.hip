#include <hip/hip_runtime.h>

template <class Key, class Value> __device__ void order(Key& ka, Value& va, Key& kb, Value& vb, bool ascending) {
  if ((ka > kb) == ascending) {
    const Key k = ka;
    ka = kb;
    kb = k;
    const Value v = va;
    va = vb;
    vb = v;
  }
}

__global__ void bitonic(unsigned* keys, unsigned* values) {
  __shared__ unsigned k[1024], v[1024];
  for (unsigned i = threadIdx.x; i < 1024; i += blockDim.x) {
    k[i] = keys[blockIdx.x * 1024 + i];
    v[i] = values[blockIdx.x * 1024 + i];
  }
  for (unsigned size = 2; size <= 1024; size <<= 1)
    for (unsigned stride = size / 2; stride > 0; stride >>= 1) {
      __syncthreads();
      const unsigned at = 2 * threadIdx.x - (threadIdx.x & (stride - 1));
      order(k[at], v[at], k[at + stride], v[at + stride], (at & size) == 0);
    }
  __syncthreads();
  for (unsigned i = threadIdx.x; i < 1024; i += blockDim.x) {
    keys[blockIdx.x * 1024 + i] = k[i];
    values[blockIdx.x * 1024 + i] = v[i];
  }
}
