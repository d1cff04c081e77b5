__global__ void mark(int *per_multiprocessor) {
  unsigned id;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
  per_multiprocessor[id] = 1;
}
