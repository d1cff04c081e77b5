#include <hip/hip_runtime.h>

bool on_device(const void *p) {
  hipPointerAttribute_t attributes;
  hipPointerGetAttributes(&attributes, p);
  return attributes.type == hipMemoryTypeDevice;
}
