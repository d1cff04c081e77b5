#include <cstring>
#include <hip/hip_runtime.h>

__global__ void shift(char *p, int n) {
  __builtin_memmove(p, p + 1, n);
  __builtin_memmove(p + 1, p, n);
}
