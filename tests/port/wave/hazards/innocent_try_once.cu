// innocent: who does not get it goes on
__global__ void cover(int* rows, int* columns, int* star, bool* repeat, int n) {
  for (int j = threadIdx.x; j < n; j += blockDim.x) {
    if (!atomicExch(&rows[j], 1)) {
      if (!atomicExch(&columns[j], 1)) {
        star[j] = j;
      } else {
        rows[j] = 0;
        *repeat = true;
      }
    }
  }
}
