// innocent: bit counts of data
__global__ void weight(const unsigned* words, int* out) { out[threadIdx.x] = __popc(words[threadIdx.x]) + __ffs(words[0]); }
