#include <cuda.h>

void copy(CUdeviceptr base, CUdeviceptr *both, size_t bytes, void *host) {
  CUdeviceptr second = base + bytes;
  cuMemcpyDtoH(host, base + 2 * bytes, bytes);
  cuMemcpyDtoH(host, *both + bytes, bytes);
  second += bytes;
  cuMemcpyDtoH(host, second, bytes);
}
