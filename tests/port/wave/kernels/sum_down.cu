// kernel: k; arguments: out floats; block: 128 1; after: buggy_mask_macro.cu
__global__ void k(float* out, const float* in) {
  float s = warp_sum(in[threadIdx.x]);
  out[threadIdx.x] = s;
}
