/* The CUDA runtime API for the host: everything is done at once, in the order of the calls. */
#include "../include/kpt/api.h"

#include <fenv.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "errors.h"
#include "runtime.h"

struct KptStream {
    int unused;
};
struct KptEvent {
    std::chrono::steady_clock::time_point at;
    bool recorded;
};

namespace {

using namespace kpt;

int sticky = 0;
thread_local int last = 0;
const int MULTIPROCESSORS = 4;

cudaError_t done(int error) {
    if (sticky) error = sticky;
    if (error) last = error;
    return cudaError_t(error);
}

struct Row {
    int code;
    const char *name, *text;
};
const Row ROWS[] = {
    {0, "cudaSuccess", "no error"},
    {1, "cudaErrorInvalidValue", "invalid argument"},
    {2, "cudaErrorMemoryAllocation", "out of memory"},
    {3, "cudaErrorInitializationError", "initialization error"},
    {9, "cudaErrorInvalidConfiguration", "invalid configuration argument"},
    {12, "cudaErrorInvalidPitchValue", "invalid pitch argument"},
    {13, "cudaErrorInvalidSymbol", "invalid device symbol"},
    {17, "cudaErrorInvalidDevicePointer", "invalid device pointer"},
    {21, "cudaErrorInvalidMemcpyDirection", "invalid copy direction for memcpy"},
    {100, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {101, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {400, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {600, "cudaErrorNotReady", "device not ready"},
    {700, "cudaErrorIllegalAddress", "an illegal memory access was encountered"},
    {701, "cudaErrorLaunchOutOfResources", "too many resources requested for launch"},
    {702, "cudaErrorLaunchTimeout", "the launch timed out and was terminated"},
    {710, "cudaErrorAssert", "device-side assert triggered"},
    {719, "cudaErrorLaunchFailure", "unspecified launch failure"},
    {720, "cudaErrorCooperativeLaunchTooLarge", "too many blocks in cooperative launch"},
    {801, "cudaErrorNotSupported", "operation not supported"},
};

bool on_device(const void *memory) { return in_space(uintptr_t(memory)) || (memory && in_image(uintptr_t(memory))); }

/* Whether the side of a copy is what its direction says; image addresses are __device__ variables or host globals. */
bool side(const void *memory, size_t bytes, bool device, bool any) {
    if (!memory) return false;
    bool inside = in_space(uintptr_t(memory));
    if (inside) {
        const Allocation *a = allocation_at(uintptr_t(memory));
        if (!covers(memory, bytes)) return false;
        return any || device || a->kind != Kind::device;
    }
    return any || !device || in_image(uintptr_t(memory)) || is_registered(uintptr_t(memory));
}

int copy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind) {
    if (!bytes) return 0;
    if (kind < 0 || kind > cudaMemcpyDefault) return ERROR_INVALID_DIRECTION;
    bool any = kind == cudaMemcpyDefault;
    bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    if (!side(to, bytes, to_device, any) || !side(from, bytes, from_device, any)) return ERROR_INVALID_VALUE;
    memmove(to, from, bytes);
    mark_written(uintptr_t(to), bytes);
    return 0;
}

} // namespace

extern "C" {

cudaError_t kpt_cuda_malloc(void **memory, size_t bytes, int kind) {
    if (!memory) return done(ERROR_INVALID_VALUE);
    if (!bytes) {
        *memory = nullptr;
        return done(0);
    }
    *memory = sticky ? nullptr : allocate(bytes, kind == 0 ? Kind::device : kind == 1 ? Kind::managed : Kind::pinned);
    return done(*memory ? 0 : ERROR_OUT_OF_MEMORY);
}

cudaError_t cudaFree(void *memory) {
    if (!memory || sticky) return done(0);
    if (const Allocation *a = allocation_at(uintptr_t(memory)))
        if (a->live && a->base == uintptr_t(memory)) report_buffer(*a);
    return done(release(memory, Kind::device));
}
cudaError_t cudaFreeAsync(void *memory, cudaStream_t) { return cudaFree(memory); }
cudaError_t cudaFreeHost(void *memory) { return done(memory ? release(memory, Kind::pinned) : 0); }

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind) {
    return done(sticky ? sticky : copy(to, from, bytes, kind));
}
cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
                         enum cudaMemcpyKind kind) {
    if (width > to_pitch || width > from_pitch) return done(cudaErrorInvalidPitchValue);
    for (size_t row = 0; row < height && !sticky; row++)
        if (int error = copy((char *)to + row * to_pitch, (const char *)from + row * from_pitch, width, kind))
            return done(error);
    return done(0);
}
cudaError_t cudaMemset(void *to, int value, size_t bytes) {
    if (!bytes || sticky) return done(0);
    if (!on_device(to) || (in_space(uintptr_t(to)) && !covers(to, bytes))) return done(ERROR_INVALID_VALUE);
    memset(to, value, bytes);
    mark_written(uintptr_t(to), bytes);
    return done(0);
}
cudaError_t cudaMemset2D(void *to, size_t pitch, int value, size_t width, size_t height) {
    for (size_t row = 0; row < height; row++)
        if (cudaError_t error = cudaMemset((char *)to + row * pitch, value, width)) return error;
    return done(0);
}
cudaError_t cudaMemGetInfo(size_t *unused, size_t *total) {
    if (total) *total = total_bytes();
    if (unused) *unused = total_bytes() - used_bytes();
    return done(0);
}
cudaError_t cudaHostRegister(void *memory, size_t bytes, unsigned) {
    register_host(memory, bytes, true);
    return done(0);
}
cudaError_t cudaHostUnregister(void *memory) {
    register_host(memory, 0, false);
    return done(0);
}
cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *of, const void *memory) {
    const Allocation *a = allocation_at(uintptr_t(memory));
    *of = cudaPointerAttributes();
    if (!a || !a->live) return done(0);
    of->type = a->kind == Kind::device    ? cudaMemoryTypeDevice
               : a->kind == Kind::managed ? cudaMemoryTypeManaged
                                          : cudaMemoryTypeHost;
    of->devicePointer = const_cast<void *>(memory);
    of->hostPointer = a->kind == Kind::device ? nullptr : const_cast<void *>(memory);
    return done(0);
}
cudaError_t kpt_symbol_copy(void *symbol, size_t symbol_bytes, void *host, const void *from, size_t bytes,
                            size_t offset, int to_symbol) {
    if (offset + bytes > symbol_bytes) return done(ERROR_INVALID_VALUE);
    char *at = static_cast<char *>(symbol) + offset;
    if (to_symbol)
        memcpy(at, from, bytes);
    else
        memcpy(host, at, bytes);
    return done(0);
}

