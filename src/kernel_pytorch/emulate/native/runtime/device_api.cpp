/* Devices, contexts, limits, peers, versions. */
#include <dlfcn.h>

#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "config.h"
#include "errors.h"
#include "launch.h"
#include "memory.h"
#include "pending.h"
#include "stream.h"

struct ihipCtx_t {
    int device;
};

namespace kpt {
namespace {

const int RUNTIME_VERSION = 70253211; /* as 7.2 answers: major * 10^7 + minor * 10^5 + patch */

std::mutex device_mutex;
std::set<std::pair<int, int>> peers;
std::map<int, size_t> limits = {{0, 1024}, {1, 1 << 20}, {2, 4 << 20}, {0x1000, 0}, {0x1001, 1ull << 32}, {0x1002, 0}};
unsigned device_flags = 0;

ihipCtx_t *context(int device) {
    static ihipCtx_t *all = [] {
        auto *made = new ihipCtx_t[64];
        for (int i = 0; i < 64; i++) made[i].device = i;
        return made;
    }();
    return &all[device & 63];
}

} // namespace

size_t device_limit(int limit) {
    std::lock_guard<std::mutex> lock(device_mutex);
    auto found = limits.find(limit);
    return found == limits.end() ? 0 : found->second;
}

} // namespace kpt

using namespace kpt;

KPT_API hipError_t hipInit(unsigned flags) {
    KPT_ENTER();
    return done(flags ? hipErrorInvalidValue : hipSuccess);
}
KPT_API hipError_t hipDriverGetVersion(int *version) {
    if (!version) return done(hipErrorInvalidValue);
    *version = RUNTIME_VERSION;
    return hipSuccess;
}
KPT_API hipError_t hipRuntimeGetVersion(int *version) { return hipDriverGetVersion(version); }

KPT_API hipError_t hipGetDeviceCount(int *count) {
    if (!count) return done(hipErrorInvalidValue);
    *count = 0;
    KPT_ENTER();
    *count = config().devices;
    return done(hipSuccess);
}
KPT_API hipError_t hipSetDevice(int device) {
    KPT_ENTER();
    if (!is_device(device)) return done(hipErrorInvalidDevice);
    self().device = device;
    return done(hipSuccess);
}
KPT_API hipError_t hipGetDevice(int *device) {
    KPT_ENTER();
    if (!device) return done(hipErrorInvalidValue);
    *device = self().device;
    return done(hipSuccess);
}
KPT_API hipError_t hipDeviceGet(hipDevice_t *device, int ordinal) {
    KPT_ENTER();
    if (!device) return done(hipErrorInvalidValue);
    if (!is_device(ordinal)) return done(hipErrorInvalidDevice);
    *device = ordinal;
    return done(hipSuccess);
}
KPT_API hipError_t hipSetValidDevices(int *, int) {
    KPT_ENTER();
    return done(hipSuccess);
}
KPT_API hipError_t hipDeviceSynchronize() {
    KPT_ENTER();
    finish_device(self().device, "hipDeviceSynchronize");
    host_waits_for_device(self().device);
    return done(stuck());
}
KPT_API hipError_t hipDeviceReset() {
    if (!config().usable) return done(hipErrorNoDevice);
    finish_all("hipDeviceReset");
    release_all();
    unstick();
    return hipSuccess;
}
KPT_API hipError_t hipSetDeviceFlags(unsigned flags) {
    KPT_ENTER();
    device_flags = flags;
    return done(hipSuccess);
}
KPT_API hipError_t hipGetDeviceFlags(unsigned *flags) {
    KPT_ENTER();
    if (!flags) return done(hipErrorInvalidValue);
    *flags = device_flags;
    return done(hipSuccess);
}

KPT_API hipError_t hipDeviceGetLimit(size_t *value, int limit) {
    KPT_ENTER();
    if (!value) return done(hipErrorInvalidValue);
    std::lock_guard<std::mutex> lock(device_mutex);
    auto found = limits.find(limit);
    if (found == limits.end()) return done(hipErrorUnsupportedLimit);
    *value = found->second;
    return done(hipSuccess);
}
KPT_API hipError_t hipDeviceSetLimit(int limit, size_t value) {
    KPT_ENTER();
    std::lock_guard<std::mutex> lock(device_mutex);
    if (!limits.count(limit)) return done(hipErrorUnsupportedLimit);
    limits[limit] = value;
    return done(hipSuccess);
}

KPT_API hipError_t hipDeviceCanAccessPeer(int *can, int device, int peer) {
    KPT_ENTER();
    if (!can) return done(hipErrorInvalidValue);
    if (!is_device(device) || !is_device(peer)) return done(hipErrorInvalidDevice);
    *can = device != peer;
    return done(hipSuccess);
}
KPT_API hipError_t hipDeviceEnablePeerAccess(int peer, unsigned flags) {
    KPT_ENTER();
    if (flags) return done(hipErrorInvalidValue);
    if (!is_device(peer) || peer == self().device) return done(hipErrorInvalidDevice);
    std::lock_guard<std::mutex> lock(device_mutex);
    return done(peers.insert({self().device, peer}).second ? hipSuccess : hipErrorPeerAccessAlreadyEnabled);
}
KPT_API hipError_t hipDeviceDisablePeerAccess(int peer) {
    KPT_ENTER();
    if (!is_device(peer) || peer == self().device) return done(hipErrorInvalidDevice);
    std::lock_guard<std::mutex> lock(device_mutex);
    return done(peers.erase({self().device, peer}) ? hipSuccess : hipErrorPeerAccessNotEnabled);
}
KPT_API hipError_t hipDeviceGetP2PAttribute(int *value, int attribute, int from, int to) {
    KPT_ENTER();
    if (!value || attribute < 0 || attribute > 3) return done(hipErrorInvalidValue);
    if (!is_device(from) || !is_device(to) || from == to) return done(hipErrorInvalidDevice);
    *value = attribute == 0 ? 0 : 1;
    return done(hipSuccess);
}

