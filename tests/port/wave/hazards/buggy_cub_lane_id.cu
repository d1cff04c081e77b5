// buggy: KP305
#include <cub/cub.cuh>
__global__ void lanes(unsigned* out) { out[threadIdx.x] = cub::LaneId(); }
