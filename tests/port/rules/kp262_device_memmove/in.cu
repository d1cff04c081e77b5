#include <cstring>
#include <cuda_runtime.h>

__global__ void shift(char *p, int n) {
  memmove(p, p + 1, n);
  std::memmove(p + 1, p, n);
}
