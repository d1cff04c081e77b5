/* Smaller parts of the API: libraries of kernels, sharing inside the process, attributes without effect here. */
#include <cstring>
#include <set>
#include <vector>

#include "config.h"
#include "errors.h"
#include "graph.h"
#include "launch.h"
#include "memory.h"
#include "module.h"
#include "stream.h"

using namespace kpt;

KPT_API hipError_t hipModuleLoadData(hipModule_t *module, const void *image);
KPT_API hipError_t hipModuleLoad(hipModule_t *module, const char *path);
KPT_API hipError_t hipModuleUnload(hipModule_t module);
KPT_API hipError_t hipModuleGetFunction(hipFunction_t *function, hipModule_t module, const char *name);
KPT_API hipError_t hipModuleGetFunctionCount(unsigned *count, hipModule_t module);
KPT_API hipError_t hipGetProcAddress(const char *symbol, void **pointer, int version, uint64_t flags, int *status);

/* A library is a module here, and its kernels are functions: both are made for one device. */
KPT_API hipError_t hipLibraryLoadData(hipModule_t *library, const void *code, void *, void **, unsigned, void *,
                                      void **, unsigned) {
    return hipModuleLoadData(library, code);
}
KPT_API hipError_t hipLibraryLoadFromFile(hipModule_t *library, const char *path, void *, void **, unsigned, void *,
                                          void **, unsigned) {
    return hipModuleLoad(library, path);
}
KPT_API hipError_t hipLibraryUnload(hipModule_t library) { return hipModuleUnload(library); }
KPT_API hipError_t hipLibraryGetKernel(hipFunction_t *kernel, hipModule_t library, const char *name) {
    return hipModuleGetFunction(kernel, library, name);
}
KPT_API hipError_t hipLibraryGetKernelCount(unsigned *count, hipModule_t library) {
    return hipModuleGetFunctionCount(count, library);
}
KPT_API hipError_t hipKernelGetLibrary(hipModule_t *library, hipFunction_t kernel) {
    KPT_ENTER();
    if (!library || !kernel) return done(hipErrorInvalidValue);
    *library = kernel->module;
    return done(hipSuccess);
}
KPT_API hipError_t hipKernelGetName(const char **name, hipFunction_t kernel) {
    KPT_ENTER();
    if (!name || !kernel) return done(hipErrorInvalidValue);
    *name = kernel->name.c_str();
    return done(hipSuccess);
}
KPT_API hipError_t hipLibraryEnumerateKernels(hipFunction_t *kernels, unsigned count, hipModule_t library) {
    KPT_ENTER();
    if (!kernels || !library) return done(hipErrorInvalidValue);
    unsigned filled = 0;
    for (auto &symbol : library->image.symbols) {
        const std::string &name = symbol.first;
        if (filled == count || name.size() < 4 || name.compare(name.size() - 3, 3, ".kd") != 0) continue;
        hipError_t error;
        kernels[filled] = find_function(library, name, error);
        if (!kernels[filled++]) return done(error);
    }
    return done(hipSuccess);
}

KPT_API hipError_t hipGetDriverEntryPoint(const char *symbol, void **pointer, unsigned long long flags, int *status) {
    return hipGetProcAddress(symbol, pointer, 600, flags, status); // newer than the change of structures
}

/* A handle is the address: it can be opened in the process that made it. */
KPT_API hipError_t hipIpcGetMemHandle(hipIpcMemHandle_t *handle, void *pointer) {
    KPT_ENTER();
    Allocation *found = pointer ? find(uint64_t(pointer)) : nullptr;
    if (!handle || !found || found->kind != Kind::device) return done(hipErrorInvalidValue);
    memset(handle, 0, sizeof *handle);
    memcpy(handle->reserved, &found->base, sizeof found->base);
    return done(hipSuccess);
}
KPT_API hipError_t hipIpcOpenMemHandle(void **pointer, hipIpcMemHandle_t handle, unsigned) {
    KPT_ENTER();
    uint64_t base;
    memcpy(&base, handle.reserved, sizeof base);
    Allocation *found = find(base);
    if (!pointer) return done(hipErrorInvalidValue);
    if (!found || found->base != base) {
        say("hipIpcOpenMemHandle: memory of another process cannot be opened");
        return done(hipErrorNotSupported);
    }
    *pointer = reinterpret_cast<void *>(base);
    return done(hipSuccess);
}
KPT_API hipError_t hipIpcCloseMemHandle(void *pointer) {
    KPT_ENTER();
    return done(pointer && find(uint64_t(pointer)) ? hipSuccess : hipErrorInvalidValue);
}

