/* Device properties and attributes, out of the device description. */
#include <cstdlib>
#include <cstring>

#include "config.h"
#include "errors.h"

namespace kpt {
namespace {

struct PropertyReader {
    const Json &values = config().gpu["properties"];
    template <class T>
    void read(T &out, const char *name) const {
        out = T(values[name].number_or(0));
    }
    template <size_t N>
    void read(int (&out)[N], const char *name) const {
        const Json &list = values[name];
        for (size_t i = 0; i < N && i < list.items.size(); i++) out[i] = int(list.items[i].number_or(0));
    }
    template <size_t N>
    void read(char (&out)[N], const char *name) const {
        strncpy(out, values[name].text_or("").c_str(), N - 1);
    }
};

/* Members both forms of the structure have. */
template <class P>
void common(P &p, int device) {
    PropertyReader r;
#define KPT_READ_MEMBER(name) r.read(p.name, #name);
    KPT_READ_MEMBER(name)
    KPT_READ_MEMBER(sharedMemPerBlock)
    KPT_READ_MEMBER(regsPerBlock)
    KPT_READ_MEMBER(warpSize)
    KPT_READ_MEMBER(maxThreadsPerBlock)
    KPT_READ_MEMBER(maxThreadsDim)
    KPT_READ_MEMBER(maxGridSize)
    KPT_READ_MEMBER(clockRate)
    KPT_READ_MEMBER(memoryClockRate)
    KPT_READ_MEMBER(memoryBusWidth)
    KPT_READ_MEMBER(totalConstMem)
    KPT_READ_MEMBER(major)
    KPT_READ_MEMBER(minor)
    KPT_READ_MEMBER(multiProcessorCount)
    KPT_READ_MEMBER(l2CacheSize)
    KPT_READ_MEMBER(maxThreadsPerMultiProcessor)
    KPT_READ_MEMBER(clockInstructionRate)
    KPT_READ_MEMBER(concurrentKernels)
    KPT_READ_MEMBER(maxSharedMemoryPerMultiProcessor)
    KPT_READ_MEMBER(canMapHostMemory)
    KPT_READ_MEMBER(gcnArchName)
    KPT_READ_MEMBER(cooperativeLaunch)
    KPT_READ_MEMBER(cooperativeMultiDeviceLaunch)
    KPT_READ_MEMBER(maxTexture1DLinear)
    KPT_READ_MEMBER(maxTexture1D)
    KPT_READ_MEMBER(maxTexture2D)
    KPT_READ_MEMBER(maxTexture3D)
    KPT_READ_MEMBER(memPitch)
    KPT_READ_MEMBER(textureAlignment)
    KPT_READ_MEMBER(texturePitchAlignment)
    KPT_READ_MEMBER(ECCEnabled)
    KPT_READ_MEMBER(isLargeBar)
    KPT_READ_MEMBER(managedMemory)
    KPT_READ_MEMBER(directManagedMemAccessFromHost)
    KPT_READ_MEMBER(concurrentManagedAccess)
    KPT_READ_MEMBER(pageableMemoryAccess)
    KPT_READ_MEMBER(pageableMemoryAccessUsesHostPageTables)
    p.totalGlobalMem = config().device_memory;
    p.pciBusID = device + 1;
    p.arch.flags = uint32_t(r.values["arch"].number_or(0));
}

hipError_t properties(hipDeviceProp_tR0600 *out, int device) {
    if (!out) return hipErrorInvalidValue;
    if (!is_device(device)) return hipErrorInvalidDevice;
    hipDeviceProp_tR0600 &p = *out;
    memset(static_cast<void *>(&p), 0, sizeof p);
    common(p, device);
    PropertyReader r;
    KPT_READ_MEMBER(asyncEngineCount)
    KPT_READ_MEMBER(unifiedAddressing)
    KPT_READ_MEMBER(streamPrioritiesSupported)
    KPT_READ_MEMBER(globalL1CacheSupported)
    KPT_READ_MEMBER(localL1CacheSupported)
    KPT_READ_MEMBER(sharedMemPerMultiprocessor)
    KPT_READ_MEMBER(regsPerMultiprocessor)
    KPT_READ_MEMBER(hostNativeAtomicSupported)
    KPT_READ_MEMBER(canUseHostPointerForRegisteredMem)
    KPT_READ_MEMBER(sharedMemPerBlockOptin)
    KPT_READ_MEMBER(maxBlocksPerMultiProcessor)
    KPT_READ_MEMBER(hostRegisterSupported)
    KPT_READ_MEMBER(memoryPoolsSupported)
    KPT_READ_MEMBER(deviceOverlap)
    KPT_READ_MEMBER(surfaceAlignment)
    KPT_READ_MEMBER(maxTexture1DMipmap)
    KPT_READ_MEMBER(maxTexture1DLayered)
    KPT_READ_MEMBER(maxTexture2DLayered)
    KPT_READ_MEMBER(maxSurface1D)
    KPT_READ_MEMBER(maxSurface2D)
    KPT_READ_MEMBER(maxSurface3D)
    KPT_READ_MEMBER(maxSurface1DLayered)
    KPT_READ_MEMBER(maxSurface2DLayered)
    snprintf(p.uuid, sizeof p.uuid, "kpt-%010d", device);
    return hipSuccess;
}

} // namespace
} // namespace kpt

