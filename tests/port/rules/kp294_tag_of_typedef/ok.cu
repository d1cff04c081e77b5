#include <cuda_runtime.h>

// The tag is HIP's too, or there is no tag.
int lanes(struct cudaDeviceProp properties) { return properties.warpSize; }
void unmap(cudaGraphicsResource **resources, int count) { cudaGraphicsUnmapResources(count, resources, 0); }
