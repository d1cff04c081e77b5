// innocent: volatile, but no reduction
__global__ void wait_for(volatile int* flag, int* out) {
  if (threadIdx.x == 0) {
    while (flag[0] == 0) {
    }
    out[0] = flag[1];
  }
}
