// buggy: KP308
template <int N>
__device__ int chunk(int i) { return i / N; }
__global__ void chunks(int* out) { out[threadIdx.x] = chunk<warpSize>(threadIdx.x); }
