// buggy: KP301 KP310 KP314
__global__ void leader_reads(int* data) {
  int lane = threadIdx.x & 31;
  int v = data[threadIdx.x];
  if (lane < 7) v = __shfl_sync(0xffffffff, v, 3);
  data[threadIdx.x] = v;
}
