// kernel: k; arguments: out; block: 128 1; after: buggy_one_shifted_by_wave_lane.cu
__global__ void k(unsigned* out) {
  out[threadIdx.x] = below();
}
