#include <hip/hip_runtime.h>

__global__ void fill(int *out) { out[threadIdx.x] = 1; }

hipGraphNode_t add(hipGraph_t graph, int *out) {
  void *arguments[] = {&out};
  hipGraphNode_t set, node;
  hipMemsetParams zeros = {out, sizeof(int), 1, 0, 0, 256};
  hipGraphAddMemsetNode(&set, graph, nullptr, 0, &zeros);
  hipKernelNodeParams kernel{dim3(256, 1), {}, (void *)fill, dim3(1), arguments, 0};
  hipGraphAddKernelNode(&node, graph, &set, 1, &kernel);
  return node;
}

hipAccessPolicyWindow window(void *memory) { return hipAccessPolicyWindow{memory, hipAccessPropertyPersisting, 0.5f, hipAccessPropertyStreaming, 1 << 20}; }
