// buggy: KP301 KP310
template <typename T>
__device__ T broadcast(unsigned mask, T v) {
  return __shfl_sync(mask, v, 0);
}
__global__ void spread(int* out) { out[threadIdx.x] = broadcast(0xffffffffu, out[threadIdx.x]); }
