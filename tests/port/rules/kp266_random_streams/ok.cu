#include <curand_kernel.h>

__global__ void setup(curandState *state, unsigned long long seed) { curand_init(seed, threadIdx.x, 0, &state[threadIdx.x]); }
