// buggy: KP324
#if defined(USE_ROCM)
#define WARP_SIZE 64
#else
#define WARP_SIZE 32
#endif
__global__ void widths(int* out) { out[threadIdx.x] = threadIdx.x / WARP_SIZE; }
