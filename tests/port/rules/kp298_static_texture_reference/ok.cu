#include <cuda_runtime.h>

texture<float, 2, cudaReadModeElementType> image;
static int texture_count = 1;

size_t bytes() { return texture_count * sizeof image; }
