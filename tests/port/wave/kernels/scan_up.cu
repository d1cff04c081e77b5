// kernel: k; arguments: out ints; block: 128 1; after: buggy_scan_across_line.cu
__global__ void k(int* out, const int* in) {
  out[threadIdx.x] = inclusive(in[threadIdx.x], threadIdx.x & 31);
}
