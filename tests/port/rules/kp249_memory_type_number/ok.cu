#include <cuda_runtime.h>

struct Shape {
  int type;
};

bool on_device(const void *p, Shape shape) {
  cudaPointerAttributes attributes;
  cudaPointerGetAttributes(&attributes, p);
  return attributes.type == cudaMemoryTypeDevice && shape.type == 2;
}
