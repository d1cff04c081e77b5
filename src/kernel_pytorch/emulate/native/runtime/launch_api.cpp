/* Kernel launches as programs write them. */
#include <cstring>
#include <vector>

#include "config.h"
#include "errors.h"
#include "launch.h"
#include "stream.h"

namespace kpt {
namespace {

struct Configuration {
    dim3 grid, block;
    size_t lds;
    hipStream_t stream;
    std::vector<uint8_t> arguments;
};

std::vector<Configuration> &configurations() {
    static thread_local std::vector<Configuration> stack;
    return stack;
}

hipError_t start(hipFunction_t function, dim3 grid, dim3 block, uint64_t lds, hipStream_t stream, void **params,
                 void **extra, bool cooperative) {
    Operation operation;
    operation.type = hipGraphNodeTypeKernel;
    if (hipError_t error = prepare_launch(function, grid, block, lds, params, extra, cooperative, operation.launch);
        error != hipSuccess)
        return error;
    operation.shown.func = function;
    operation.shown.gridDim = grid;
    operation.shown.blockDim = block;
    operation.shown.sharedMemBytes = unsigned(lds);
    return submit(stream, std::move(operation));
}

hipError_t launch_host(const void *host, dim3 grid, dim3 block, uint64_t lds, hipStream_t stream, void **params,
                       bool cooperative) {
    hipError_t error;
    hipFunction_t function = registered_function(host, error);
    if (!function) return error;
    error = start(function, grid, block, lds, stream, params, nullptr, cooperative);
    return error;
}

/* The events that go with a launch. They are no nodes of a graph. */
void record_beside(hipEvent_t event, hipStream_t handle) {
    ihipStream_t *stream = resolve(handle);
    if (stream && stream->capture)
        record_now(event);
    else
        record(event, handle);
}

} // namespace
} // namespace kpt

using namespace kpt;

KPT_API hipError_t __hipPushCallConfiguration(dim3 grid, dim3 block, size_t lds, hipStream_t stream) {
    configurations().push_back({grid, block, lds, stream, {}});
    return hipSuccess;
}

KPT_API hipError_t __hipPopCallConfiguration(dim3 *grid, dim3 *block, size_t *lds, hipStream_t *stream) {
    if (configurations().empty()) return done(hipErrorMissingConfiguration);
    const Configuration &top = configurations().back();
    *grid = top.grid;
    *block = top.block;
    *lds = top.lds;
    *stream = top.stream;
    configurations().pop_back();
    return hipSuccess;
}

KPT_API hipError_t hipConfigureCall(dim3 grid, dim3 block, size_t lds, hipStream_t stream) {
    return __hipPushCallConfiguration(grid, block, lds, stream);
}

KPT_API hipError_t hipSetupArgument(const void *argument, size_t bytes, size_t offset) {
    if (configurations().empty()) return done(hipErrorMissingConfiguration);
    auto &arguments = configurations().back().arguments;
    if (arguments.size() < offset + bytes) arguments.resize(offset + bytes);
    memcpy(arguments.data() + offset, argument, bytes);
    return hipSuccess;
}

KPT_API hipError_t hipLaunchByPtr(const void *host) {
    KPT_ENTER();
    if (configurations().empty()) return done(hipErrorMissingConfiguration);
    Configuration top = std::move(configurations().back());
    configurations().pop_back();
    hipError_t error;
    hipFunction_t function = registered_function(host, error);
    if (!function) return done(error);
    size_t bytes = top.arguments.size();
    void *extra[] = {reinterpret_cast<void *>(1), top.arguments.data(), reinterpret_cast<void *>(2), &bytes,
                     reinterpret_cast<void *>(3)};
    return done(start(function, top.grid, top.block, top.lds, top.stream, nullptr, extra, false));
}

KPT_API hipError_t hipLaunchKernel(const void *host, dim3 grid, dim3 block, void **params, size_t lds,
                                   hipStream_t stream) {
    KPT_ENTER();
    return done(launch_host(host, grid, block, lds, stream, params, false));
}

KPT_API hipError_t hipLaunchCooperativeKernel(const void *host, dim3 grid, dim3 block, void **params, unsigned lds,
                                              hipStream_t stream) {
    KPT_ENTER();
    return done(launch_host(host, grid, block, lds, stream, params, true));
}

KPT_API hipError_t hipExtLaunchKernel(const void *host, dim3 grid, dim3 block, void **params, size_t lds,
                                      hipStream_t stream, hipEvent_t before, hipEvent_t after, int) {
    KPT_ENTER();
    if (before && is_event(before)) record_beside(before, stream);
    hipError_t error = launch_host(host, grid, block, lds, stream, params, false);
    if (after && is_event(after)) record_beside(after, stream);
    return done(error);
}

KPT_API hipError_t hipLaunchKernelExC(const hipLaunchConfig_t *c, const void *host, void **params) {
    KPT_ENTER();
    if (!c) return done(hipErrorInvalidConfiguration);
    bool cooperative = false;
    for (unsigned i = 0; i < c->numAttrs; i++)
        if (c->attrs[i].id == hipLaunchAttributeCooperative) cooperative = c->attrs[i].value.cooperative != 0;
    return done(launch_host(host, c->gridDim, c->blockDim, c->dynamicSmemBytes, c->stream, params, cooperative));
}

