#include <cuda_runtime.h>

__global__ void fill(int *out) { out[threadIdx.x] = 1; }

cudaGraphNode_t add(cudaGraph_t graph, int *out) {
  void *arguments[] = {&out};
  cudaGraphNode_t set, node;
  cudaMemsetParams zeros = {out, 0, 0, sizeof(int), 256, 1};
  cudaGraphAddMemsetNode(&set, graph, nullptr, 0, &zeros);
  cudaKernelNodeParams kernel{(void *)fill, dim3(1), dim3(256, 1), 0, arguments};
  cudaGraphAddKernelNode(&node, graph, &set, 1, &kernel);
  return node;
}

cudaAccessPolicyWindow window(void *memory) { return cudaAccessPolicyWindow{memory, 1 << 20, 0.5f, cudaAccessPropertyPersisting, cudaAccessPropertyStreaming}; }