KPT_API hipError_t hipStreamSetAttribute(hipStream_t stream, int, const void *value) {
    KPT_ENTER();
    return done(value && resolve(stream) ? hipSuccess : hipErrorInvalidValue);
}
KPT_API hipError_t hipStreamGetAttribute(hipStream_t handle, int attribute, void *value) {
    KPT_ENTER();
    ihipStream_t *stream = resolve(handle);
    if (!value || !stream) return done(hipErrorInvalidValue);
    memset(value, 0, 64);
    if (attribute == 8) memcpy(value, &stream->priority, sizeof(int));
    return done(hipSuccess);
}
KPT_API hipError_t hipStreamCopyAttributes(hipStream_t to, hipStream_t from) {
    KPT_ENTER();
    return done(resolve(to) && resolve(from) ? hipSuccess : hipErrorInvalidValue);
}
KPT_API hipError_t hipExtStreamGetCUMask(hipStream_t stream, uint32_t words, uint32_t *mask) {
    KPT_ENTER();
    if (!resolve(stream) || !mask) return done(hipErrorInvalidValue);
    memset(mask, 0xff, words * sizeof *mask);
    return done(hipSuccess);
}

KPT_API hipError_t hipGraphKernelNodeSetAttribute(hipGraphNode_t node, int attribute, const void *value) {
    KPT_ENTER();
    if (!node || !value || node->operation.type != hipGraphNodeTypeKernel) return done(hipErrorInvalidValue);
    if (attribute == hipLaunchAttributeCooperative) {
        int cooperative;
        memcpy(&cooperative, value, sizeof cooperative);
        node->operation.launch.cooperative = cooperative != 0;
    }
    return done(hipSuccess);
}
KPT_API hipError_t hipGraphKernelNodeGetAttribute(hipGraphNode_t node, int attribute, void *value) {
    KPT_ENTER();
    if (!node || !value || node->operation.type != hipGraphNodeTypeKernel) return done(hipErrorInvalidValue);
    memset(value, 0, 64);
    int cooperative = node->operation.launch.cooperative;
    if (attribute == hipLaunchAttributeCooperative) memcpy(value, &cooperative, sizeof cooperative);
    return done(hipSuccess);
}

/* Managed memory lies where every device and the host reach it: it is never moved. */
KPT_API hipError_t hipMemRangeGetAttribute(void *data, size_t bytes, int attribute, const void *pointer, size_t count) {
    KPT_ENTER();
    if (!data || bytes < 4 || !count || !find(uint64_t(pointer))) return done(hipErrorInvalidValue);
    int answer = attribute == 1 || attribute == 100 ? 0 : -2; /* read mostly, coherency; locations: none */
    for (size_t at = 0; at + 4 <= bytes; at += 4) memcpy(static_cast<char *>(data) + at, &answer, 4);
    return done(hipSuccess);
}

