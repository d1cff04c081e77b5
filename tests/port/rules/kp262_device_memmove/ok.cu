#include <cstring>
#include <cuda_runtime.h>

void shift(char *p, int n) { memmove(p, p + 1, n); }

__global__ void copy(char *to, const char *from, int n) { memcpy(to, from, n); }