using namespace kpt;

KPT_API hipError_t hipGetDevicePropertiesR0600(hipDeviceProp_tR0600 *out, int device) {
    KPT_ENTER();
    return done(properties(out, device));
}

KPT_API hipError_t hipGetDevicePropertiesR0000(hipDeviceProp_tR0000 *out, int device) {
    KPT_ENTER();
    if (!out) return done(hipErrorInvalidValue);
    if (!is_device(device)) return done(hipErrorInvalidDevice);
    memset(static_cast<void *>(out), 0, sizeof *out);
    common(*out, device);
    return done(hipSuccess);
}

/* Programs built before ROCm 6 ask for the old structure under the plain name. */
KPT_API hipError_t hipGetDeviceProperties(hipDeviceProp_tR0000 *out, int device) {
    return hipGetDevicePropertiesR0000(out, device);
}

KPT_API hipError_t hipDeviceGetAttribute(int *value, int attribute, int device) {
    KPT_ENTER();
    if (!value) return done(hipErrorInvalidValue);
    if (!is_device(device)) return done(hipErrorInvalidDevice);
    const Json &known = config().gpu["attributes"][std::to_string(attribute)];
    if (known.type != Json::number) return done(hipErrorInvalidValue);
    double number = known.value;
    if (attribute == 67) number = device + 1; /* PCI bus */
    if (attribute == 84) number = double(config().device_memory);
    *value = number > 2147483647.0 ? 2147483647 : int(number);
    return done(hipSuccess);
}

KPT_API hipError_t hipDeviceGetName(char *name, int length, int device) {
    KPT_ENTER();
    if (!name || length <= 0) return done(hipErrorInvalidValue);
    if (!is_device(device)) return done(hipErrorInvalidDevice);
    snprintf(name, size_t(length), "%s", config().name.c_str());
    return done(hipSuccess);
}

KPT_API hipError_t hipDeviceTotalMem(size_t *bytes, int device) {
    KPT_ENTER();
    if (!bytes) return done(hipErrorInvalidValue);
    if (!is_device(device)) return done(hipErrorInvalidDevice);
    *bytes = config().device_memory;
    return done(hipSuccess);
}

KPT_API hipError_t hipDeviceComputeCapability(int *major, int *minor, int device) {
    KPT_ENTER();
    if (!major || !minor) return done(hipErrorInvalidValue);
    if (!is_device(device)) return done(hipErrorInvalidDevice);
    *major = config().major;
    *minor = config().minor;
    return done(hipSuccess);
}

KPT_API hipError_t hipDeviceGetUuid(void *uuid, int device) {
    KPT_ENTER();
    if (!uuid) return done(hipErrorInvalidValue);
    if (!is_device(device)) return done(hipErrorInvalidDevice);
    char text[16];
    snprintf(text, sizeof text, "kpt-%010d", device);
    memcpy(uuid, text, 16);
    return done(hipSuccess);
}

KPT_API hipError_t hipDeviceGetPCIBusId(char *text, int length, int device) {
    KPT_ENTER();
    if (!text || length < 13) return done(hipErrorInvalidValue);
    if (!is_device(device)) return done(hipErrorInvalidDevice);
    snprintf(text, size_t(length), "0000:%02x:00.0", (device + 1) & 0xff);
    return done(hipSuccess);
}

KPT_API hipError_t hipDeviceGetByPCIBusId(int *device, const char *text) {
    KPT_ENTER();
    unsigned domain, bus;
    if (!device || !text || sscanf(text, "%x:%x", &domain, &bus) != 2 || !is_device(int(bus) - 1))
        return done(hipErrorInvalidValue);
    *device = int(bus) - 1;
    return done(hipSuccess);
}

KPT_API hipError_t hipChooseDeviceR0600(int *device, const hipDeviceProp_tR0600 *) {
    KPT_ENTER();
    if (!device) return done(hipErrorInvalidValue);
    *device = 0; /* all devices are alike */
    return done(hipSuccess);
}
KPT_API hipError_t hipChooseDeviceR0000(int *device, const hipDeviceProp_tR0000 *) {
    return hipChooseDeviceR0600(device, nullptr);
}
KPT_API hipError_t hipChooseDevice(int *device, const hipDeviceProp_tR0000 *) {
    return hipChooseDeviceR0600(device, nullptr);
}