KPT_API hipError_t hipCtxCreate(hipCtx_t *out, unsigned, hipDevice_t device) {
    KPT_ENTER();
    if (!out) return done(hipErrorInvalidValue);
    if (!is_device(device)) return done(hipErrorInvalidDevice);
    self().device = device;
    *out = context(device);
    return done(hipSuccess);
}
KPT_API hipError_t hipCtxDestroy(hipCtx_t c) {
    KPT_ENTER();
    return done(c ? hipSuccess : hipErrorInvalidValue);
}
KPT_API hipError_t hipCtxGetCurrent(hipCtx_t *out) {
    KPT_ENTER();
    if (!out) return done(hipErrorInvalidValue);
    *out = context(self().device);
    return done(hipSuccess);
}
KPT_API hipError_t hipCtxSetCurrent(hipCtx_t c) {
    KPT_ENTER();
    if (c) self().device = c->device;
    return done(hipSuccess);
}
KPT_API hipError_t hipCtxPushCurrent(hipCtx_t c) { return hipCtxSetCurrent(c); }
KPT_API hipError_t hipCtxPopCurrent(hipCtx_t *out) {
    KPT_ENTER();
    if (out) *out = context(self().device);
    return done(hipSuccess);
}
KPT_API hipError_t hipCtxGetDevice(hipDevice_t *device) { return hipGetDevice(device); }
KPT_API hipError_t hipCtxSynchronize() { return hipDeviceSynchronize(); }
KPT_API hipError_t hipCtxGetApiVersion(hipCtx_t, int *version) {
    if (!version) return done(hipErrorInvalidValue);
    *version = 4;
    return hipSuccess;
}
KPT_API hipError_t hipDevicePrimaryCtxRetain(hipCtx_t *out, hipDevice_t device) {
    KPT_ENTER();
    if (!out) return done(hipErrorInvalidValue);
    if (!is_device(device)) return done(hipErrorInvalidDevice);
    *out = context(device);
    return done(hipSuccess);
}
KPT_API hipError_t hipDevicePrimaryCtxRelease(hipDevice_t device) {
    KPT_ENTER();
    return done(is_device(device) ? hipSuccess : hipErrorInvalidDevice);
}
KPT_API hipError_t hipDevicePrimaryCtxGetState(hipDevice_t device, unsigned *flags, int *active) {
    KPT_ENTER();
    if (!is_device(device)) return done(hipErrorInvalidDevice);
    if (flags) *flags = 0;
    if (active) *active = device == self().device;
    return done(hipSuccess);
}
KPT_API hipError_t hipDevicePrimaryCtxReset(hipDevice_t) { return hipDeviceReset(); }
KPT_API hipError_t hipDevicePrimaryCtxSetFlags(hipDevice_t device, unsigned) {
    return hipDevicePrimaryCtxRelease(device);
}

/* Hints that change nothing here. */
static hipError_t accepted() {
    KPT_ENTER();
    return done(hipSuccess);
}
KPT_API hipError_t hipDeviceSetCacheConfig(int) { return accepted(); }
KPT_API hipError_t hipDeviceGetCacheConfig(int *value) {
    if (!value) return done(hipErrorInvalidValue);
    *value = 0;
    return hipSuccess;
}
KPT_API hipError_t hipDeviceSetSharedMemConfig(int) { return accepted(); }
KPT_API hipError_t hipDeviceGetSharedMemConfig(int *value) { return hipDeviceGetCacheConfig(value); }
KPT_API hipError_t hipCtxSetCacheConfig(int) { return accepted(); }
KPT_API hipError_t hipCtxGetCacheConfig(int *value) { return hipDeviceGetCacheConfig(value); }
KPT_API hipError_t hipCtxSetSharedMemConfig(int) { return accepted(); }
KPT_API hipError_t hipCtxGetSharedMemConfig(int *value) { return hipDeviceGetCacheConfig(value); }
KPT_API hipError_t hipProfilerStart() { return accepted(); }
KPT_API hipError_t hipProfilerStop() { return accepted(); }

KPT_API hipError_t hipGetProcAddress(const char *symbol, void **pointer, int version, uint64_t, int *status) {
    KPT_ENTER();
    if (!symbol || !pointer) return done(hipErrorInvalidValue);
    std::string wanted = symbol;
    // Two functions changed their structure with ROCm 6; headers rename them, and a name asked for at run time is
    // renamed by the version that is asked for, as in ROCm's own library. Triton's driver asks like this.
    if (version >= 600 && (wanted == "hipGetDeviceProperties" || wanted == "hipChooseDevice")) wanted += "R0600";
    Dl_info own;
    void *library =
        dladdr(reinterpret_cast<void *>(&hipInit), &own) ? dlopen(own.dli_fname, RTLD_NOW | RTLD_NOLOAD) : nullptr;
    *pointer = library ? dlsym(library, wanted.c_str()) : nullptr;
    if (library) dlclose(library);
    if (status) *status = *pointer ? 0 : 1;
    return done(*pointer ? hipSuccess : hipErrorNotFound);
}
