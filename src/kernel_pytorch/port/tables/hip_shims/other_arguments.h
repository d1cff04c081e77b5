// Functions that HIP has with other arguments than CUDA. `name(5)`: for a file that calls it with five arguments;
// `name(arguments)`: for every file that uses it.

//: cudaEventCreate(2)
static inline hipError_t hipEventCreate(hipEvent_t* event, unsigned flags) { return hipEventCreateWithFlags(event, flags); }
//: cudaMemcpyToSymbolAsync(3) cudaMemcpyToSymbolAsync(4) cudaMemcpyFromSymbolAsync(3) cudaMemcpyFromSymbolAsync(4)
// CUDA's have defaults for offset, direction and stream; HIP's only for the stream.
template <typename T>
static inline hipError_t hipMemcpyToSymbolAsync(const T& symbol, const void* from, size_t bytes, size_t offset = 0) {
  return hipMemcpyToSymbolAsync(symbol, from, bytes, offset, hipMemcpyHostToDevice);
}
template <typename T>
static inline hipError_t hipMemcpyFromSymbolAsync(void* to, const T& symbol, size_t bytes, size_t offset = 0) {
  return hipMemcpyFromSymbolAsync(to, symbol, bytes, offset, hipMemcpyDeviceToHost);
}
//: cudaGraphInstantiate(2) cudaGraphInstantiate(3) cuGraphInstantiate(3)
// From CUDA 12 on the third argument is a set of flags; HIP calls that hipGraphInstantiateWithFlags.
static inline hipError_t hipGraphInstantiate(hipGraphExec_t* made, hipGraph_t graph, unsigned long long flags = 0) {
  return hipGraphInstantiateWithFlags(made, graph, flags);
}
//: cudaUserObjectCreate(4)
template <class T>
static inline hipError_t hipUserObjectCreate(hipUserObject_t* made, T* object, unsigned references, unsigned flags) {
  return hipUserObjectCreate(made, object, [](void* one) { delete static_cast<T*>(one); }, references, flags);
}
//: cudaLaunchCooperativeKernel(4) cudaLaunchCooperativeKernel(5)
static inline hipError_t hipLaunchCooperativeKernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
    size_t bytes = 0) {
  return hipLaunchCooperativeKernel(kernel, grid, block, arguments, (unsigned)bytes, (hipStream_t)0);
}
//: cudaGraphExecUpdateResultInfo cudaGraphExecUpdateResultInfo_st CUgraphExecUpdateResultInfo CUgraphExecUpdateResultInfo_st CUgraphExecUpdateResultInfo_v1
// CUDA 12 puts what an update says into one structure; HIP's has two pointers for it.
struct cudaGraphExecUpdateResultInfo_st { hipGraphExecUpdateResult result; hipGraphNode_t errorNode, errorFromNode; };
typedef struct cudaGraphExecUpdateResultInfo_st cudaGraphExecUpdateResultInfo, CUgraphExecUpdateResultInfo,
    CUgraphExecUpdateResultInfo_st, CUgraphExecUpdateResultInfo_v1;
