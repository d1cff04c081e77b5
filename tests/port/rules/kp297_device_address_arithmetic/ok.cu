#include <cuda.h>

// No sums of addresses.
size_t bytes_between(CUdeviceptr first, size_t count) {
  CUdeviceptr last = first;
  size_t offset = count + 4;
  cuMemFree(last);
  return offset;
}
