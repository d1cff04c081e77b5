// innocent: the project's own switch decides, and AMD's side was written for AMD
__device__ float sum(float x) {
#ifdef MINE_USE_HIP
  for (int j = 32; j > 0; j >>= 1) x += __shfl_xor(x, j);
#else
  for (int j = 16; j > 0; j >>= 1) x += __shfl_xor_sync(0xffffffff, x, j);
#endif
  return x;
}