static inline hipError_t hipGraphExecUpdate(hipGraphExec_t made, hipGraph_t graph, cudaGraphExecUpdateResultInfo* info) {
  info->errorFromNode = nullptr;
  return hipGraphExecUpdate(made, graph, &info->errorNode, &info->result);
}
//: cudaGraphExecMemcpyNodeSetParams(arguments)
static inline hipError_t hipGraphExecMemcpyNodeSetParams(hipGraphExec_t made, hipGraphNode_t node, const hipMemcpy3DParms* copy) {
  return hipGraphExecMemcpyNodeSetParams(made, node, const_cast<hipMemcpy3DParms*>(copy));
}
//: cudaMemcpy3DPeer(arguments) cudaMemcpy3DPeerAsync(arguments)
static inline hipError_t hipMemcpy3DPeer(const hipMemcpy3DPeerParms* copy) {
  return hipMemcpy3DPeer(const_cast<hipMemcpy3DPeerParms*>(copy));
}
static inline hipError_t hipMemcpy3DPeerAsync(const hipMemcpy3DPeerParms* copy, hipStream_t stream = nullptr) {
  return hipMemcpy3DPeerAsync(const_cast<hipMemcpy3DPeerParms*>(copy), stream);
}
//: cuMipmappedArrayCreate(arguments)
static inline hipError_t hipMipmappedArrayCreate(hipMipmappedArray_t* made, const HIP_ARRAY3D_DESCRIPTOR* shape, unsigned levels) {
  return hipMipmappedArrayCreate(made, const_cast<HIP_ARRAY3D_DESCRIPTOR*>(shape), levels);
}
//: cuGraphBatchMemOpNodeSetParams(arguments)
static inline hipError_t hipGraphBatchMemOpNodeSetParams(hipGraphNode_t node, const hipBatchMemOpNodeParams* operations) {
  return hipGraphBatchMemOpNodeSetParams(node, const_cast<hipBatchMemOpNodeParams*>(operations));
}
//: cuGraphExecGetFlags(arguments)
// cuuint64_t is unsigned long, which no pointer to unsigned long long converts from.
static inline hipError_t hipGraphExecGetFlags(hipGraphExec_t made, unsigned long* flags) {
  return hipGraphExecGetFlags(made, reinterpret_cast<unsigned long long*>(flags));
}
//: cudaStreamGetCaptureInfo(7) cudaStreamGetCaptureInfo_v3(arguments) cuStreamGetCaptureInfo_v3(arguments) cuStreamGetCaptureInfo(arguments) cuStreamGetCaptureInfo_v2(arguments) cudaGraphAddDependencies(5) cudaGraphAddDependencies_v2(arguments) cuGraphAddDependencies(5) cuGraphAddDependencies_v2(arguments) cudaGraphRemoveDependencies(5) cudaGraphRemoveDependencies_v2(arguments) cuGraphRemoveDependencies(5) cuGraphRemoveDependencies_v2(arguments) cudaGraphAddNode(6) cudaGraphAddNode_v2(arguments) cuGraphAddNode(6) cuGraphAddNode_v2(arguments) cuGraphAddNode_v3(arguments) cudaGraphGetEdges(5) cudaGraphGetEdges_v2(arguments) cuGraphGetEdges(5) cuGraphGetEdges_v2(arguments) cudaGraphNodeGetDependencies(4) cudaGraphNodeGetDependencies_v2(arguments) cuGraphNodeGetDependencies(4) cuGraphNodeGetDependencies_v2(arguments) cudaGraphNodeGetDependentNodes(4) cudaGraphNodeGetDependentNodes_v2(arguments) cuGraphNodeGetDependentNodes(4) cuGraphNodeGetDependentNodes_v2(arguments) cudaStreamUpdateCaptureDependencies(5) cudaStreamUpdateCaptureDependencies_v2(arguments) cuStreamUpdateCaptureDependencies(5) cuStreamUpdateCaptureDependencies_v2(arguments)
// CUDA 12.3 gave the edges of a graph data, HIP's edges have none. All zero is an edge of HIP's; others are refused, and
// all edges that are asked for are zero.
static inline bool kpt_plain_edges(const hipGraphEdgeData* edges, size_t count) {
  for (size_t at = 0; edges != nullptr && at < count * sizeof(*edges); ++at) {
    if (reinterpret_cast<const char*>(edges)[at] != 0) return false;
  }
  return true;
}
static inline void kpt_zero_edges(hipGraphEdgeData* edges, const size_t* count) {
  if (edges != nullptr && count != nullptr) __builtin_memset(edges, 0, *count * sizeof(*edges));
}
static inline hipError_t hipGraphAddDependencies(hipGraph_t graph, const hipGraphNode_t* from, const hipGraphNode_t* to,
                                                 const hipGraphEdgeData* edges, size_t count) {
  return kpt_plain_edges(edges, count) ? hipGraphAddDependencies(graph, from, to, count) : hipErrorNotSupported;
}
static inline hipError_t hipGraphRemoveDependencies(hipGraph_t graph, const hipGraphNode_t* from, const hipGraphNode_t* to,
                                                    const hipGraphEdgeData* edges, size_t count) {
  return kpt_plain_edges(edges, count) ? hipGraphRemoveDependencies(graph, from, to, count) : hipErrorNotSupported;
}
static inline hipError_t hipGraphAddNode(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* after,
                                         const hipGraphEdgeData* edges, size_t count, hipGraphNodeParams* params) {
  return kpt_plain_edges(edges, count) ? hipGraphAddNode(node, graph, after, count, params) : hipErrorNotSupported;
}
static inline hipError_t hipStreamUpdateCaptureDependencies(hipStream_t stream, hipGraphNode_t* nodes,
                                                            const hipGraphEdgeData* edges, size_t count, unsigned flags) {
  return kpt_plain_edges(edges, count) ? hipStreamUpdateCaptureDependencies(stream, nodes, count, flags) : hipErrorNotSupported;
}
static inline hipError_t hipGraphGetEdges(hipGraph_t graph, hipGraphNode_t* from, hipGraphNode_t* to, hipGraphEdgeData* edges,
                                          size_t* count) {
  const hipError_t status = hipGraphGetEdges(graph, from, to, count);
  if (status == hipSuccess && from != nullptr) kpt_zero_edges(edges, count);
  return status;
}
static inline hipError_t hipGraphNodeGetDependencies(hipGraphNode_t node, hipGraphNode_t* found, hipGraphEdgeData* edges,
                                                     size_t* count) {
  const hipError_t status = hipGraphNodeGetDependencies(node, found, count);
  if (status == hipSuccess && found != nullptr) kpt_zero_edges(edges, count);
  return status;
}
static inline hipError_t hipGraphNodeGetDependentNodes(hipGraphNode_t node, hipGraphNode_t* found, hipGraphEdgeData* edges,
                                                       size_t* count) {
  const hipError_t status = hipGraphNodeGetDependentNodes(node, found, count);
  if (status == hipSuccess && found != nullptr) kpt_zero_edges(edges, count);
  return status;
}
static inline hipError_t hipStreamGetCaptureInfo_v2(hipStream_t stream, hipStreamCaptureStatus* status, unsigned long* id,
                                                    hipGraph_t* graph = nullptr, const hipGraphNode_t** nodes = nullptr,
                                                    size_t* count = nullptr) {
  return hipStreamGetCaptureInfo_v2(stream, status, reinterpret_cast<unsigned long long*>(id), graph, nodes, count);
}
static inline hipError_t hipStreamGetCaptureInfo(hipStream_t stream, hipStreamCaptureStatus* status, unsigned long* id) {
  return hipStreamGetCaptureInfo(stream, status, reinterpret_cast<unsigned long long*>(id));
}
template <typename ID>
static inline hipError_t hipStreamGetCaptureInfo(hipStream_t stream, hipStreamCaptureStatus* status, ID* id, hipGraph_t* graph,
                                                 const hipGraphNode_t** nodes, size_t* count) {
  return hipStreamGetCaptureInfo_v2(stream, status, reinterpret_cast<unsigned long long*>(id), graph, nodes, count);
}
template <typename ID>
static inline hipError_t hipStreamGetCaptureInfo(hipStream_t stream, hipStreamCaptureStatus* status, ID* id, hipGraph_t* graph,
                                                 const hipGraphNode_t** nodes, const hipGraphEdgeData** edges, size_t* count) {
  // HIP keeps no list of edges to point at.
  if (edges != nullptr) *edges = nullptr;
  return hipStreamGetCaptureInfo_v2(stream, status, reinterpret_cast<unsigned long long*>(id), graph, nodes, count);
}
//: CUDA_KERNEL_NODE_PARAMS CUDA_KERNEL_NODE_PARAMS_st CUDA_KERNEL_NODE_PARAMS_v1 CUDA_KERNEL_NODE_PARAMS_v2 CUDA_KERNEL_NODE_PARAMS_v2_st CUDA_KERNEL_NODE_PARAMS_v3 CUDA_KERNEL_NODE_PARAMS_v3_st
// The driver's structure has six numbers where the runtime's, which HIP has alone, has two dim3.
struct CUDA_KERNEL_NODE_PARAMS_st {
  hipFunction_t func;
  unsigned int gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
  void **kernelParams, **extra;
#if HIP_VERSION >= 70100000
  hipKernel_t kern;
#else
  hipFunction_t kern;
#endif
  hipCtx_t ctx;
};
typedef struct CUDA_KERNEL_NODE_PARAMS_st CUDA_KERNEL_NODE_PARAMS, CUDA_KERNEL_NODE_PARAMS_v1, CUDA_KERNEL_NODE_PARAMS_v2,
    CUDA_KERNEL_NODE_PARAMS_v2_st, CUDA_KERNEL_NODE_PARAMS_v3, CUDA_KERNEL_NODE_PARAMS_v3_st;
