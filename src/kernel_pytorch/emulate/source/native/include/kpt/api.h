/* The CUDA runtime API, as far as the source-level mode has it. Work is done at once, so streams keep their order. */
#pragma once

#include "api_types.h"

extern "C" {
cudaError_t cudaFree(void *memory);
cudaError_t cudaFreeHost(void *memory);
cudaError_t cudaFreeAsync(void *memory, cudaStream_t stream);
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind);
cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
                         enum cudaMemcpyKind kind);
cudaError_t cudaMemset(void *to, int value, size_t bytes);
cudaError_t cudaMemset2D(void *to, size_t pitch, int value, size_t width, size_t height);
cudaError_t cudaMemGetInfo(size_t *unused, size_t *total);
cudaError_t cudaHostRegister(void *memory, size_t bytes, unsigned flags);
cudaError_t cudaHostUnregister(void *memory);
cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *memory);

cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaGetDevice(int *device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaDeviceSynchronize(void);
cudaError_t cudaDeviceReset(void);
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device);
cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device);
cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer);

cudaError_t cudaStreamCreate(cudaStream_t *stream);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void *data, unsigned flags);
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *data);
cudaError_t cudaEventCreate(cudaEvent_t *event);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t end);

cudaError_t cudaGetLastError(void);
cudaError_t cudaPeekAtLastError(void);
const char *cudaGetErrorName(cudaError_t error);
const char *cudaGetErrorString(cudaError_t error);

cudaError_t kpt_cuda_malloc(void **memory, size_t bytes, int kind);
cudaError_t kpt_event_record(cudaEvent_t event);
cudaError_t kpt_symbol_copy(void *symbol, size_t symbol_bytes, void *host, const void *from, size_t bytes,
                            size_t offset, int to_symbol);
cudaError_t kpt_launched(int error);
}

/* C linkage and default arguments for what CUDA declares with them. */
#define KPT_API static inline cudaError_t

template <class T> KPT_API cudaMalloc(T **memory, size_t bytes) { return kpt_cuda_malloc((void **)memory, bytes, 0); }
template <class T> KPT_API cudaMallocAsync(T **memory, size_t bytes, cudaStream_t) {
    return kpt_cuda_malloc((void **)memory, bytes, 0);
}
template <class T> KPT_API cudaMallocManaged(T **memory, size_t bytes, unsigned = cudaMemAttachGlobal) {
    return kpt_cuda_malloc((void **)memory, bytes, 1);
}
template <class T> KPT_API cudaMallocHost(T **memory, size_t bytes, unsigned = 0) {
    return kpt_cuda_malloc((void **)memory, bytes, 2);
}
template <class T> KPT_API cudaHostAlloc(T **memory, size_t bytes, unsigned) {
    return kpt_cuda_malloc((void **)memory, bytes, 2);
}
template <class T> KPT_API cudaMallocPitch(T **memory, size_t *pitch, size_t width, size_t height) {
    *pitch = (width + 511) / 512 * 512;
    return kpt_cuda_malloc((void **)memory, *pitch * height, 0);
}
template <class T> KPT_API cudaHostGetDevicePointer(T **device, void *host, unsigned) {
    *device = (T *)host;
    return cudaSuccess;
}
KPT_API cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t = nullptr) {
    return cudaMemcpy(to, from, bytes, kind);
}
KPT_API cudaMemcpyPeer(void *to, int, const void *from, int, size_t bytes) {
    return cudaMemcpy(to, from, bytes, cudaMemcpyDefault);
}
KPT_API cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
                          enum cudaMemcpyKind kind, cudaStream_t = nullptr) {
    return cudaMemcpy2D(to, to_pitch, from, from_pitch, width, height, kind);
}
KPT_API cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t = nullptr) {
    return cudaMemset(to, value, bytes);
}
static inline struct cudaExtent make_cudaExtent(size_t width, size_t height, size_t depth) {
    return {width, height, depth};
}
static inline struct cudaPos make_cudaPos(size_t x, size_t y, size_t z) { return {x, y, z}; }
static inline struct cudaPitchedPtr make_cudaPitchedPtr(void *memory, size_t pitch, size_t width, size_t height) {
    return {memory, pitch, width, height};
}
KPT_API cudaMalloc3D(struct cudaPitchedPtr *memory, struct cudaExtent extent) {
    *memory = {nullptr, (extent.width + 511) / 512 * 512, extent.width, extent.height};
    return kpt_cuda_malloc(&memory->ptr, memory->pitch * extent.height * extent.depth, 0);
}
KPT_API cudaMemset3D(struct cudaPitchedPtr to, int value, struct cudaExtent extent) {
    for (size_t z = 0; z < extent.depth; z++)
        if (cudaError_t error =
                cudaMemset2D((char *)to.ptr + z * to.ysize * to.pitch, to.pitch, value, extent.width, extent.height))
            return error;
    return cudaSuccess;
}
KPT_API cudaMemcpy3D(const struct cudaMemcpy3DParms *p) {
    for (size_t z = 0; z < p->extent.depth; z++) {
        char *to =
            (char *)p->dstPtr.ptr + ((z + p->dstPos.z) * p->dstPtr.ysize + p->dstPos.y) * p->dstPtr.pitch + p->dstPos.x;
        char *from =
            (char *)p->srcPtr.ptr + ((z + p->srcPos.z) * p->srcPtr.ysize + p->srcPos.y) * p->srcPtr.pitch + p->srcPos.x;
        if (cudaError_t error =
                cudaMemcpy2D(to, p->dstPtr.pitch, from, p->srcPtr.pitch, p->extent.width, p->extent.height, p->kind))
            return error;
    }
    return cudaSuccess;
}
KPT_API cudaMemPrefetchAsync(const void *, size_t, int, cudaStream_t = nullptr) { return cudaSuccess; }
KPT_API cudaMemAdvise(const void *, size_t, enum cudaMemoryAdvise, int) { return cudaSuccess; }

