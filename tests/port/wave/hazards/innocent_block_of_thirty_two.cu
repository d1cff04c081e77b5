// innocent: a block of 32 threads without collectives
__global__ void fill(int* out) { out[blockIdx.x * 32 + threadIdx.x] = 1; }
void launch(int* out) { fill<<<64, 32>>>(out); }
