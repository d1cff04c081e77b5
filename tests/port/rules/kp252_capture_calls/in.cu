#include <cuda_runtime.h>

__global__ void kernel(int *p) { *p = 1; }

cudaGraph_t record(cudaStream_t stream) {
  cudaGraph_t graph;
  int *p = nullptr;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
  cudaMalloc(&p, sizeof(int));
  kernel<<<1, 1, 0, stream>>>(p);
  cudaStreamEndCapture(stream, &graph);
  return graph;
}
