// buggy: KP301
__global__ void group_any(const int* in, int* out, int n) {
  unsigned mask = (1u << n) - 1;
  if ((threadIdx.x & 31) < n) out[threadIdx.x] = __any_sync(mask, in[threadIdx.x]);
}
