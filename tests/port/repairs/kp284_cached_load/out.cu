#include <cuda_runtime.h>

struct Pair {
    float a, b;
};

__global__ void sum(const Pair* pairs, float* out) {
#if defined(USE_ROCM) || defined(__HIP_PLATFORM_AMD__)
    const Pair pair = (*(pairs + threadIdx.x));
#else
    const Pair pair = __ldg(pairs + threadIdx.x);
#endif
    out[threadIdx.x] = pair.a + pair.b;
}
