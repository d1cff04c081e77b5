#include <cstdio>
#include <cuda_runtime.h>
void show() {
  int version = 0, limit = 3;
  if (version < limit) limit = 2;
  cudaRuntimeGetVersion(&version);
  printf("%d\n", version);
}
