#include <cuda.h>
#include <cuda_runtime.h>

__host__ __device__ inline uint2 halves(cudaTextureObject_t object) {
  return make_uint2((unsigned)(object & 0xFFFFFFFF), (unsigned)(object >> 32));
}

void pack(char *buffer, size_t offset, CUdeviceptr address, size_t width) {
  *(reinterpret_cast<CUdeviceptr *>(&buffer[offset])) = address;
  *(reinterpret_cast<CUdeviceptr *>(&buffer[offset + 8])) = width;
}
