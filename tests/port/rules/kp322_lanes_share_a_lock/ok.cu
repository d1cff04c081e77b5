#include <cuda_runtime.h>

__device__ int lock_word;

// One thread takes the lock; an update by compare-and-swap; a search for a free slot.
__global__ void locked(int* data, float* at, int* slots, int n) {
  if (threadIdx.x == 0) {
    while (atomicCAS(&lock_word, 0, 1) != 0) {
    }
    data[0] += 1;
    __threadfence();
    atomicExch(&lock_word, 0);
  }
  int* word = (int*)at;
  int old = *word, assumed;
  do {
    assumed = old;
    old = atomicCAS(word, assumed, __float_as_int(__int_as_float(assumed) + 1));
  } while (assumed != old);
  int i = threadIdx.x;
  while (atomicCAS(&slots[i], 0, 1) != 0) i = (i + 1) % n;
}