KPT_API hipError_t hipDrvLaunchKernelEx(const HIP_LAUNCH_CONFIG *c, hipFunction_t function, void **params,
                                        void **extra) {
    KPT_ENTER();
    if (!c || !function) return done(hipErrorInvalidValue);
    bool cooperative = false;
    for (unsigned i = 0; i < c->numAttrs; i++)
        if (c->attrs[i].id == hipLaunchAttributeCooperative) cooperative = c->attrs[i].value.cooperative != 0;
    dim3 grid{c->gridDimX, c->gridDimY, c->gridDimZ}, block{c->blockDimX, c->blockDimY, c->blockDimZ};
    return done(start(function, grid, block, c->sharedMemBytes, c->hStream, params, extra, cooperative));
}

static hipError_t launch_module(hipFunction_t function, dim3 grid, dim3 block, unsigned lds, hipStream_t stream,
                                void **params, void **extra, bool cooperative) {
    KPT_ENTER();
    if (!function) return done(hipErrorInvalidImage);
    if (params && extra) return done(hipErrorInvalidValue);
    hipError_t error = start(function, grid, block, lds, stream, params, extra, cooperative);
    /* The module API calls an impossible size an invalid value. */
    if (error == hipErrorInvalidConfiguration && block.x && block.y && block.z) error = hipErrorInvalidValue;
    return done(error);
}

KPT_API hipError_t hipModuleLaunchKernel(hipFunction_t function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                         unsigned by, unsigned bz, unsigned lds, hipStream_t stream, void **params,
                                         void **extra) {
    return launch_module(function, {gx, gy, gz}, {bx, by, bz}, lds, stream, params, extra, false);
}

KPT_API hipError_t hipModuleLaunchCooperativeKernel(hipFunction_t function, unsigned gx, unsigned gy, unsigned gz,
                                                    unsigned bx, unsigned by, unsigned bz, unsigned lds,
                                                    hipStream_t stream, void **params) {
    return launch_module(function, {gx, gy, gz}, {bx, by, bz}, lds, stream, params, nullptr, true);
}

/* Counts threads, not blocks; the last block of a row may be partial. */
KPT_API hipError_t hipExtModuleLaunchKernel(hipFunction_t function, uint32_t tx, uint32_t ty, uint32_t tz, uint32_t bx,
                                            uint32_t by, uint32_t bz, size_t lds, hipStream_t stream, void **params,
                                            void **extra, hipEvent_t before, hipEvent_t after, uint32_t) {
    KPT_ENTER();
    if (!function) return done(hipErrorInvalidImage);
    if (!bx || !by || !bz || !tx || !ty || !tz || (params && extra)) return done(hipErrorInvalidValue);
    if (bx > tx) bx = tx;
    if (by > ty) by = ty;
    if (bz > tz) bz = tz;
    dim3 grid{(tx + bx - 1) / bx, (ty + by - 1) / by, (tz + bz - 1) / bz};
    Operation operation;
    operation.type = hipGraphNodeTypeKernel;
    hipError_t error = prepare_launch(function, grid, {bx, by, bz}, lds, params, extra, false, operation.launch);
    if (error != hipSuccess) return done(error);
    operation.launch.threads[0] = tx;
    operation.launch.threads[1] = ty;
    operation.launch.threads[2] = tz;
    if (before && is_event(before)) record_beside(before, stream);
    error = submit(stream, std::move(operation));
    if (after && is_event(after)) record_beside(after, stream);
    return done(error);
}

KPT_API hipError_t hipHccModuleLaunchKernel(hipFunction_t function, uint32_t tx, uint32_t ty, uint32_t tz, uint32_t bx,
                                            uint32_t by, uint32_t bz, size_t lds, hipStream_t stream, void **params,
                                            void **extra, hipEvent_t before, hipEvent_t after) {
    return hipExtModuleLaunchKernel(function, tx, ty, tz, bx, by, bz, lds, stream, params, extra, before, after, 0);
}

/* The header of ROCm declares these two as C++ functions as well. */
__attribute__((visibility("default"))) hipError_t kpt_ext_launch(
    hipFunction_t function, uint32_t tx, uint32_t ty, uint32_t tz, uint32_t bx, uint32_t by, uint32_t bz, size_t lds,
    hipStream_t stream, void **params, void **extra, hipEvent_t before, hipEvent_t after,
    uint32_t
        flags) __asm__("_Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_j");
hipError_t kpt_ext_launch(hipFunction_t function, uint32_t tx, uint32_t ty, uint32_t tz, uint32_t bx, uint32_t by,
                          uint32_t bz, size_t lds, hipStream_t stream, void **params, void **extra, hipEvent_t before,
                          hipEvent_t after, uint32_t flags) {
    return hipExtModuleLaunchKernel(function, tx, ty, tz, bx, by, bz, lds, stream, params, extra, before, after, flags);
}
