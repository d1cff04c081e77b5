// kernel: k; arguments: bits out; block: 128 1
__global__ void k(const int* in, int* out) {
  unsigned m = __ballot_sync(0xffffffff, in[threadIdx.x]);
  if (in[threadIdx.x]) out[threadIdx.x] = __ballot_sync(m, threadIdx.x & 1) | __all_sync(m, in[threadIdx.x] == 1);
}
