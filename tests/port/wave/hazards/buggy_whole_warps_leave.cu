// buggy: KP301
__global__ void query(const int* keys, int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int lane = threadIdx.x % 32;
  if (i - lane >= n) return;
  out[i] = __shfl_sync(0xffffffff, keys[i], 0, 32);
}
