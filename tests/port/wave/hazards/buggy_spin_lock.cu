// buggy: KP322
__device__ int lock_word;
__global__ void locked(int* data) {
  while (atomicCAS(&lock_word, 0, 1) != 0) {
  }
  data[0] += threadIdx.x;
  __threadfence();
  atomicExch(&lock_word, 0);
}
