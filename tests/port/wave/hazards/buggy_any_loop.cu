// buggy: KP313
__global__ void walk(const int* next, int* at) {
  int p = at[threadIdx.x];
  bool active = p >= 0;
  while (__any_sync(0xffffffff, active)) {
    if (active) p = next[p];
    active = p >= 0;
  }
  at[threadIdx.x] = p;
}
