// buggy: KP301
__device__ void acquire(int* lock) {
  int lane = threadIdx.x & 31;
  bool busy = true;
  while (busy) {
    if (lane == 1) busy = atomicCAS(lock, 0, 1) != 0;
    busy = __shfl_sync(0xffffffff, busy, 1, 32);
  }
}
