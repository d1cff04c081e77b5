// kernel: k; arguments: bits out; block: 96 1
__global__ void k(const int* in, int* out) {
  int v = in[threadIdx.x];
  out[threadIdx.x] = __all_sync(0xffffffff, v >= 0) + __popc(__ballot_sync(0xffffffff, v)) + __shfl_sync(0xffffffff, v, 31);
}
