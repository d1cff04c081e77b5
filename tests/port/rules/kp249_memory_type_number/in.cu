#include <cuda_runtime.h>

bool on_device(const void *p) {
  cudaPointerAttributes attributes;
  cudaPointerGetAttributes(&attributes, p);
  return attributes.type == 2;
}