static inline hipKernelNodeParams kpt_kernel_node(const CUDA_KERNEL_NODE_PARAMS* given) {
  hipKernelNodeParams made = {};
  made.func = given->func != nullptr ? (void*)given->func : (void*)given->kern;
  made.gridDim = dim3(given->gridDimX, given->gridDimY, given->gridDimZ);
  made.blockDim = dim3(given->blockDimX, given->blockDimY, given->blockDimZ);
  made.sharedMemBytes = given->sharedMemBytes;
  made.kernelParams = given->kernelParams;
  made.extra = given->extra;
  return made;
}
static inline hipError_t hipGraphAddKernelNode(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* after, size_t count,
                                               const CUDA_KERNEL_NODE_PARAMS* given) {
  const hipKernelNodeParams made = kpt_kernel_node(given);
  return hipGraphAddKernelNode(node, graph, after, count, &made);
}
static inline hipError_t hipGraphKernelNodeSetParams(hipGraphNode_t node, const CUDA_KERNEL_NODE_PARAMS* given) {
  const hipKernelNodeParams made = kpt_kernel_node(given);
  return hipGraphKernelNodeSetParams(node, &made);
}
static inline hipError_t hipGraphExecKernelNodeSetParams(hipGraphExec_t graph, hipGraphNode_t node,
                                                         const CUDA_KERNEL_NODE_PARAMS* given) {
  const hipKernelNodeParams made = kpt_kernel_node(given);
  return hipGraphExecKernelNodeSetParams(graph, node, &made);
}
static inline hipError_t hipGraphKernelNodeGetParams(hipGraphNode_t node, CUDA_KERNEL_NODE_PARAMS* given) {
  hipKernelNodeParams made = {};
  const hipError_t status = hipGraphKernelNodeGetParams(node, &made);
  *given = {reinterpret_cast<hipFunction_t>(made.func), made.gridDim.x, made.gridDim.y, made.gridDim.z, made.blockDim.x,
            made.blockDim.y, made.blockDim.z, made.sharedMemBytes, made.kernelParams, made.extra, nullptr, nullptr};
  return status;
}
//: cudaMemcpy3DBatchAsync(4) cuMemcpy3DBatchAsync(4) cuMemcpy3DBatchAsync_v2(arguments)
// CUDA 13 dropped the index of the copy that failed.
static inline hipError_t hipMemcpy3DBatchAsync(size_t count, hipMemcpy3DBatchOp* copies, unsigned long long flags,
                                               hipStream_t stream) {
  size_t failed = 0;
  return hipMemcpy3DBatchAsync(count, copies, &failed, flags, stream);
}
//: cudaMemcpyBatchAsync(8) cuMemcpyBatchAsync(8) cuMemcpyBatchAsync_v2(arguments)
// CUDA 13 dropped the index of the copy that failed.
template <typename To, typename From, typename Bytes>
static inline hipError_t hipMemcpyBatchAsync(To to, From from, Bytes bytes, size_t count, hipMemcpyAttributes* attributes,
                                             size_t* places, size_t given, hipStream_t stream) {
  size_t failed = 0;
  return hipMemcpyBatchAsync((void**)to, (void**)from, (size_t*)bytes, count, attributes, places, given, &failed, stream);
}
//: cudaGetDriverEntryPoint(3)
static inline hipError_t hipGetDriverEntryPoint(const char* name, void** function, unsigned long long flags) {
  return hipGetDriverEntryPoint(name, function, flags, nullptr);
}
//: cuGetProcAddress(4) cuGetProcAddress_ptsz(arguments)
static inline hipError_t hipGetProcAddress(const char* name, void** function, int version, unsigned long long flags) {
  return hipGetProcAddress(name, function, version, flags, nullptr);
}
//: cuCtxGetDevice_v2(arguments) cuCtxSynchronize_v2(arguments) cuMemcpyPeer(arguments) cuMemcpyPeerAsync(arguments)
// CUDA's name a context where HIP's use the current one, or the number of a device.
struct kpt_current_context {
  explicit kpt_current_context(hipCtx_t context) { (void)hipCtxPushCurrent(context); }
  ~kpt_current_context() { hipCtx_t last = nullptr; (void)hipCtxPopCurrent(&last); }
};
static inline hipError_t hipCtxGetDevice(hipDevice_t* device, hipCtx_t context) {
  const kpt_current_context current(context);
  return hipCtxGetDevice(device);
}
static inline hipError_t hipCtxSynchronize(hipCtx_t context) {
  const kpt_current_context current(context);
  return hipCtxSynchronize();
}
static inline hipError_t hipMemcpyPeer(void* to, hipCtx_t to_context, const void* from, hipCtx_t from_context, size_t bytes) {
  hipDevice_t first = 0, second = 0;
  hipError_t status = hipCtxGetDevice(&first, to_context);
  if (status == hipSuccess) status = hipCtxGetDevice(&second, from_context);
  return status == hipSuccess ? hipMemcpyPeer(to, static_cast<int>(first), from, static_cast<int>(second), bytes) : status;
}
static inline hipError_t hipMemcpyPeerAsync(void* to, hipCtx_t to_context, const void* from, hipCtx_t from_context, size_t bytes,
                                            hipStream_t stream) {
  hipDevice_t first = 0, second = 0;
  hipError_t status = hipCtxGetDevice(&first, to_context);
  if (status == hipSuccess) status = hipCtxGetDevice(&second, from_context);
  return status == hipSuccess
             ? hipMemcpyPeerAsync(to, static_cast<int>(first), from, static_cast<int>(second), bytes, stream)
             : status;
}
//: CUoccupancyB2DSize cuOccupancyMaxPotentialBlockSize(arguments) cuOccupancyMaxPotentialBlockSizeWithFlags(arguments)
// CUDA's can ask a function how much shared memory a block of some size needs; HIP's take one number for all sizes.
typedef size_t (*CUoccupancyB2DSize)(int);
static inline hipError_t hipModuleOccupancyMaxPotentialBlockSize(int* grid, int* block, hipFunction_t kernel,
                                                                 CUoccupancyB2DSize bytes_for, size_t bytes, int limit) {
  if (bytes_for == nullptr) return hipModuleOccupancyMaxPotentialBlockSize(grid, block, kernel, bytes, limit);
  int device = 0, processors = 0, most = 0, best = 0;
  hipError_t status = hipGetDevice(&device);
  if (status == hipSuccess) {
    status = hipDeviceGetAttribute(&processors, hipDeviceAttributeMultiprocessorCount, device);
  }
  if (status == hipSuccess) status = hipFuncGetAttribute(&most, HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, kernel);
  if (limit > 0 && limit < most) most = limit;
  for (int size = most; status == hipSuccess && size > 0; size = size % 32 != 0 ? size - size % 32 : size - 32) {
    int blocks = 0;
    status = hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, size, bytes_for(size));
    if (blocks * size > best) { best = blocks * size; *block = size; *grid = blocks * processors; }
  }
  return status;
}
static inline hipError_t hipModuleOccupancyMaxPotentialBlockSizeWithFlags(int* grid, int* block, hipFunction_t kernel,
    CUoccupancyB2DSize bytes_for, size_t bytes, int limit, unsigned flags) {
  if (bytes_for != nullptr) return hipModuleOccupancyMaxPotentialBlockSize(grid, block, kernel, bytes_for, bytes, limit);
  return hipModuleOccupancyMaxPotentialBlockSizeWithFlags(grid, block, kernel, bytes, limit, flags);
}
//: cuTexRefSetAddressMode(arguments) cuTexRefGetAddressMode(arguments) cuTexRefSetFilterMode(arguments) cuTexRefGetFilterMode(arguments) cuTexRefSetMipmapFilterMode(arguments) cuTexRefGetMipmapFilterMode(arguments)
// HIP's driver has enumerations of its own for texture objects; its texture references take the runtime's. Same values.
static inline hipError_t hipTexRefSetAddressMode(textureReference* texture, int dimension, HIPaddress_mode mode) {
  return hipTexRefSetAddressMode(texture, dimension, static_cast<hipTextureAddressMode>(mode));
}
static inline hipError_t hipTexRefGetAddressMode(HIPaddress_mode* mode, const textureReference* texture, int dimension) {
  return hipTexRefGetAddressMode(reinterpret_cast<hipTextureAddressMode*>(mode), texture, dimension);
}
static inline hipError_t hipTexRefSetFilterMode(textureReference* texture, HIPfilter_mode mode) {
  return hipTexRefSetFilterMode(texture, static_cast<hipTextureFilterMode>(mode));
}
static inline hipError_t hipTexRefGetFilterMode(HIPfilter_mode* mode, const textureReference* texture) {
  return hipTexRefGetFilterMode(reinterpret_cast<hipTextureFilterMode*>(mode), texture);
}
static inline hipError_t hipTexRefSetMipmapFilterMode(textureReference* texture, HIPfilter_mode mode) {
  return hipTexRefSetMipmapFilterMode(texture, static_cast<hipTextureFilterMode>(mode));
}
static inline hipError_t hipTexRefGetMipmapFilterMode(HIPfilter_mode* mode, const textureReference* texture) {
  return hipTexRefGetMipmapFilterMode(reinterpret_cast<hipTextureFilterMode*>(mode), texture);
}
//: cublasSgetriBatched(arguments) cublasDgetriBatched(arguments) cublasCgetriBatched(arguments) cublasZgetriBatched(arguments) cublasSgetrsBatched(arguments) cublasDgetrsBatched(arguments) cublasCgetrsBatched(arguments) cublasZgetrsBatched(arguments) < hipblas/hipblas.h
#define KPT_GETRI_GETRS(LETTER, TYPE)                                                                                       \
  static inline hipblasStatus_t hipblas##LETTER##getriBatched(hipblasHandle_t handle, int n, const TYPE* const* a, int lda,  \
      const int* pivots, TYPE* const* c, int ldc, int* info, int count) {                                                   \
    return hipblas##LETTER##getriBatched(handle, n, (TYPE* const*)a, lda, (int*)pivots, c, ldc, info, count);               \
  }                                                                                                                         \
  static inline hipblasStatus_t hipblas##LETTER##getrsBatched(hipblasHandle_t handle, hipblasOperation_t form, int n,        \
      int nrhs, const TYPE* const* a, int lda, const int* pivots, TYPE* const* b, int ldb, int* info, int count) {          \
    return hipblas##LETTER##getrsBatched(handle, form, n, nrhs, (TYPE* const*)a, lda, pivots, b, ldb, info, count);         \
  }
