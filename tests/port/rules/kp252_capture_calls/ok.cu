#include <cuda_runtime.h>

__global__ void kernel(int *p) { *p = 1; }

cudaGraph_t record(cudaStream_t stream) {
  cudaGraph_t graph;
  int *p = nullptr;
  cudaMalloc(&p, sizeof(int));
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
  kernel<<<1, 1, 0, stream>>>(p);
  cudaStreamEndCapture(stream, &graph);
  cudaFree(p);
  return graph;
}
