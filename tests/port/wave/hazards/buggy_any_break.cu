// buggy: KP313
__global__ void drain(int* left) {
  for (;;) {
    int n = left[threadIdx.x];
    if (!__any_sync(0xffffffff, n > 0)) break;
    left[threadIdx.x] = n - 1;
  }
}