KPT_GETRI_GETRS(S, float)
KPT_GETRI_GETRS(D, double)
KPT_GETRI_GETRS(C, hipComplex)
KPT_GETRI_GETRS(Z, hipDoubleComplex)
#undef KPT_GETRI_GETRS
//: cublasGemmBatchedEx(arguments) cublasGemmBatchedEx_64(arguments) < hipblas/hipblas.h
#define KPT_GEMM_BATCHED_EX(NAME, INT)                                                                                      \
  static inline hipblasStatus_t NAME(hipblasHandle_t handle, hipblasOperation_t ta, hipblasOperation_t tb, INT m, INT n,    \
      INT k, const void* alpha, const void* const* a, hipDataType at, INT lda, const void* const* b, hipDataType bt,        \
      INT ldb, const void* beta, void* const* c, hipDataType ct, INT ldc, INT count, hipblasComputeType_t compute,          \
      hipblasGemmAlgo_t algo) {                                                                                             \
    return NAME(handle, ta, tb, m, n, k, alpha, (const void**)a, at, lda, (const void**)b, bt, ldb, beta, (void**)c, ct,    \
                ldc, count, compute, algo);                                                                                 \
  }
KPT_GEMM_BATCHED_EX(hipblasGemmBatchedEx, int)
KPT_GEMM_BATCHED_EX(hipblasGemmBatchedEx_64, int64_t)
#undef KPT_GEMM_BATCHED_EX
//: curandGetScrambleConstants32(arguments) curandGetScrambleConstants64(arguments) < hiprand/hiprand.h
static inline hiprandStatus_t hiprandGetScrambleConstants32(unsigned int** constants) {
  return hiprandGetScrambleConstants32(const_cast<const unsigned int**>(constants));
}
static inline hiprandStatus_t hiprandGetScrambleConstants64(unsigned long long** constants) {
  return hiprandGetScrambleConstants64(const_cast<const unsigned long long**>(constants));
}
//: cufftGetProperty(arguments) < hipfft/hipfft.h hip/library_types.h
static inline hipfftResult hipfftGetProperty(hipLibraryPropertyType what, int* value) {
  return hipfftGetProperty(static_cast<hipfftLibraryPropertyType>(what), value);
}
//: cusparseSpVV_bufferSize(arguments) < hipsparse/hipsparse.h
static inline hipsparseStatus_t hipsparseSpVV_bufferSize(hipsparseHandle_t handle, hipsparseOperation_t form,
    hipsparseConstSpVecDescr_t x, hipsparseConstDnVecDescr_t y, const void* result, hipDataType type, size_t* bytes) {
  return hipsparseSpVV_bufferSize(handle, form, x, y, const_cast<void*>(result), type, bytes);
}
//: cusparseScsr2gebsr_bufferSize(arguments) cusparseDcsr2gebsr_bufferSize(arguments) cusparseCcsr2gebsr_bufferSize(arguments) cusparseZcsr2gebsr_bufferSize(arguments) cusparseSgebsr2gebsc_bufferSize(arguments) cusparseDgebsr2gebsc_bufferSize(arguments) cusparseCgebsr2gebsc_bufferSize(arguments) cusparseZgebsr2gebsc_bufferSize(arguments) < hipsparse/hipsparse.h
// cuSPARSE counts the bytes of these buffers in an int, hipSPARSE in a size_t.
#define KPT_GEBSR_BUFFERS(LETTER, TYPE)                                                                                     \
  static inline hipsparseStatus_t hipsparse##LETTER##csr2gebsr_bufferSize(hipsparseHandle_t handle,                         \
      hipsparseDirection_t order, int m, int n, const hipsparseMatDescr_t shape, const TYPE* values, const int* rows,       \
      const int* columns, int height, int width, int* bytes) {                                                              \
    size_t needed = 0;                                                                                                      \
    const hipsparseStatus_t status = hipsparse##LETTER##csr2gebsr_bufferSize(handle, order, m, n, shape, values, rows,      \
                                                                             columns, height, width, &needed);              \
    *bytes = static_cast<int>(needed);                                                                                      \
    return status;                                                                                                          \
  }                                                                                                                         \
  static inline hipsparseStatus_t hipsparse##LETTER##gebsr2gebsc_bufferSize(hipsparseHandle_t handle, int mb, int nb,        \
      int blocks, const TYPE* values, const int* rows, const int* columns, int height, int width, int* bytes) {             \
    size_t needed = 0;                                                                                                      \
    const hipsparseStatus_t status =                                                                                        \
        hipsparse##LETTER##gebsr2gebsc_bufferSize(handle, mb, nb, blocks, values, rows, columns, height, width, &needed);   \
    *bytes = static_cast<int>(needed);                                                                                      \
    return status;                                                                                                          \
  }
KPT_GEBSR_BUFFERS(S, float)
KPT_GEBSR_BUFFERS(D, double)
KPT_GEBSR_BUFFERS(C, hipComplex)
KPT_GEBSR_BUFFERS(Z, hipDoubleComplex)
#undef KPT_GEBSR_BUFFERS
