// kernel: k; arguments: out floats; block: 128 1; after: buggy_wave_size_macro.cu
__global__ void k(float* out, const float* in) {
  out[threadIdx.x] = last_lane(in[threadIdx.x]);
}
