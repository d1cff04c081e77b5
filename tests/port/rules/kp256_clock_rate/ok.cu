#include <ctime>
#include <cuda_runtime.h>

// A seed, and the host's clock.
__global__ void seed(unsigned long long *state) { state[threadIdx.x] = clock64() + threadIdx.x; }

double host_seconds() { return (double)clock() / CLOCKS_PER_SEC; }
