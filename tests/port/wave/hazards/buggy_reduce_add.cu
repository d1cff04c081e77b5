// buggy: KP318
__global__ void added(int* v) { v[threadIdx.x] = __reduce_add_sync(0xffffffff, v[threadIdx.x]); }
