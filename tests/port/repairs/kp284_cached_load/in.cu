#include <cuda_runtime.h>

struct Pair {
    float a, b;
};

__global__ void sum(const Pair* pairs, float* out) {
    const Pair pair = __ldg(pairs + threadIdx.x);
    out[threadIdx.x] = pair.a + pair.b;
}
