// buggy: KP301
__global__ void agree(const int* in, int* out) { out[threadIdx.x] = __all_sync(0xffffffff, in[threadIdx.x] == 1); }
