#include <cuda.h>
#include <cuda_runtime.h>

__host__ __device__ inline uint2 halves(cudaTextureObject_t object) {
  return make_uint2((unsigned)(object & 0xFFFFFFFF), (unsigned)(object >> 32));
}

void pack(char *buffer, size_t offset, CUdeviceptr address, size_t width) {
  *(reinterpret_cast<CUdeviceptr *>(&buffer[offset])) = address;
  *(reinterpret_cast<CUdeviceptr *>(&buffer[offset + 8])) = width;
}

using address_t = CUdeviceptr;
inline address_t address(const void *pointer) { return reinterpret_cast<address_t>(pointer); }
inline CUdeviceptr address_of(const float *__restrict__ values) { return reinterpret_cast<CUdeviceptr>(values); }
inline CUdeviceptr address_of(float *plain) { return reinterpret_cast<CUdeviceptr>(plain); }
