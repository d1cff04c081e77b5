#include <cuda_runtime.h>

// Every C++ form of the runtime's functions that cuda_runtime.h gives beside the C one.
__constant__ float table[4];
__device__ float scalar;
__global__ void kernel(float *p, int n) {}
static void destroy(void *object) {}
struct Bytes { size_t operator()(int threads) const { return threads * 4; } };

int allocations(cudaStream_t stream, cudaMemPool_t pool) {
  float *p; size_t pitch;
  return cudaMalloc(&p, 4) | cudaMallocHost(&p, 4) | cudaMallocHost(&p, 4, cudaHostAllocMapped) |
         cudaHostAlloc(&p, 4, cudaHostAllocDefault) | cudaHostGetDevicePointer(&p, p, 0) | cudaMallocManaged(&p, 4) |
         cudaMallocManaged(&p, 4, cudaMemAttachGlobal) | cudaMallocPitch(&p, &pitch, 4, 4) |
         cudaMallocAsync(&p, 4, stream) | cudaMallocAsync(&p, 4, pool, stream) |
         cudaMallocFromPoolAsync(&p, 4, pool, stream) | cudaStreamAttachMemAsync(stream, p) |
         cudaStreamAttachMemAsync(stream, p, 0, cudaMemAttachSingle);
}

int symbols(cudaStream_t stream) {
  float h[4]; void *address; float *typed; size_t size;
  return cudaMemcpyToSymbol(table, h, 16) | cudaMemcpyToSymbol(scalar, h, 4, 0, cudaMemcpyHostToDevice) |
         cudaMemcpyToSymbolAsync(table, h, 16, 0, cudaMemcpyHostToDevice, stream) | cudaMemcpyFromSymbol(h, table, 16) |
         cudaMemcpyFromSymbolAsync(h, scalar, 4, 0, cudaMemcpyDeviceToHost, stream) |
         cudaGetSymbolAddress(&address, table) | cudaGetSymbolAddress((void **)&typed, scalar) |
         cudaGetSymbolSize(&size, table);
}

int graphs(cudaGraph_t graph, cudaGraphExec_t exec, cudaGraphNode_t node) {
  float h[4]; cudaUserObject_t object; char log[64];
  return cudaGraphAddMemcpyNodeToSymbol(&node, graph, nullptr, 0, scalar, h, 4, 0, cudaMemcpyHostToDevice) |
         cudaGraphAddMemcpyNodeFromSymbol(&node, graph, nullptr, 0, h, table, 16, 0, cudaMemcpyDeviceToHost) |
         cudaGraphMemcpyNodeSetParamsToSymbol(node, table, h, 16, 0, cudaMemcpyHostToDevice) |
         cudaGraphMemcpyNodeSetParamsFromSymbol(node, h, scalar, 4, 0, cudaMemcpyDeviceToHost) |
         cudaGraphExecMemcpyNodeSetParamsToSymbol(exec, node, scalar, h, 4, 0, cudaMemcpyHostToDevice) |
         cudaGraphExecMemcpyNodeSetParamsFromSymbol(exec, node, h, table, 16, 0, cudaMemcpyDeviceToHost) |
         cudaGraphInstantiate(&exec, graph) | cudaGraphInstantiate(&exec, graph, 0) |
         cudaGraphInstantiate(&exec, graph, &node, log, sizeof log) |
         cudaUserObjectCreate(&object, h, destroy, 1, cudaUserObjectNoDestructorSync) |
         cudaUserObjectCreate(&object, new Bytes, 1, cudaUserObjectNoDestructorSync);
}

int kernels(cudaStream_t stream) {
  cudaFuncAttributes attributes; cudaEvent_t event; float *p = nullptr; int n = 1; void *args[] = {&p, &n};
  return cudaFuncGetAttributes(&attributes, kernel) | cudaFuncSetCacheConfig(kernel, cudaFuncCachePreferL1) |
         cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 1024) |
         cudaLaunchKernel(kernel, 1, 1, args) | cudaLaunchKernel(kernel, 1, 1, args, 0, stream) |
         cudaLaunchKernel((const void *)kernel, dim3(1), dim3(1), args, 0, stream) |
         cudaLaunchCooperativeKernel(kernel, 1, 1, args) |
         cudaLaunchCooperativeKernel(kernel, dim3(1), dim3(1), args, 0, stream) |
         cudaEventCreate(&event, cudaEventDisableTiming);
}

int occupancies() {
  int blocks, threads;
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 64, 0) |
         cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, kernel, 64, 0, cudaOccupancyDefault) |
         cudaOccupancyMaxPotentialBlockSize(&blocks, &threads, kernel) |
         cudaOccupancyMaxPotentialBlockSize(&blocks, &threads, kernel, 0, 256) |
         cudaOccupancyMaxPotentialBlockSizeWithFlags(&blocks, &threads, kernel, 0, 0, cudaOccupancyDefault) |
         cudaOccupancyMaxPotentialBlockSizeVariableSMem(&blocks, &threads, kernel, Bytes()) |
         cudaOccupancyMaxPotentialBlockSizeVariableSMemWithFlags(&blocks, &threads, kernel, Bytes(), 0, 0);
}
