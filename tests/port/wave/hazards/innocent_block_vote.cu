// innocent: a vote of the block
__global__ void block_vote(const int* in, int* out) {
  int n = __syncthreads_count(in[threadIdx.x] > 0);
  if (threadIdx.x == 0) *out = n;
}
