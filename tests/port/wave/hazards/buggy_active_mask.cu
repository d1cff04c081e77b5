// buggy: KP303
__device__ int aggregated(int* counter) {
  unsigned active = __activemask();
  int lane = threadIdx.x & 31;
  int leader = __ffs(active) - 1;
  int base = 0;
  if (lane == leader) base = atomicAdd(counter, __popc(active));
  return base + __popc(active & ((1u << lane) - 1));
}
