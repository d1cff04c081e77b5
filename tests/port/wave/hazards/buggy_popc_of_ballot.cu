// buggy: KP302
__global__ void count(const int* in, int* out) {
  int n = __popc(__ballot_sync(0xffffffff, in[threadIdx.x] > 0));
  if ((threadIdx.x & 31) == 0) out[threadIdx.x >> 5] = n;
}
