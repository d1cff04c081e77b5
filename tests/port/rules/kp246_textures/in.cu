#include <cuda_runtime.h>

void allocate(cudaMipmappedArray_t *levels, cudaArray_t *faces, const cudaChannelFormatDesc *desc) {
  cudaMallocMipmappedArray(levels, desc, make_cudaExtent(64, 64, 0), 7);
  cudaMalloc3DArray(faces, desc, make_cudaExtent(64, 64, 6), cudaArrayCubemap);
}