template <class T>
KPT_API cudaMemcpyToSymbol(const T &symbol, const void *from, size_t bytes, size_t offset = 0,
                           enum cudaMemcpyKind = cudaMemcpyHostToDevice) {
    return kpt_symbol_copy((void *)&symbol, sizeof(T), nullptr, from, bytes, offset, 1);
}
template <class T>
KPT_API cudaMemcpyToSymbolAsync(const T &symbol, const void *from, size_t bytes, size_t offset, enum cudaMemcpyKind,
                                cudaStream_t = nullptr) {
    return kpt_symbol_copy((void *)&symbol, sizeof(T), nullptr, from, bytes, offset, 1);
}
template <class T>
KPT_API cudaMemcpyFromSymbol(void *to, const T &symbol, size_t bytes, size_t offset = 0,
                             enum cudaMemcpyKind = cudaMemcpyDeviceToHost) {
    return kpt_symbol_copy((void *)&symbol, sizeof(T), to, nullptr, bytes, offset, 0);
}
template <class P, class T> KPT_API cudaGetSymbolAddress(P **address, const T &symbol) {
    *address = (P *)&symbol;
    return cudaSuccess;
}
template <class T> KPT_API cudaGetSymbolSize(size_t *bytes, const T &) {
    *bytes = sizeof(T);
    return cudaSuccess;
}

KPT_API cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned) { return cudaStreamCreate(stream); }
KPT_API cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned, int) { return cudaStreamCreate(stream); }
KPT_API cudaDeviceGetStreamPriorityRange(int *least, int *greatest) {
    *least = *greatest = 0;
    return cudaSuccess;
}
KPT_API cudaStreamQuery(cudaStream_t stream) { return cudaStreamSynchronize(stream); }
KPT_API cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned = 0) { return cudaSuccess; }
KPT_API cudaEventCreate(cudaEvent_t *event, unsigned) { return cudaEventCreate(event); }
KPT_API cudaEventCreateWithFlags(cudaEvent_t *event, unsigned) { return cudaEventCreate(event); }
KPT_API cudaEventRecord(cudaEvent_t event, cudaStream_t = nullptr) { return kpt_event_record(event); }
KPT_API cudaEventSynchronize(cudaEvent_t) { return cudaDeviceSynchronize(); }
KPT_API cudaEventQuery(cudaEvent_t) { return cudaDeviceSynchronize(); }

KPT_API cudaThreadSynchronize() { return cudaDeviceSynchronize(); }
KPT_API cudaSetDeviceFlags(unsigned) { return cudaSuccess; }
KPT_API cudaDeviceSetCacheConfig(enum cudaFuncCache) { return cudaSuccess; }
KPT_API cudaDeviceSetSharedMemConfig(enum cudaSharedMemConfig) { return cudaSuccess; }
KPT_API cudaDeviceSetLimit(enum cudaLimit, size_t) { return cudaSuccess; }
KPT_API cudaDeviceGetLimit(size_t *value, enum cudaLimit) {
    *value = 8 << 20;
    return cudaSuccess;
}
KPT_API cudaDeviceEnablePeerAccess(int, unsigned) { return cudaErrorInvalidDevice; }
KPT_API cudaDriverGetVersion(int *version) {
    *version = CUDART_VERSION;
    return cudaSuccess;
}
KPT_API cudaRuntimeGetVersion(int *version) {
    *version = CUDART_VERSION;
    return cudaSuccess;
}
KPT_API cudaProfilerStart() { return cudaSuccess; }
KPT_API cudaProfilerStop() { return cudaSuccess; }
template <class F> KPT_API cudaFuncSetCacheConfig(F, enum cudaFuncCache) { return cudaSuccess; }
template <class F> KPT_API cudaFuncSetSharedMemConfig(F, enum cudaSharedMemConfig) { return cudaSuccess; }
template <class F> KPT_API cudaFuncSetAttribute(F, enum cudaFuncAttribute, int) { return cudaSuccess; }
template <class F> KPT_API cudaFuncGetAttributes(struct cudaFuncAttributes *of, F) {
    *of = cudaFuncAttributes();
    of->maxThreadsPerBlock = 1024;
    of->numRegs = 32;
    of->maxDynamicSharedSizeBytes = 49152;
    return cudaSuccess;
}
/* Occupancy is a fact of hardware, which is not here: threads are the only limit. */
template <class F> KPT_API cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, F, int block_threads, size_t) {
    *blocks = block_threads > 0 ? 2048 / block_threads : 0;
    return cudaSuccess;
}
template <class F>
KPT_API cudaOccupancyMaxPotentialBlockSize(int *grid, int *block, F, size_t = 0, int limit = 0) {
    *block = limit > 0 && limit < 1024 ? limit : 1024;
    *grid = 2 * 4;
    return cudaSuccess;
}
#undef KPT_API