namespace kpt {
namespace {

/* A launch on each of several devices. A cooperative one has a barrier over all of them: each device's launch waits there,
 * and the next one is begun meanwhile. */
struct LaunchOnDevice {
    hipFunction_t function;
    dim3 grid, block;
    size_t lds;
    hipStream_t stream;
    void **arguments;
};

hipError_t launch_on_all(const std::vector<LaunchOnDevice> &list, bool cooperative) {
    if (list.empty() || list.size() > size_t(config().devices)) return hipErrorInvalidValue;
    std::vector<Operation> operations(list.size());
    AmongGrids among;
    std::set<int> devices;
    hipError_t error = hipSuccess;
    const int before = self().device;
    for (size_t i = 0; i < list.size() && error == hipSuccess; i++) {
        const LaunchOnDevice &one = list[i];
        const ihipStream_t *stream = resolve(one.stream);
        if (!stream || !one.stream || !one.function) return hipErrorInvalidHandle;
        if (!devices.insert(stream->device).second) return hipErrorInvalidDevice;
        LaunchRequest &request = operations[i].launch;
        operations[i].type = hipGraphNodeTypeKernel;
        error =
            prepare_launch(one.function, one.grid, one.block, one.lds, one.arguments, nullptr, cooperative, request);
        request.among.number = uint32_t(i);
        request.among.threads_before = among.threads;
        among.threads += one.grid.count() * one.block.count();
    }
    if (cooperative && error == hipSuccess) {
        Allocation *words = allocate(Kind::internal, 64, 0, 0, error, 4096);
        if (!words) return error;
        memset(reinterpret_cast<void *>(words->base), 0, 64);
        auto forget = [](uint64_t *memory) { release(uint64_t(memory)); };
        among.barrier.reset(reinterpret_cast<uint64_t *>(words->base), forget);
    }
    for (size_t i = 0; i < list.size() && error == hipSuccess; i++) {
        AmongGrids &own = operations[i].launch.among;
        own.barrier = among.barrier;
        own.grids = uint32_t(list.size());
        own.threads = among.threads;
        self().device = resolve(list[i].stream)->device;
        error = submit(list[i].stream, std::move(operations[i]));
    }
    self().device = before;
    return error;
}

hipError_t launch_list(const hipLaunchParams *list, int count, bool cooperative) {
    if (!list || count <= 0) return hipErrorInvalidValue;
    std::vector<LaunchOnDevice> all;
    hipError_t error = hipSuccess;
    for (const hipLaunchParams *one = list; one != list + count; one++) {
        hipFunction_t function = registered_function(one->func, error);
        if (!function) return error;
        all.push_back({function, one->gridDim, one->blockDim, one->sharedMem, one->stream, one->args});
    }
    return launch_on_all(all, cooperative);
}

} // namespace
} // namespace kpt

KPT_API hipError_t hipExtLaunchMultiKernelMultiDevice(hipLaunchParams *list, int count, unsigned) {
    KPT_ENTER();
    return done(launch_list(list, count, false));
}
KPT_API hipError_t hipLaunchCooperativeKernelMultiDevice(hipLaunchParams *list, int count, unsigned) {
    KPT_ENTER();
    return done(launch_list(list, count, true));
}
KPT_API hipError_t hipModuleLaunchCooperativeKernelMultiDevice(hipFunctionLaunchParams *list, unsigned count,
                                                               unsigned) {
    KPT_ENTER();
    if (!list || !count) return done(hipErrorInvalidValue);
    std::vector<LaunchOnDevice> all;
    for (const hipFunctionLaunchParams *one = list; one != list + count; one++)
        all.push_back({one->function,
                       {one->gridDimX, one->gridDimY, one->gridDimZ},
                       {one->blockDimX, one->blockDimY, one->blockDimZ},
                       one->sharedMemBytes,
                       one->hStream,
                       one->kernelParams});
    return done(launch_on_all(all, true));
}

static void mark_whole(const Allocation &a) { note_written(a.base, a.bytes); }

/* Called by the stand-ins for AMD's math libraries, which write device memory from the host where we do not see it: in
 * checked runs everything counts as written from then on. */
KPT_API void kptHostLibraryWrites() {
    if (config().checked) each_allocation(mark_whole);
}

/* Called by the torch device, whose operators write device memory from the host: in checked runs these bytes count as
 * written from now on, or as not written. */
KPT_API void kptHostWrites(void *address, size_t bytes, int written) {
    if (written)
        note_written(uint64_t(address), bytes);
    else
        note_unwritten(uint64_t(address), bytes);
}
