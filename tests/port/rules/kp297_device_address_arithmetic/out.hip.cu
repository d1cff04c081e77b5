#include <hip/hip_runtime.h>

void copy(hipDeviceptr_t base, hipDeviceptr_t *both, size_t bytes, void *host) {
  hipDeviceptr_t second = reinterpret_cast<char*>(base) + bytes;
  hipMemcpyDtoH(host, reinterpret_cast<char*>(base) + 2 * bytes, bytes);
  hipMemcpyDtoH(host, reinterpret_cast<char*>(*both) + bytes, bytes);
  second = reinterpret_cast<char*>(second) + bytes;
  hipMemcpyDtoH(host, second, bytes);
}
