__global__ void child(int *p) { atomicAdd(p, 1); }

__global__ void parent(int *p) {
  if (threadIdx.x == 0) {
    child<<<1, 32>>>(p);
  }
}
