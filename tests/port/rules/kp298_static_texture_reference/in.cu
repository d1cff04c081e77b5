#include <cuda_runtime.h>

static texture<float, 2, cudaReadModeElementType> image;

size_t bytes() { return sizeof image; }
