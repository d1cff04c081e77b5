#include <cuda_runtime.h>

__global__ void addresses(unsigned* out) {
    __shared__ float tile[32];
    out[0] = (unsigned)(&tile[0]);
    out[1] = reinterpret_cast<unsigned>(&tile[1]);
}
