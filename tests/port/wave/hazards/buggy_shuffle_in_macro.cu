// buggy: KP301 KP310
#define WARP_ADD(v)                                  \
  do {                                               \
    for (int o = 16; o; o >>= 1)                     \
      v += __shfl_xor_sync(0xffffffff, v, o);        \
  } while (0)
__global__ void total(int* data) {
  int v = data[threadIdx.x];
  WARP_ADD(v);
  data[threadIdx.x] = v;
}
