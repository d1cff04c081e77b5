// kernel: k; arguments: out zeros bits; block: 128 1; after: buggy_active_mask.cu
__global__ void k(int* out, int* counter, const int* in) {
  if (in[threadIdx.x]) out[threadIdx.x] = aggregated(&counter[threadIdx.x / 32]);
}
