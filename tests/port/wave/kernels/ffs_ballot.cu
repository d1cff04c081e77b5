// kernel: k; arguments: out bits; block: 128 1; after: buggy_ffs_of_ballot.cu
__global__ void k(int* out, const int* in) {
  out[threadIdx.x] = first(in[threadIdx.x] != 0);
}
