// buggy: KP301 KP324
// The loop covers 64 lanes on AMD, as its author chose: a width of 32 would count the lower half twice.
#ifdef MINE_USE_HIP
#define WARP_SIZE 64
#else
#define WARP_SIZE 32
#endif

__global__ void count(const int* in, int* out) {
  int x = in[threadIdx.x];
  for (int j = 1; j < WARP_SIZE; j <<= 1) {
    x += __shfl_down_sync(0xffffffff, x, j);
  }
  if (threadIdx.x % WARP_SIZE == 0) atomicAdd(out, x);
}