cudaError_t cudaGetDeviceCount(int *count) {
    *count = 1;
    return done(0);
}
cudaError_t cudaGetDevice(int *device) {
    *device = 0;
    return done(0);
}
cudaError_t cudaSetDevice(int device) { return done(device == 0 ? 0 : cudaErrorInvalidDevice); }
cudaError_t cudaDeviceSynchronize(void) { return done(0); }
cudaError_t cudaDeviceReset(void) {
    sticky = 0;
    return done(0);
}
cudaError_t cudaDeviceCanAccessPeer(int *can, int, int) {
    *can = 0;
    return done(0);
}
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *p, int device) {
    if (device != 0) return done(cudaErrorInvalidDevice);
    memset(p, 0, sizeof *p);
    snprintf(p->name, sizeof p->name, "CUDA source on this CPU (kpt emulate --source)");
    p->totalGlobalMem = total_bytes();
    p->sharedMemPerBlock = 49152;
    p->sharedMemPerBlockOptin = 232448;
    p->sharedMemPerMultiprocessor = 233472;
    p->regsPerBlock = p->regsPerMultiprocessor = 65536;
    p->warpSize = 32;
    p->memPitch = 0x7fffffff;
    p->maxThreadsPerBlock = 1024;
    p->maxThreadsDim[0] = p->maxThreadsDim[1] = 1024;
    p->maxThreadsDim[2] = 64;
    p->maxGridSize[0] = 0x7fffffff;
    p->maxGridSize[1] = p->maxGridSize[2] = 65535;
    p->clockRate = 1000000;
    p->memoryClockRate = 1000000;
    p->memoryBusWidth = 64;
    p->l2CacheSize = 4 << 20;
    p->totalConstMem = 65536;
    p->major = 8;
    p->multiProcessorCount = MULTIPROCESSORS;
    p->canMapHostMemory = p->concurrentKernels = p->unifiedAddressing = p->managedMemory = p->cooperativeLaunch = 1;
    p->concurrentManagedAccess = 1;
    p->asyncEngineCount = 1;
    p->maxThreadsPerMultiProcessor = 2048;
    p->maxBlocksPerMultiProcessor = 32;
    p->textureAlignment = 512;
    snprintf(p->gcnArchName, sizeof p->gcnArchName, "source");
    return done(0);
}
cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device) {
    cudaDeviceProp p;
    if (cudaError_t error = cudaGetDeviceProperties(&p, device)) return error;
    switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock: *value = p.maxThreadsPerBlock; break;
    case cudaDevAttrMaxBlockDimX: *value = p.maxThreadsDim[0]; break;
    case cudaDevAttrMaxBlockDimY: *value = p.maxThreadsDim[1]; break;
    case cudaDevAttrMaxBlockDimZ: *value = p.maxThreadsDim[2]; break;
    case cudaDevAttrMaxGridDimX: *value = p.maxGridSize[0]; break;
    case cudaDevAttrMaxGridDimY: *value = p.maxGridSize[1]; break;
    case cudaDevAttrMaxGridDimZ: *value = p.maxGridSize[2]; break;
    case cudaDevAttrMaxSharedMemoryPerBlock: *value = int(p.sharedMemPerBlock); break;
    case cudaDevAttrTotalConstantMemory: *value = int(p.totalConstMem); break;
    case cudaDevAttrWarpSize: *value = p.warpSize; break;
    case cudaDevAttrMaxRegistersPerBlock: *value = p.regsPerBlock; break;
    case cudaDevAttrClockRate: *value = p.clockRate; break;
    case cudaDevAttrMemoryClockRate: *value = p.memoryClockRate; break;
    case cudaDevAttrGlobalMemoryBusWidth: *value = p.memoryBusWidth; break;
    case cudaDevAttrL2CacheSize: *value = p.l2CacheSize; break;
    case cudaDevAttrMultiProcessorCount: *value = p.multiProcessorCount; break;
    case cudaDevAttrMaxThreadsPerMultiProcessor: *value = p.maxThreadsPerMultiProcessor; break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor: *value = int(p.sharedMemPerMultiprocessor); break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = int(p.sharedMemPerBlockOptin); break;
    case cudaDevAttrComputeCapabilityMajor: *value = p.major; break;
    case cudaDevAttrComputeCapabilityMinor: *value = p.minor; break;
    case cudaDevAttrConcurrentKernels:
    case cudaDevAttrUnifiedAddressing:
    case cudaDevAttrManagedMemory:
    case cudaDevAttrCooperativeLaunch:
    case cudaDevAttrConcurrentManagedAccess: *value = 1; break;
    default: return done(ERROR_INVALID_VALUE);
    }
    return done(0);
}

