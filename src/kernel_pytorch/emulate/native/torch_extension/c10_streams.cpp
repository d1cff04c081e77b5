/* libc10_hip: devices, streams and errors as c10/hip declares them.
 *
 * The torch device (native/torch_device) is registered with c10 as the guard of "cuda": everything here asks that
 * guard, so an extension, a Triton kernel and torch itself agree on the current device and stream. */
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/hip/HIPFunctions.h>
#include <c10/hip/HIPMiscFunctions.h>
#include <c10/hip/HIPStream.h>
#include <c10/hip/PeerToPeerAccess.h>

#include <mutex>
#include <ostream>

namespace c10::cuda {
namespace {

const c10::impl::DeviceGuardImplInterface *guard() { return c10::impl::getDeviceGuardImpl(DeviceType::CUDA); }

Device device_or_current(DeviceIndex index) {
    return index < 0 ? guard()->getDevice() : Device(DeviceType::CUDA, index);
}

} // namespace

/* The number of a stream is the runtime's handle. */
hipStream_t CUDAStream::stream() const { return reinterpret_cast<hipStream_t>(stream_.id()); }

bool CUDAStream::query() const { return guard()->queryStream(stream_); }

void CUDAStream::synchronize() const {
    DeviceGuard on_device{stream_.device()};
    c10::cuda::stream_synchronize(stream());
}

CUDAStream getStreamFromPool(const bool high_priority, DeviceIndex device) {
    return CUDAStream(guard()->getStreamFromGlobalPool(device_or_current(device), high_priority));
}

CUDAStream getStreamFromPool(const int priority, DeviceIndex device) {
    return CUDAStream(guard()->getNewStream(device_or_current(device), priority));
}

CUDAStream getStreamFromExternal(hipStream_t handle, DeviceIndex device) {
    return CUDAStream(Stream(Stream::UNSAFE, device_or_current(device), reinterpret_cast<StreamId>(handle)));
}

CUDAStream getDefaultCUDAStream(DeviceIndex device) {
    return CUDAStream(guard()->getDefaultStream(device_or_current(device)));
}

CUDAStream getCurrentCUDAStream(DeviceIndex device) {
    return CUDAStream(guard()->getStream(device_or_current(device)));
}

void setCurrentCUDAStream(CUDAStream stream) { guard()->exchangeStream(stream.unwrap()); }

std::ostream &operator<<(std::ostream &out, const CUDAStream &stream) { return out << stream.unwrap(); }

DeviceIndex device_count() noexcept { return guard()->deviceCount(); }

DeviceIndex device_count_ensure_non_zero() {
    DeviceIndex count = device_count();
    TORCH_CHECK(count > 0, "No HIP GPUs are available");
    return count;
}

DeviceIndex current_device() { return guard()->getDevice().index(); }

void set_device(DeviceIndex device, const bool) { guard()->setDevice(Device(DeviceType::CUDA, device)); }

void device_synchronize() { C10_CUDA_CHECK(hipDeviceSynchronize()); }

void warn_or_error_on_sync() {
    TORCH_CHECK(warning_state().get_sync_debug_mode() != SyncDebugMode::L_ERROR,
                "called a synchronizing HIP operation");
    if (warning_state().get_sync_debug_mode() == SyncDebugMode::L_WARN)
        TORCH_WARN("called a synchronizing HIP operation");
}

hipError_t GetDeviceCount(int *count) { return hipGetDeviceCount(count); }

hipError_t GetDevice(DeviceIndex *device) {
    *device = current_device();
    return hipSuccess;
}

hipError_t SetDevice(DeviceIndex device, const bool) {
    if (device < 0 || device >= device_count()) return hipErrorInvalidDevice;
    set_device(device);
    return hipSuccess;
}

hipError_t MaybeSetDevice(DeviceIndex device) { return SetDevice(device); }

DeviceIndex ExchangeDevice(DeviceIndex device) {
    return guard()->exchangeDevice(Device(DeviceType::CUDA, device)).index();
}

DeviceIndex MaybeExchangeDevice(DeviceIndex device) { return device < 0 ? current_device() : ExchangeDevice(device); }

void SetTargetDevice() {}

bool hasPrimaryContext(DeviceIndex device) { return device >= 0 && device < device_count(); }

std::optional<DeviceIndex> getDeviceIndexWithPrimaryContext() {
    return device_count() > 0 ? std::optional(current_device()) : std::nullopt;
}

std::string get_cuda_error_help(hipError_t) noexcept { return ""; }

const char *get_cuda_check_suffix() noexcept {
    return "\n(An emulated GPU: what the kernel did is in kpt's report; --check finds accesses outside of a buffer.)";
}

const char *get_cuda_async_error_suffix(hipError_t) noexcept { return ""; }

std::mutex *getFreeMutex() {
    static std::mutex *one = new std::mutex;
    return one;
}

void c10_cuda_check_implementation(const int32_t error, const char *file, const char *function, const uint32_t line,
                                   const bool) {
    if (C10_LIKELY(error == hipSuccess)) return;
    [[maybe_unused]] hipError_t cleared = hipGetLastError();
    std::string message =
        std::string("HIP error: ") + hipGetErrorString(static_cast<hipError_t>(error)) + get_cuda_check_suffix();
    throw c10::AcceleratorError({function, file, line}, error, message);
}

namespace detail {
void init_p2p_access_cache(int64_t) {}
} // namespace detail

bool get_p2p_access(DeviceIndex from, DeviceIndex to) {
    int allowed = 0;
    C10_CUDA_CHECK(hipDeviceCanAccessPeer(&allowed, from, to));
    return allowed != 0;
}

bool get_fabric_access(DeviceIndex) { return false; }

int get_fabric_clique_id(DeviceIndex) { return kCliqueIdUnsupported; }

std::string get_nvml_fabric_info(DeviceIndex) { return ""; }

} // namespace c10::cuda
