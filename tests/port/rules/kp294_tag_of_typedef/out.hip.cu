#include <hip/hip_runtime.h>

struct Buffers {
  hipGraphicsResource *vertices;
  hipGraphicsResource **all;
};

void unmap(hipGraphicsResource **resources, int count) {
  hipGraphicsUnmapResources(count, resources, 0);
}
