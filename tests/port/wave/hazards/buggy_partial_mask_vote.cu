// buggy: KP303
__global__ void half_vote(const int* in, unsigned* out) {
  if ((threadIdx.x & 31) < 16) out[threadIdx.x] = __ballot_sync(0x0000ffff, in[threadIdx.x]);
}
