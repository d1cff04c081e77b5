// innocent: a host variable of that name
void report(int lanes) {
  int warpSize = lanes;
  int blocks = 1024 / warpSize;
  (void)blocks;
}
__global__ void mark(int* out) { out[threadIdx.x] = 1; }
