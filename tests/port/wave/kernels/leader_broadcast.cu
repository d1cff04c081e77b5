// kernel: k; arguments: bits out zeros; block: 128 1
__global__ void k(const int* in, int* out, int* counter) {
  unsigned m = __ballot_sync(0xffffffff, in[threadIdx.x]);
  int leader = __ffs(m) - 1;
  int lane = threadIdx.x & 31;
  int base = 0;
  if (m != 0) {
    if (lane == leader) base = atomicAdd(&counter[threadIdx.x / 32], __popc(m));
    base = __shfl_sync(0xffffffff, base, leader);
  }
  out[threadIdx.x] = base + __popc(m & ((1u << lane) - 1));
}
