#include <hip/hip_runtime.h>

#include <assert.h>
#include <stdio.h>

__global__ void talk(const int* in, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  assert(n > 0);
  if (i < n && in[i] < 0) printf("element %d is %d (%s, %f, %p)\n", i, in[i], "negative", (double)in[i], (const void*)in);
  if (i > n) abort();
}
