#include <hip/hip_runtime.h>

#include <cstdint>

struct Philox {
  uint32_t key0, key1;
  __host__ __device__ uint32_t operator()(uint32_t counter) const {
    uint32_t a = counter, b = 0, k0 = key0, k1 = key1;
    for (int round = 0; round < 10; ++round) {
      const uint64_t product = uint64_t(0xD256D193u) * a;
      a = uint32_t(product >> 32) ^ k0 ^ b;
      b = uint32_t(product);
      k0 += 0x9E3779B9u;
      k1 += 0xBB67AE85u;
    }
    return a ^ k1;
  }
};

__global__ void estimate_pi(unsigned long long* hits, uint32_t seed, int tries) {
  const uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
  const Philox random{seed, thread};
  unsigned inside = 0;
  for (int i = 0; i < tries; ++i) {
    const float x = random(2 * i) * 0x1p-32f, y = random(2 * i + 1) * 0x1p-32f;
    inside += x * x + y * y < 1.0f;
  }
  atomicAdd(hits, (unsigned long long)inside);
}
