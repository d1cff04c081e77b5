#include <hip/hip_runtime.h>
#include <hip/hip_runtime.h>

__host__ __device__ inline uint2 halves(hipTextureObject_t object) {
  return make_uint2((unsigned)(reinterpret_cast<unsigned long long>(object) & 0xFFFFFFFF), (unsigned)(reinterpret_cast<unsigned long long>(object) >> 32));
}

void pack(char *buffer, size_t offset, hipDeviceptr_t address, size_t width) {
  *(reinterpret_cast<hipDeviceptr_t *>(&buffer[offset])) = (hipDeviceptr_t)(address);
  *(reinterpret_cast<hipDeviceptr_t *>(&buffer[offset + 8])) = (hipDeviceptr_t)(width);
}

using address_t = hipDeviceptr_t;
inline address_t address(const void *pointer) { return (address_t)(pointer); }
inline hipDeviceptr_t address_of(const float *__restrict__ values) { return (hipDeviceptr_t)(values); }
inline hipDeviceptr_t address_of(float *plain) { return reinterpret_cast<hipDeviceptr_t>(plain); }
