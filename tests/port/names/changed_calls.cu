// Functions of CUDA whose arguments HIP changes, called as in CUDA, with results that are checked.
#include <cstdio>
#include <cuda.h>
#include <cuda_runtime.h>

static int failures = 0;
#define CHECK(condition) \
  do { if (!(condition)) { printf("line %d: %s\n", __LINE__, #condition); ++failures; } } while (0)
#define DONE(call) CHECK((int)(call) == 0)

__global__ void add(int* out, int amount) { atomicAdd(out, amount); }
__device__ int of_module;
static size_t four_bytes_a_thread(int threads) { return 4u * threads; }

// The driver's structure of a kernel node has numbers where HIP's has dim3.
static void kernel_nodes(int* out) {
  cudaFunction_t symbol;
  DONE(cudaGetFuncBySymbol(&symbol, (const void*)add));
  CUfunction kernel = (CUfunction)symbol;
  int amount = 3;
  void* arguments[] = {&out, &amount};
  CUDA_KERNEL_NODE_PARAMS params = {};
  params.func = kernel;
  params.gridDimX = 2; params.gridDimY = 1; params.gridDimZ = 1;
  params.blockDimX = 64; params.blockDimY = 1; params.blockDimZ = 1;
  params.kernelParams = arguments;
  CUgraph graph;
  CUgraphNode node, other;
  CUgraphExec exec;
  DONE(cuGraphCreate(&graph, 0));
  DONE(cuGraphAddKernelNode(&node, graph, nullptr, 0, &params));
  DONE(cuGraphAddEmptyNode(&other, graph, nullptr, 0));
  DONE(cuGraphAddDependencies(graph, &node, &other, nullptr, 1));
  size_t count = 4;
  CUgraphNode from[4], to[4];
  CUgraphEdgeData edges[4];
  edges[0].from_port = 9;
  DONE(cuGraphGetEdges(graph, from, to, edges, &count));
  CHECK(count == 1 && from[0] == node && to[0] == other && edges[0].from_port == 0);
  count = 4;
  DONE(cuGraphNodeGetDependencies(other, from, edges, &count));
  CHECK(count == 1 && from[0] == node);
  CUDA_KERNEL_NODE_PARAMS back;
  DONE(cuGraphKernelNodeGetParams(node, &back));
  CHECK(back.gridDimX == 2 && back.blockDimX == 64 && back.blockDimZ == 1);
  DONE(cuGraphInstantiate(&exec, graph, 0));
  DONE(cuGraphLaunch(exec, 0));
  DONE(cuStreamSynchronize(0));
  CHECK(*out == 2 * 64 * 3);
  params.gridDimX = 1;
  amount = 1;
  DONE(cuGraphExecKernelNodeSetParams(exec, node, &params));
  DONE(cuGraphLaunch(exec, 0));
  DONE(cuStreamSynchronize(0));
  CHECK(*out == 2 * 64 * 3 + 64);
  cuuint64_t flags = 7;
  DONE(cuGraphExecGetFlags(exec, &flags));
  CHECK(flags == 0);
  CUgraphExecUpdateResultInfo said;
  DONE(cuGraphExecUpdate(exec, graph, &said));
  CHECK(said.result == CU_GRAPH_EXEC_UPDATE_SUCCESS);
  edges[0].from_port = 1;  // no edge of HIP's
  CHECK(cuGraphRemoveDependencies(graph, &node, &other, edges, 1) != CUDA_SUCCESS);
}

static void capture(int* out) {
  cudaStream_t stream;
  DONE(cudaStreamCreate(&stream));
  DONE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  add<<<1, 32, 0, stream>>>(out, 1);
  cudaStreamCaptureStatus status;
  unsigned long long id = 0;
  cudaGraph_t graph;
  const cudaGraphNode_t* nodes;
  const cudaGraphEdgeData* edges;
  size_t count = 0;
  DONE(cudaStreamGetCaptureInfo(stream, &status, &id, &graph, &nodes, &edges, &count));
  CHECK(status == cudaStreamCaptureStatusActive && count == 1);
  cuuint64_t driver_id = 0;
  CUstreamCaptureStatus driver_status;
  DONE(cuStreamGetCaptureInfo_v2(stream, &driver_status, &driver_id, nullptr, nullptr, nullptr));
  CHECK(driver_id == id);
  DONE(cudaStreamEndCapture(stream, &graph));
  cudaGraphExec_t exec;
  DONE(cudaGraphInstantiate(&exec, graph));
  cudaGraphExecUpdateResultInfo said;
  DONE(cudaGraphExecUpdate(exec, graph, &said));
  CHECK(said.result == cudaGraphExecUpdateSuccess);
  cudaEvent_t event;
  DONE(cudaEventCreate(&event, cudaEventDisableTiming));
}

static void copies(int* out) {
  CUcontext context;
  CUdevice device = 9;
  int *from, *to, got = 0;
  DONE(cuCtxGetCurrent(&context));
  DONE(cudaMalloc(&from, 256));
  DONE(cudaMalloc(&to, 256));
  DONE(cudaMemset(from, 1, 256));
  DONE(cuMemcpyPeer((CUdeviceptr)to, context, (CUdeviceptr)from, context, 256));
  DONE(cudaMemcpy(&got, to + 63, 4, cudaMemcpyDeviceToHost));
  CHECK(got == 0x01010101);
  DONE(cuCtxGetDevice_v2(&device, context));
  CHECK(device == 0);
  DONE(cudaMemset(from, 2, 256));
  cudaMemcpy3DPeerParms params = {};
  params.srcPtr = make_cudaPitchedPtr(from, 256, 256, 1);
  params.dstPtr = make_cudaPitchedPtr(to, 256, 256, 1);
  params.extent = make_cudaExtent(256, 1, 1);
  const cudaMemcpy3DPeerParms* fixed = &params;
  DONE(cudaMemcpy3DPeer(fixed));
  DONE(cudaMemcpy(&got, to + 63, 4, cudaMemcpyDeviceToHost));
  CHECK(got == 0x02020202);
}

static void occupancy() {
  cudaFunction_t kernel;
  DONE(cudaGetFuncBySymbol(&kernel, (const void*)add));
  int plain_grid = 0, plain_block = 0, grid = 0, block = 0;
  DONE(cuOccupancyMaxPotentialBlockSize(&plain_grid, &plain_block, (CUfunction)kernel, nullptr, 0, 0));
  DONE(cuOccupancyMaxPotentialBlockSize(&grid, &block, (CUfunction)kernel, four_bytes_a_thread, 0, 512));
  CHECK(plain_block > 0 && plain_grid > 0 && block > 0 && block <= 512 && grid > 0);
}

// Flags are numbers in HIP.
static void flags_and_types() {
  CUevent_flags how = CU_EVENT_DISABLE_TIMING;
  CUevent event;
  DONE(cuEventCreate(&event, how));
  enum CUstream_flags_enum kind = CU_STREAM_NON_BLOCKING;
  CUstream stream;
  DONE(cuStreamCreate(&stream, kind));
  cudaDeviceProp prop;
  DONE(cudaGetDeviceProperties(&prop, 0));
  CHECK(prop.sparseCudaArraySupported == 0);
}

int main() {
  int* out;
  DONE(cudaMallocManaged(&out, sizeof(int)));
  *out = 0;
  kernel_nodes(out);
  capture(out);
  copies(out);
  occupancy();
  flags_and_types();
  if (failures == 0) printf("all as in CUDA\n");
  return failures != 0;
}
