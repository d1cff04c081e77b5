#include <hip/hip_runtime.h>

typedef short short2v __attribute__((ext_vector_type(2)));

// Dot products of packed bytes and halves: instructions on every target of the list, through portable names.
__global__ void dots(int* out, const int* a, const int* b, const __attribute__((ext_vector_type(2))) _Float16* h) {
  const int i = threadIdx.x;
  const char4 x = *reinterpret_cast<const char4*>(a + i), y = *reinterpret_cast<const char4*>(b + i);
  int sum = amd_mixed_dot(x, y, 0, false);
  sum += amd_mixed_dot(*reinterpret_cast<const short2*>(a + i), *reinterpret_cast<const short2*>(b + i), 1, false);
  out[i] = sum + (int)(h[i].x * h[i].y);
}
