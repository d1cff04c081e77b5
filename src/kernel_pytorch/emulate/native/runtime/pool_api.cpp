/* Stream-ordered allocation. Operations run when they are submitted, so an allocation is usable at once and a pool is
 * a name with figures: memory freed to it is given back at once. */
#include <cstring>
#include <map>
#include <mutex>

#include "config.h"
#include "errors.h"
#include "memory.h"
#include "stream.h"

struct ihipMemPoolHandle_t {
    int device = 0;
    uint64_t release_threshold = 0, used = 0, high = 0, limit = 0;
    int reuse[4] = {1, 1, 1, 1};
};

namespace kpt {
namespace {

std::mutex pools_mutex;
std::map<int, hipMemPool_t> default_pools, current_pools;

hipMemPool_t default_pool(int device) {
    std::lock_guard<std::mutex> lock(pools_mutex);
    hipMemPool_t &pool = default_pools[device];
    if (!pool) {
        pool = new ihipMemPoolHandle_t;
        pool->device = device;
    }
    return pool;
}

hipError_t from_pool(void **pointer, size_t bytes, hipMemPool_t pool, hipStream_t stream) {
    if (!pointer || !resolve(stream)) return hipErrorInvalidValue;
    if (!bytes) {
        *pointer = nullptr;
        return hipSuccess;
    }
    if (pool->limit && pool->used + bytes > pool->limit) return hipErrorOutOfMemory;
    hipError_t error;
    Allocation *made = allocate(Kind::device, bytes, pool->device, 0, error);
    if (!made) return error;
    made->context = pool;
    pool->used += bytes;
    if (pool->used > pool->high) pool->high = pool->used;
    *pointer = reinterpret_cast<void *>(made->base);
    return hipSuccess;
}

} // namespace
} // namespace kpt

using namespace kpt;

KPT_API hipError_t hipDeviceGetDefaultMemPool(hipMemPool_t *pool, int device) {
    KPT_ENTER();
    if (!pool || !is_device(device)) return done(pool ? hipErrorInvalidDevice : hipErrorInvalidValue);
    *pool = default_pool(device);
    return done(hipSuccess);
}
KPT_API hipError_t hipDeviceGetMemPool(hipMemPool_t *pool, int device) {
    hipError_t error = hipDeviceGetDefaultMemPool(pool, device);
    if (error != hipSuccess) return error;
    std::lock_guard<std::mutex> lock(pools_mutex);
    auto chosen = current_pools.find(device);
    if (chosen != current_pools.end()) *pool = chosen->second;
    return done(hipSuccess);
}
KPT_API hipError_t hipDeviceSetMemPool(int device, hipMemPool_t pool) {
    KPT_ENTER();
    if (!pool || !is_device(device)) return done(pool ? hipErrorInvalidDevice : hipErrorInvalidValue);
    std::lock_guard<std::mutex> lock(pools_mutex);
    current_pools[device] = pool;
    return done(hipSuccess);
}
KPT_API hipError_t hipMemPoolCreate(hipMemPool_t *pool, const hipMemPoolProps *properties) {
    KPT_ENTER();
    if (!pool || !properties || !is_device(properties->location.id)) return done(hipErrorInvalidValue);
    *pool = new ihipMemPoolHandle_t;
    (*pool)->device = properties->location.id;
    (*pool)->limit = properties->maxSize;
    return done(hipSuccess);
}
KPT_API hipError_t hipMemPoolDestroy(hipMemPool_t pool) {
    KPT_ENTER();
    if (!pool || pool == default_pool(pool->device)) return done(hipErrorInvalidValue);
    std::lock_guard<std::mutex> lock(pools_mutex);
    for (auto at = current_pools.begin(); at != current_pools.end();)
        at = at->second == pool ? current_pools.erase(at) : std::next(at);
    /* Memory from it may still be in use: the handle's figures stay. */
    return done(hipSuccess);
}
KPT_API hipError_t hipMallocFromPoolAsync(void **pointer, size_t bytes, hipMemPool_t pool, hipStream_t stream) {
    KPT_ENTER();
    if (!pool) return done(hipErrorInvalidValue);
    return done(from_pool(pointer, bytes, pool, stream));
}
KPT_API hipError_t hipMallocAsync(void **pointer, size_t bytes, hipStream_t stream) {
    hipMemPool_t pool = nullptr;
    hipError_t error = hipDeviceGetMemPool(&pool, self().device);
    return error == hipSuccess ? hipMallocFromPoolAsync(pointer, bytes, pool, stream) : error;
}
KPT_API hipError_t hipFreeAsync(void *pointer, hipStream_t stream) {
    KPT_ENTER();
    if (!resolve(stream)) return done(hipErrorInvalidHandle);
    if (!pointer) return done(hipErrorInvalidValue);
    Allocation *found = find(uint64_t(pointer));
    if (!found || found->base != uint64_t(pointer) || found->kind != Kind::device) return done(hipErrorInvalidValue);
    if (auto *pool = static_cast<hipMemPool_t>(found->context)) pool->used -= found->bytes;
    Operation operation;
    operation.type = hipGraphNodeTypeMemFree;
    operation.freed = pointer;
    return done(submit(stream, std::move(operation)));
}
KPT_API hipError_t hipMemPoolTrimTo(hipMemPool_t pool, size_t) {
    KPT_ENTER();
    return done(pool ? hipSuccess : hipErrorInvalidValue);
}
KPT_API hipError_t hipMemPoolSetAttribute(hipMemPool_t pool, int attribute, void *value) {
    KPT_ENTER();
    if (!pool || !value) return done(hipErrorInvalidValue);
    if (attribute >= 1 && attribute <= 3)
        memcpy(&pool->reuse[attribute], value, 4);
    else if (attribute == 4)
        memcpy(&pool->release_threshold, value, 8);
    else if (attribute == 6 || attribute == 8)
        pool->high = pool->used;
    else
        return done(hipErrorInvalidValue);
    return done(hipSuccess);
}
KPT_API hipError_t hipMemPoolGetAttribute(hipMemPool_t pool, int attribute, void *value) {
    KPT_ENTER();
    if (!pool || !value) return done(hipErrorInvalidValue);
    if (attribute >= 1 && attribute <= 3)
        memcpy(value, &pool->reuse[attribute], 4);
    else if (attribute == 4)
        memcpy(value, &pool->release_threshold, 8);
    else if (attribute == 5 || attribute == 7)
        memcpy(value, &pool->used, 8);
    else if (attribute == 6 || attribute == 8)
        memcpy(value, &pool->high, 8);
    else
        return done(hipErrorInvalidValue);
    return done(hipSuccess);
}
KPT_API hipError_t hipMemPoolSetAccess(hipMemPool_t pool, const void *, size_t) {
    KPT_ENTER();
    return done(pool ? hipSuccess : hipErrorInvalidValue);
}
KPT_API hipError_t hipMemPoolGetAccess(int *flags, hipMemPool_t pool, hipMemLocation *) {
    KPT_ENTER();
    if (!flags || !pool) return done(hipErrorInvalidValue);
    *flags = 3; /* read and write */
    return done(hipSuccess);
}
