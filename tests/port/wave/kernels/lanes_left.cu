// kernel: k; arguments: small_inout out; block: 128 1
__global__ void k(const int* in, int* out) {
  int v = in[threadIdx.x];
  if (v == 0) return;
  out[threadIdx.x] = __all_sync(0xffffffff, v == 1) + 2 * __any_sync(0xffffffff, v > 1) + 4 * __popc(__ballot_sync(0xffffffff, v == 1));
}
