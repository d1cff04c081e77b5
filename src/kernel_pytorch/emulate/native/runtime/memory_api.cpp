/* hipMalloc and its relatives, memory pools, pointer attributes. */
#include <algorithm>
#include <cstring>

#include "config.h"
#include "errors.h"
#include "memory.h"
#include "pending.h"
#include "stream.h"

namespace kpt {
namespace {

enum { HOST_REGISTER_MAPPED = 2 };
const uint64_t PITCH_STEP = 256;

hipError_t give(void **pointer, size_t bytes, Kind kind, unsigned flags, void *pool = nullptr) {
    if (!pointer) return hipErrorInvalidValue;
    if (!bytes) {
        *pointer = nullptr;
        return hipSuccess;
    }
    hipError_t error;
    Allocation *made = allocate(kind, bytes, self().device, flags, error);
    if (!made) return error;
    made->context = pool;
    *pointer = reinterpret_cast<void *>(made->base);
    return hipSuccess;
}

hipError_t take_back(void *pointer, bool host) {
    if (!pointer) return hipSuccess;
    Allocation *found = find(uint64_t(pointer));
    bool freed = false;
    if (!found || found->base != uint64_t(pointer) || !found->id || found->kind == Kind::registered) {
        std::string where = describe(uint64_t(pointer), freed);
        if (freed) say("%s: %p was freed before: %s", host ? "hipHostFree" : "hipFree", pointer, where.c_str());
        return hipErrorInvalidValue;
    }
    /* hipFree waits for the device, and here for the one that the memory is of. */
    finish_device(self().device, host ? "hipHostFree" : "hipFree");
    if (found->device != self().device) finish_device(found->device, host ? "hipHostFree" : "hipFree");
    host_waits_for_device(self().device);
    release(found->base);
    return hipSuccess;
}

} // namespace
} // namespace kpt

using namespace kpt;

KPT_API hipError_t hipMalloc(void **pointer, size_t bytes) {
    KPT_ENTER();
    return done(give(pointer, bytes, Kind::device, 0));
}
KPT_API hipError_t hipExtMallocWithFlags(void **pointer, size_t bytes, unsigned flags) {
    KPT_ENTER();
    return done(give(pointer, bytes, Kind::device, flags));
}
KPT_API hipError_t hipMallocManaged(void **pointer, size_t bytes, unsigned flags) {
    KPT_ENTER();
    if (!bytes) return done(hipErrorInvalidValue);
    return done(give(pointer, bytes, Kind::managed, flags));
}
KPT_API hipError_t hipHostMalloc(void **pointer, size_t bytes, unsigned flags) {
    KPT_ENTER();
    return done(give(pointer, bytes, Kind::host, flags));
}
KPT_API hipError_t hipHostAlloc(void **pointer, size_t bytes, unsigned flags) {
    return hipHostMalloc(pointer, bytes, flags);
}
KPT_API hipError_t hipExtHostAlloc(void **pointer, size_t bytes, unsigned flags) {
    return hipHostMalloc(pointer, bytes, flags);
}
KPT_API hipError_t hipMallocHost(void **pointer, size_t bytes) { return hipHostMalloc(pointer, bytes, 0); }
KPT_API hipError_t hipMemAllocHost(void **pointer, size_t bytes) { return hipHostMalloc(pointer, bytes, 0); }

KPT_API hipError_t hipFree(void *pointer) {
    KPT_ENTER();
    return done(take_back(pointer, false));
}
KPT_API hipError_t hipHostFree(void *pointer) {
    KPT_ENTER();
    return done(take_back(pointer, true));
}
KPT_API hipError_t hipFreeHost(void *pointer) { return hipHostFree(pointer); }

KPT_API hipError_t hipHostRegister(void *pointer, size_t bytes, unsigned flags) {
    KPT_ENTER();
    if (!pointer || !bytes) return done(hipErrorInvalidValue);
    return done(adopt(pointer, bytes, flags) ? hipSuccess : hipErrorHostMemoryAlreadyRegistered);
}
KPT_API hipError_t hipHostUnregister(void *pointer) {
    KPT_ENTER();
    Allocation *found = pointer ? find(uint64_t(pointer)) : nullptr;
    if (!found || found->kind != Kind::registered || found->base != uint64_t(pointer))
        return done(pointer ? hipErrorHostMemoryNotRegistered : hipErrorInvalidValue);
    finish_all("hipHostUnregister");
    release(found->base);
    return done(hipSuccess);
}
KPT_API hipError_t hipHostGetDevicePointer(void **device, void *host, unsigned) {
    KPT_ENTER();
    Allocation *found = host ? find(uint64_t(host)) : nullptr;
    if (!device || !found || found->kind == Kind::device) return done(hipErrorInvalidValue);
    *device = host;
    return done(hipSuccess);
}
KPT_API hipError_t hipHostGetFlags(unsigned *flags, void *host) {
    KPT_ENTER();
    Allocation *found = host ? find(uint64_t(host)) : nullptr;
    if (!flags || !found || found->kind == Kind::device) return done(hipErrorInvalidValue);
    *flags = found->flags;
    return done(hipSuccess);
}

