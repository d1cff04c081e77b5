#include <hip/hip_runtime.h>

#include <cstdint>

void release(hipStream_t* streams, int32_t count) {
  int done[count]; __builtin_memset(done, 0, sizeof(done));
  for (int i = 0; i < count; i++) {
    done[i] += hipStreamDestroy(streams[i]) == hipSuccess;
  }
}

float sum(const float* values, size_t n) {
  const size_t half = n;
  float copy[n]; __builtin_memset(copy, 0, sizeof(copy));
  for (size_t i = 0; i < half; i++) copy[i] += values[i];
  return copy[0];
}
