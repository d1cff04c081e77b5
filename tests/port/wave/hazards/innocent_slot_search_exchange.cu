// innocent: a taken slot is left for another
__global__ void sample(int* taken, int n, unsigned seed) {
  unsigned at = (seed + threadIdx.x) % n;
  while (atomicExch(&taken[at], 1) == 1) {
    seed = seed * 1664525u + 1013904223u;
    at = seed % n;
  }
}
