#include <hip/hip_runtime.h>

texture<float, 2, hipReadModeElementType> image;

size_t bytes() { return sizeof image; }
