// innocent: a block size by vendor is tuning
#if defined(USE_ROCM)
#define BLOCK 64
#else
#define BLOCK 32
#endif
__global__ void fill(int* out) { out[blockIdx.x * BLOCK + threadIdx.x] = 1; }