cudaError_t cudaStreamCreate(cudaStream_t *stream) {
    *stream = new KptStream();
    return done(0);
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    delete stream;
    return done(0);
}
cudaError_t cudaStreamSynchronize(cudaStream_t) { return done(0); }
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void *data, unsigned) {
    callback(stream, cudaError_t(sticky), data);
    return done(0);
}
cudaError_t cudaLaunchHostFunc(cudaStream_t, cudaHostFn_t function, void *data) {
    function(data);
    return done(0);
}
cudaError_t cudaEventCreate(cudaEvent_t *event) {
    *event = new KptEvent();
    return done(0);
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
    delete event;
    return done(0);
}
cudaError_t kpt_event_record(cudaEvent_t event) {
    if (!event) return done(cudaErrorInvalidResourceHandle);
    event->at = std::chrono::steady_clock::now();
    event->recorded = true;
    return done(0);
}
cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t end) {
    if (!start || !end || !start->recorded || !end->recorded) return done(cudaErrorInvalidResourceHandle);
    *milliseconds = std::chrono::duration<float, std::milli>(end->at - start->at).count();
    return done(0);
}

cudaError_t cudaGetLastError(void) {
    int error = sticky ? sticky : last;
    last = 0;
    return cudaError_t(error);
}
cudaError_t cudaPeekAtLastError(void) { return cudaError_t(sticky ? sticky : last); }
const char *cudaGetErrorName(cudaError_t error) {
    for (const Row &row : ROWS)
        if (row.code == error) return row.name;
    return "unrecognized error code";
}
const char *cudaGetErrorString(cudaError_t error) {
    for (const Row &row : ROWS)
        if (row.code == error) return row.text;
    return "unrecognized error code";
}

