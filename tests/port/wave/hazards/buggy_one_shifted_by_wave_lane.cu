// buggy: KP304
__device__ unsigned below() {
  unsigned lane = threadIdx.x % warpSize;
  return (1u << lane) - 1;
}
