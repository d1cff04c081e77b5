__global__ void twice(float *x) {
  register float v = x[threadIdx.x];
  register int i = threadIdx.x;
  x[i] = 2 * v;
}
