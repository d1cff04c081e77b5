#include <curand_kernel.h>

__global__ void setup(curandState *state) { curand_init(1234, threadIdx.x, 0, &state[threadIdx.x]); }
