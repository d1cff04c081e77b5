// innocent: one lane takes the lock
__device__ int lock_word;
__global__ void locked(int* data) {
  if (threadIdx.x == 0) {
    while (atomicCAS(&lock_word, 0, 1) != 0) {
    }
    data[0] += 1;
    __threadfence();
    atomicExch(&lock_word, 0);
  }
}
