// innocent
__global__ void count(int* total, int n) {
#if defined(__CUDACC__) && defined(__HIP_PLATFORM_AMD__)
  unsigned long long done = __ballot(threadIdx.x < n);
  int bits = __popcll(done);
  if (__lane_id() == 0) atomicAdd(total, bits);
#else
  if (threadIdx.x < n) atomicAdd(total, 1);
#endif
}