KPT_API hipError_t hipMallocPitch(void **pointer, size_t *pitch, size_t width, size_t height) {
    KPT_ENTER();
    if (!pitch) return done(hipErrorInvalidValue);
    *pitch = (width + PITCH_STEP - 1) / PITCH_STEP * PITCH_STEP;
    return done(give(pointer, *pitch * height, Kind::device, 0));
}
KPT_API hipError_t hipMemAllocPitch(void **pointer, size_t *pitch, size_t width, size_t height, unsigned) {
    return hipMallocPitch(pointer, pitch, width, height);
}
KPT_API hipError_t hipMalloc3D(hipPitchedPtr *out, hipExtent extent) {
    KPT_ENTER();
    if (!out) return done(hipErrorInvalidValue);
    size_t pitch = (extent.width + PITCH_STEP - 1) / PITCH_STEP * PITCH_STEP;
    void *pointer = nullptr;
    hipError_t error = give(&pointer, pitch * extent.height * extent.depth, Kind::device, 0);
    if (error == hipSuccess) *out = {pointer, pitch, extent.width, extent.height};
    return done(error);
}

KPT_API hipError_t hipMemGetInfo(size_t *free_bytes, size_t *total) {
    KPT_ENTER();
    uint64_t all = config().device_memory, limit = std::min(all, config().memory_limit), in_use = used(self().device);
    if (free_bytes) *free_bytes = limit > in_use ? limit - in_use : 0;
    if (total) *total = all;
    return done(hipSuccess);
}
KPT_API hipError_t hipMemPtrGetInfo(void *pointer, size_t *bytes) {
    KPT_ENTER();
    Allocation *found = pointer ? find(uint64_t(pointer)) : nullptr;
    if (!bytes || !found) return done(hipErrorInvalidValue);
    *bytes = found->bytes;
    return done(hipSuccess);
}
KPT_API hipError_t hipMemGetAddressRange(void **base, size_t *bytes, void *pointer) {
    KPT_ENTER();
    Allocation *found = pointer ? find(uint64_t(pointer)) : nullptr;
    if (!found) return done(pointer ? hipErrorNotFound : hipErrorInvalidValue);
    if (base) *base = reinterpret_cast<void *>(found->base);
    if (bytes) *bytes = found->bytes;
    return done(hipSuccess);
}

static hipMemoryType type_of(const Allocation &a) {
    if (a.kind == Kind::host || a.kind == Kind::registered) return hipMemoryTypeHost;
    return a.kind == Kind::managed ? hipMemoryTypeManaged : hipMemoryTypeDevice;
}

KPT_API hipError_t hipPointerGetAttributes(hipPointerAttribute_t *out, const void *pointer) {
    KPT_ENTER();
    if (!out) return done(hipErrorInvalidValue);
    Allocation *found = pointer ? find(uint64_t(pointer)) : nullptr;
    *out = {};
    if (!found) {
        /* Since ROCm 6 a pointer HIP does not know is "unregistered", not an error. */
        out->type = hipMemoryTypeUnregistered;
        out->device = -2;
        out->hostPointer = const_cast<void *>(pointer);
        return done(pointer ? hipSuccess : hipErrorInvalidValue);
    }
    out->type = type_of(*found);
    out->device = found->device;
    out->devicePointer = const_cast<void *>(pointer);
    out->hostPointer = out->type == hipMemoryTypeDevice ? nullptr : const_cast<void *>(pointer);
    out->isManaged = found->kind == Kind::managed;
    out->allocationFlags = found->flags;
    return done(hipSuccess);
}

KPT_API hipError_t hipPointerGetAttribute(void *data, int attribute, void *pointer) {
    KPT_ENTER();
    Allocation *found = pointer ? find(uint64_t(pointer)) : nullptr;
    if (!data || !found) return done(hipErrorInvalidValue);
    uint64_t at = uint64_t(pointer);
    uint32_t small = 0;
    switch (attribute) {
    case 2: small = uint32_t(type_of(*found)); break;
    case 3: memcpy(data, &at, 8); return done(hipSuccess);
    case 4:
        if (type_of(*found) == hipMemoryTypeDevice) return done(hipErrorInvalidValue);
        memcpy(data, &at, 8);
        return done(hipSuccess);
    case 7: memcpy(data, &found->id, 8); return done(hipSuccess);
    case 8: memset(data, found->kind == Kind::managed, 1); return done(hipSuccess);
    case 9: small = uint32_t(found->device); break;
    case 11: memcpy(data, &found->base, 8); return done(hipSuccess);
    case 12: memcpy(data, &found->bytes, 8); return done(hipSuccess);
    case 13: memset(data, 1, 1); return done(hipSuccess);
    default: return done(hipErrorNotSupported);
    }
    memcpy(data, &small, 4);
    return done(hipSuccess);
}

KPT_API hipError_t hipMemAdvise(const void *pointer, size_t bytes, int, int) {
    KPT_ENTER();
    return done(pointer && bytes ? hipSuccess : hipErrorInvalidValue);
}
KPT_API hipError_t hipMemPrefetchAsync(const void *pointer, size_t bytes, int, hipStream_t stream) {
    KPT_ENTER();
    return done(pointer && bytes && resolve(stream) ? hipSuccess : hipErrorInvalidValue);
}
KPT_API hipError_t hipMemAdvise_v2(const void *pointer, size_t bytes, int advice, hipMemLocation location) {
    return hipMemAdvise(pointer, bytes, advice, location.id);
}
KPT_API hipError_t hipMemPrefetchAsync_v2(const void *pointer, size_t bytes, hipMemLocation where, unsigned,
                                          hipStream_t stream) {
    return hipMemPrefetchAsync(pointer, bytes, where.id, stream);
}
