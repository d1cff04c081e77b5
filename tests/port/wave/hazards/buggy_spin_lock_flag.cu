// buggy: KP322
__global__ void insert(int* locks, int* data, int n) {
  int i = threadIdx.x % n;
  bool done = false;
  while (!done) {
    if (atomicCAS(&locks[i], 0, 1) == 0) {
      data[i]++;
      __threadfence();
      atomicExch(&locks[i], 0);
      done = true;
    }
  }
}
