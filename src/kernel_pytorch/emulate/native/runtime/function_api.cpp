/* What can be asked and set about a kernel, and occupancy. */
#include <algorithm>
#include <cstring>

#include "config.h"
#include "errors.h"
#include "launch.h"

namespace kpt {
namespace {

int most_threads(const KptKernel &k) {
    uint32_t most = config().occupancy.max_threads_per_workgroup;
    return int(k.max_workgroup_size && k.max_workgroup_size < most ? k.max_workgroup_size : most);
}

int dynamic_lds(const KptKernel &k) {
    uint32_t all = config().occupancy.max_lds_per_workgroup;
    return int(all > k.lds_bytes ? all - k.lds_bytes : 0);
}

hipError_t occupancy_of(hipFunction_t f, int threads, size_t lds, int *blocks) {
    if (!blocks || threads <= 0) return hipErrorInvalidValue;
    bool fits = uint32_t(threads) <= config().occupancy.max_threads_per_workgroup;
    *blocks = fits ? int(blocks_per_unit(*f->kernel, uint32_t(threads), lds)) : 0;
    return hipSuccess;
}

/* The largest block, in whole waves, with which most threads are resident. */
hipError_t best_block(hipFunction_t f, size_t lds, int limit, int *grid, int *block) {
    if (!grid || !block) return hipErrorInvalidValue;
    const KptKernel &k = *f->kernel;
    int most = most_threads(k), wave = int(k.wave_size);
    if (limit > 0) most = std::min(most, limit);
    int best = std::min(wave, most), resident = -1, count = 0;
    for (int threads = (most + wave - 1) / wave * wave; threads > 0; threads -= wave) {
        int size = std::min(threads, most), blocks = int(blocks_per_unit(k, uint32_t(size), lds));
        if (blocks * size > resident) best = size, resident = blocks * size, count = blocks;
    }
    *block = best;
    *grid = count * int(units(k));
    return count ? hipSuccess : hipErrorInvalidValue;
}

} // namespace
} // namespace kpt

using namespace kpt;

KPT_API hipError_t hipFuncGetAttributes(hipFuncAttributes *out, const void *host) {
    KPT_ENTER();
    if (!out) return done(hipErrorInvalidValue);
    hipError_t error;
    hipFunction_t f = registered_function(host, error);
    if (!f) return done(error);
    const KptKernel &k = *f->kernel;
    memset(out, 0, sizeof *out);
    out->binaryVersion = config().major * 10 + config().minor;
    out->ptxVersion = 30;
    out->localSizeBytes = k.scratch_lane_bytes;
    out->sharedSizeBytes = k.lds_bytes;
    out->maxDynamicSharedSizeBytes = dynamic_lds(k);
    out->maxThreadsPerBlock = most_threads(k);
    out->numRegs = int(k.vgprs);
    return done(hipSuccess);
}

KPT_API hipError_t hipFuncGetAttribute(int *value, int attribute, hipFunction_t f) {
    KPT_ENTER();
    if (!value || !f) return done(hipErrorInvalidValue);
    const KptKernel &k = *f->kernel;
    const int answers[] = {most_threads(k),
                           int(k.lds_bytes),
                           0,
                           int(k.scratch_lane_bytes),
                           int(k.vgprs),
                           30,
                           config().major * 10 + config().minor,
                           0,
                           dynamic_lds(k),
                           0};
    if (attribute < 0 || attribute >= int(sizeof answers / sizeof answers[0])) return done(hipErrorInvalidValue);
    *value = answers[attribute];
    return done(hipSuccess);
}

KPT_API hipError_t hipFuncSetAttribute(const void *host, int attribute, int value) {
    KPT_ENTER();
    hipError_t error;
    hipFunction_t f = registered_function(host, error);
    if (!f) return done(error);
    if (attribute != 8 && attribute != 9) return done(hipErrorInvalidValue);
    if (attribute == 8 && (value < 0 || value > dynamic_lds(*f->kernel))) return done(hipErrorInvalidValue);
    f->dynamic_lds_limit = uint32_t(value);
    return done(hipSuccess);
}
KPT_API hipError_t hipFuncSetCacheConfig(const void *, int) {
    KPT_ENTER();
    return done(hipSuccess);
}
KPT_API hipError_t hipFuncSetSharedMemConfig(const void *, int) {
    KPT_ENTER();
    return done(hipSuccess);
}

KPT_API hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, hipFunction_t f, int threads,
                                                                      size_t lds) {
    KPT_ENTER();
    if (!f) return done(hipErrorInvalidValue);
    return done(occupancy_of(f, threads, lds, blocks));
}
KPT_API hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, hipFunction_t f,
                                                                               int threads, size_t lds,
                                                                               unsigned flags) {
    if (flags > 1) return done(hipErrorInvalidValue);
    return hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(blocks, f, threads, lds);
}
KPT_API hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *host, int threads,
                                                                size_t lds) {
    KPT_ENTER();
    hipError_t error;
    hipFunction_t f = registered_function(host, error);
    return done(f ? occupancy_of(f, threads, lds, blocks) : error);
}
KPT_API hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *host, int threads,
                                                                         size_t lds, unsigned flags) {
    if (flags > 1) return done(hipErrorInvalidValue);
    return hipOccupancyMaxActiveBlocksPerMultiprocessor(blocks, host, threads, lds);
}
KPT_API hipError_t hipModuleOccupancyMaxPotentialBlockSize(int *grid, int *block, hipFunction_t f, size_t lds,
                                                           int limit) {
    KPT_ENTER();
    if (!f) return done(hipErrorInvalidValue);
    return done(best_block(f, lds, limit, grid, block));
}
KPT_API hipError_t hipModuleOccupancyMaxPotentialBlockSizeWithFlags(int *grid, int *block, hipFunction_t f, size_t lds,
                                                                    int limit, unsigned flags) {
    if (flags > 1) return done(hipErrorInvalidValue);
    return hipModuleOccupancyMaxPotentialBlockSize(grid, block, f, lds, limit);
}
KPT_API hipError_t hipOccupancyMaxPotentialBlockSize(int *grid, int *block, const void *host, size_t lds, int limit) {
    KPT_ENTER();
    hipError_t error;
    hipFunction_t f = registered_function(host, error);
    return done(f ? best_block(f, lds, limit, grid, block) : error);
}
KPT_API hipError_t hipOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, const void *host, int blocks, int threads) {
    KPT_ENTER();
    hipError_t error;
    hipFunction_t f = registered_function(host, error);
    if (!f || !bytes || blocks <= 0 || threads <= 0) return done(f ? hipErrorInvalidValue : error);
    const Occupancy &o = config().occupancy;
    uint64_t share = uint64_t(o.lds_bytes_per_cu) / unsigned(blocks) / o.lds_granule * o.lds_granule;
    share = std::min<uint64_t>(share, o.max_lds_per_workgroup);
    *bytes = share > f->kernel->lds_bytes ? share - f->kernel->lds_bytes : 0;
    return done(hipSuccess);
}

KPT_API const char *hipKernelNameRef(hipFunction_t f) { return f ? f->name.c_str() : nullptr; }
KPT_API const char *hipKernelNameRefByPtr(const void *host, hipStream_t) {
    hipError_t error;
    hipFunction_t f = host ? registered_function(host, error) : nullptr;
    return f ? f->name.c_str() : nullptr;
}
