#include <hip/hip_runtime.h>

struct Buffers {
  struct _hipGraphicsResource *vertices;
  struct _hipGraphicsResource **all;
};

void unmap(struct _hipGraphicsResource **resources, int count) {
  hipGraphicsUnmapResources(count, resources, 0);
}

struct _hipGraphicsResource;
enum hipExternalMemoryHandleType_enum kind_of(int fd) { return hipExternalMemoryHandleTypeOpaqueFd; }
unsigned flags_of(void) { return hipEnableDefault; }
