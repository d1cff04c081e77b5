// kernel: k; arguments: out floats; block: 128 1; after: buggy_shuffle_without_sync.cu
__global__ void k(float* out, const float* in) {
  float s = old_warp_sum(in[threadIdx.x]);
  out[threadIdx.x] = s;
}
