// kernel: k; arguments: out words; block: 128 1
__global__ void k(unsigned* out, const unsigned* in) {
  out[threadIdx.x] = __reduce_or_sync(0xffffffff, in[threadIdx.x]);
}
