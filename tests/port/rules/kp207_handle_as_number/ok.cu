#include <cuda.h>
#include <cuda_runtime.h>

void keep(cudaTextureObject_t *slots, cudaTextureObject_t object, unsigned long long bits) {
  if (object) slots[0] = object;
  slots[bits & 7] = *reinterpret_cast<cudaTextureObject_t *>(&bits);
}