/* What a launch's end means to the program: a fault stays with the device, a wrong configuration does not. */
cudaError_t kpt_launched(int error) {
    if (error == ERROR_ILLEGAL_ADDRESS || error == ERROR_LAUNCH_TIMEOUT || error == ERROR_ASSERT ||
        error == ERROR_LAUNCH_FAILURE)
        sticky = error;
    return done(error);
}
int kpt_host_launch_allowed(const char *file, int line) {
    if (kpt_current) kpt_not_supported("a launch from a kernel (dynamic parallelism)", file, line);
    return sticky == 0;
}

int kpt_in_kernel(void) { return kpt_current != nullptr; }
int kpt_lane(void) { return kpt_current ? kpt_current->lane : 0; }
unsigned kpt_warp_index(void) { return kpt_current ? kpt_current->warp : 0; }
int kpt_is_cooperative(void) { return kpt_current ? worker_of(kpt_current)->launch->what.cooperative : 0; }
uint64_t kpt_clock(void) { return kpt_globaltimer(); }
uint64_t kpt_globaltimer(void) {
    return uint64_t(
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
            .count());
}
void kpt_sleep(unsigned) {
    if (kpt_current) yield(kpt_current);
}
void kpt_round(int mode) {
    const int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_UPWARD, FE_DOWNWARD};
    fesetround(modes[mode]);
}
void kpt_trap(const char *what, const char *file, int line) {
    if (!kpt_current) abort();
    report_fault({"trap",
                  {file, uint32_t(line)},
                  what,
                  "the kernel ends and the device must be reset",
                  kpt_current,
                  {nullptr, 0}});
    stop_launch(ERROR_LAUNCH_FAILURE);
}
void kpt_assert_failed(const char *text, const char *file, int line, const char *function) {
    fflush(stdout);
    if (!kpt_current) {
        fprintf(stderr, "%s:%d: %s: Assertion `%s' failed.\n", file, line, function, text);
        abort();
    }
    const Thread &t = *kpt_current;
    fprintf(stderr, "%s:%d: %s: block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `%s` failed.\n", file, line, function,
            t.block->index[0], t.block->index[1], t.block->index[2], t.index[0], t.index[1], t.index[2], text);
    report_fault({"trap",
                  {file, uint32_t(line)},
                  std::string("assert(") + text + ") failed",
                  "the kernel ends and the device must be reset",
                  &t,
                  {nullptr, 0}});
    stop_launch(ERROR_ASSERT);
}
void kpt_not_supported(const char *what, const char *file, int line) {
    fprintf(stderr, "kpt: %s:%d: not supported at source level: %s\n", file, line, what);
    report_unsupported(what);
    report_end();
    fflush(stdout);
    _Exit(2);
}
}
