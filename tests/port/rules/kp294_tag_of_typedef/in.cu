#include <cuda_runtime.h>

struct Buffers {
  struct cudaGraphicsResource *vertices;
  struct cudaGraphicsResource **all;
};

void unmap(struct cudaGraphicsResource **resources, int count) {
  cudaGraphicsUnmapResources(count, resources, 0);
}

struct cudaGraphicsResource;
enum cudaExternalMemoryHandleType kind_of(int fd) { return cudaExternalMemoryHandleTypeOpaqueFd; }
enum cudaGetDriverEntryPointFlags flags_of(void) { return cudaEnableDefault; }
