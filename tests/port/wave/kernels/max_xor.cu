// kernel: k; arguments: out ints; block: 128 1; after: buggy_mask_constexpr.cu
__global__ void k(int* out, const int* in) {
  out[threadIdx.x] = warp_max(in[threadIdx.x]);
}
