// kernel: k; arguments: bits out; block: 128 1
__global__ void k(const int* in, int* out) {
  out[threadIdx.x] = __any_sync(0xffffffff, __popc(__ballot_sync(0xffffffff, in[threadIdx.x])) > 16);
}
