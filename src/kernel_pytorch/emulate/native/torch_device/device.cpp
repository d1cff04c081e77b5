#include "device.h"

#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/util/Exception.h>
#include <pthread.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <vector>

#include "generator.h"
#include "memory.h"
#include "stream_uses.h"

namespace kpt_torch {
namespace {

thread_local int this_device = 0;
thread_local std::array<int64_t, MOST_DEVICES> this_streams{};

constexpr int STREAMS_PER_PRIORITY = 32; /* torch hands out the same streams again after so many */

struct StreamPool {
    std::mutex mutex;
    std::vector<HipStream> streams[2];
    size_t next[2] = {0, 0};
};
StreamPool &stream_pool(int device) {
    static StreamPool *pools = new StreamPool[MOST_DEVICES];
    return pools[device];
}

bool initialized = false, bad_fork = false, opened = true;

[[noreturn]] void raise_hip(int error, const std::string &message) {
    throw c10::AcceleratorError({__func__, __FILE__, uint32_t(__LINE__)}, error, message);
}

} // namespace

bool watches_writes() {
    static const bool checked = [] {
        const char *flags = std::getenv("KPT_EMULATE_FLAGS");
        return flags && std::strstr(flags, "checked");
    }();
    return checked;
}

void check_hip(int error) {
    if (error == HIP_SUCCESS) return;
    raise_hip(error, c10::str("HIP error: ", hipGetErrorString(error),
                              "\nCompile with `TORCH_USE_HIP_DSA` to enable device-side assertions.\n"
                              "(An emulated GPU: what the kernel did is in kpt's report.)"));
}

int device_count() {
    static int count = [] {
        int found = 0;
        return hipGetDeviceCount(&found) == HIP_SUCCESS ? std::min(found, MOST_DEVICES) : 0;
    }();
    return opened ? count : 0;
}

void set_open(bool open) { opened = open; }

int current_device() { return this_device; }

int set_device(int device) {
    TORCH_CHECK(opened, "Torch not compiled with CUDA enabled");
    TORCH_CHECK(!bad_fork, "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must "
                           "use the 'spawn' start method");
    constexpr int INVALID_DEVICE = 101;
    if (device < 0 || device >= device_count())
        raise_hip(INVALID_DEVICE,
                  c10::str("HIP error: invalid device ordinal (device ", device, " of ", device_count(), ")"));
    int before = this_device;
    if (device != before) {
        check_hip(hipSetDevice(device));
        this_device = device;
    }
    return before;
}

c10::Stream current_stream(int device) {
    return c10::Stream(c10::Stream::UNSAFE, {c10::kCUDA, c10::DeviceIndex(device)}, this_streams[size_t(device)]);
}

void set_current_stream(c10::Stream stream) { this_streams[size_t(stream.device_index())] = stream.id(); }

c10::Stream stream_of(HipStream handle, int device) {
    return c10::Stream(c10::Stream::UNSAFE, {c10::kCUDA, c10::DeviceIndex(device)}, reinterpret_cast<int64_t>(handle));
}

c10::Stream pooled_stream(int device, int priority) {
    StreamPool &pool = stream_pool(device);
    std::lock_guard<std::mutex> lock(pool.mutex);
    size_t kind = priority < 0 ? 1 : 0;
    auto &streams = pool.streams[kind];
    if (streams.size() < STREAMS_PER_PRIORITY) {
        int before = set_device(device);
        HipStream made = nullptr;
        check_hip(hipStreamCreateWithPriority(&made, 1, priority < 0 ? -1 : 0));
        set_device(before);
        streams.push_back(made);
        return stream_of(made, device);
    }
    return stream_of(streams[pool.next[kind]++ % streams.size()], device);
}

void mark_initialized() {
    if (initialized) return;
    initialized = true;
    pthread_atfork(nullptr, nullptr, [] { bad_fork = true; });
}
bool is_initialized() { return initialized; }
bool in_bad_fork() { return bad_fork; }

namespace {

/* Each device has a default stream: the runtime takes that of the current device. */
class OnDeviceOf {
public:
    explicit OnDeviceOf(const c10::Stream &stream) : before_(set_device(stream.device_index())) {}
    ~OnDeviceOf() { set_device(before_); }
    OnDeviceOf(const OnDeviceOf &) = delete;
    OnDeviceOf &operator=(const OnDeviceOf &) = delete;

private:
    int before_;
};

struct DeviceGuard final : c10::impl::DeviceGuardImplInterface {
    c10::DeviceType type() const override { return c10::kCUDA; }
    c10::Device exchangeDevice(c10::Device device) const override {
        return {c10::kCUDA, c10::DeviceIndex(set_device(device.index()))};
    }
    c10::Device getDevice() const override { return {c10::kCUDA, c10::DeviceIndex(current_device())}; }
    void setDevice(c10::Device device) const override { set_device(device.index()); }
    void uncheckedSetDevice(c10::Device device) const noexcept override {
        if (device.index() >= 0 && device.index() < device_count() && device.index() != this_device) {
            hipSetDevice(device.index());
            this_device = device.index();
        }
    }
    c10::Stream getStream(c10::Device device) const noexcept override {
        return current_stream(device.has_index() ? device.index() : current_device());
    }
    c10::Stream getDefaultStream(c10::Device device) const override {
        return stream_of(nullptr, device.has_index() ? device.index() : current_device());
    }
    c10::Stream getStreamFromGlobalPool(c10::Device device, bool high) const override {
        return pooled_stream(device.has_index() ? device.index() : current_device(), high ? -1 : 0);
    }
    c10::Stream getNewStream(c10::Device device, int priority) const override {
        return pooled_stream(device.has_index() ? device.index() : current_device(), priority);
    }
    c10::Stream exchangeStream(c10::Stream stream) const noexcept override {
        c10::Stream before = current_stream(stream.device_index());
        set_current_stream(stream);
        return before;
    }
    void *getStreamNativeHandle(const c10::Stream stream) const { return handle_of(stream); }
    void destroyEvent(void *event, const c10::DeviceIndex) const noexcept override {
        if (event) hipEventDestroy(static_cast<HipEvent>(event));
    }
    void record(void **event, const c10::Stream &stream, const c10::DeviceIndex device,
                const c10::EventFlag flag) const override {
        TORCH_CHECK(device == -1 || device == stream.device_index(), "Event device index ", int(device),
                    " does not match recording stream's device index ", int(stream.device_index()), ".");
        constexpr unsigned WITHOUT_TIMING = 2;
        if (!*event) {
            unsigned flags = flag == c10::EventFlag::BACKEND_DEFAULT ? 0u : WITHOUT_TIMING;
            check_hip(hipEventCreateWithFlags(reinterpret_cast<HipEvent *>(event), flags));
        }
        OnDeviceOf on(stream);
        check_hip(hipEventRecord(static_cast<HipEvent>(*event), handle_of(stream)));
    }
    void block(void *event, const c10::Stream &stream) const override {
        OnDeviceOf on(stream);
        if (event) check_hip(hipStreamWaitEvent(handle_of(stream), static_cast<HipEvent>(event), 0));
    }
    bool queryEvent(void *event) const override {
        if (!event) return true;
        int error = hipEventQuery(static_cast<HipEvent>(event));
        if (error != HIP_NOT_READY) check_hip(error);
        return error == HIP_SUCCESS;
    }
    c10::DeviceIndex deviceCount() const noexcept override { return c10::DeviceIndex(device_count()); }
    bool queryStream(const c10::Stream &stream) const override {
        OnDeviceOf on(stream);
        int error = hipStreamQuery(handle_of(stream));
        if (error != HIP_NOT_READY) check_hip(error);
        return error == HIP_SUCCESS;
    }
    void synchronizeStream(const c10::Stream &stream) const override {
        OnDeviceOf on(stream);
        check_hip(hipStreamSynchronize(handle_of(stream)));
    }
    bool isStreamCapturing(const c10::Stream &stream) const {
        int status = 0;
        check_hip(hipStreamIsCapturing(handle_of(stream), &status));
        return status != 0;
    }
    void synchronizeEvent(void *event) const override {
        if (event) check_hip(hipEventSynchronize(static_cast<HipEvent>(event)));
    }
    void synchronizeDevice(const c10::DeviceIndex device) const override {
        OnDeviceOf on(stream_of(nullptr, device < 0 ? kpt_torch::current_device() : device));
        check_hip(hipDeviceSynchronize());
    }
    void recordDataPtrOnStream(const c10::DataPtr &data, const c10::Stream &stream) const override {
        note_record_stream(data, stream);
    }
    double elapsedTime(void *first, void *second, const c10::DeviceIndex) const override {
        TORCH_CHECK(first && second, "Both events must be recorded before calculating elapsed time.");
        float milliseconds = 0;
        check_hip(hipEventElapsedTime(&milliseconds, static_cast<HipEvent>(first), static_cast<HipEvent>(second)));
        return milliseconds;
    }
};

int64_t &plans(int device) {
    constexpr int64_t AS_TORCH_STARTS = 4096;
    static auto *kept = new std::vector<int64_t>(MOST_DEVICES, AS_TORCH_STARTS);
    return (*kept)[size_t(device < 0 ? current_device() : device)];
}

struct CUDAHooks final : at::CUDAHooksInterface {
    explicit CUDAHooks(at::CUDAHooksArgs) {}
    void init() const override { mark_initialized(); }
    bool isBuilt() const override { return opened; }
    bool isAvailable() const override { return device_count() > 0; }
    bool hasPrimaryContext(c10::DeviceIndex) const override { return is_initialized(); }
    c10::DeviceIndex deviceCount() const override { return c10::DeviceIndex(device_count()); }
    void setCurrentDevice(c10::DeviceIndex device) const override { set_device(device); }
    c10::DeviceIndex getCurrentDevice() const override { return c10::DeviceIndex(kpt_torch::current_device()); }
    c10::DeviceIndex exchangeDevice(c10::DeviceIndex device) const override {
        return device < 0 ? c10::DeviceIndex(-1) : c10::DeviceIndex(set_device(device));
    }
    c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex device) const override { return exchangeDevice(device); }
    bool isPinnedPtr(const void *data) const override { return is_pinned(data); }
    c10::Allocator *getPinnedMemoryAllocator() const override { return pinned_allocator(); }
    c10::Allocator *getCUDADeviceAllocator() const override { return device_allocator(); }
    c10::Device getDeviceFromPtr(void *) const override {
        return {c10::kCUDA, c10::DeviceIndex(kpt_torch::current_device())};
    }
    const at::Generator &getDefaultGenerator(c10::DeviceIndex device) const override {
        return default_generator(device < 0 ? kpt_torch::current_device() : device);
    }
    at::Generator getNewGenerator(c10::DeviceIndex device) const override {
        return new_generator(device < 0 ? kpt_torch::current_device() : device);
    }
    bool hasCUDA() const override { return opened; }
    bool hasCUDART() const override { return opened; }
    bool hasROCM() const override { return true; }
    c10::DeviceIndex current_device() const override { return c10::DeviceIndex(kpt_torch::current_device()); }
    int getNumGPUs() const override { return device_count(); }
    std::string showConfig() const override { return "an emulated AMD GPU\n"; }
    /* FFTs are the CPU's: there are no plans, and what is set is read back. */
    int64_t cuFFTGetPlanCacheMaxSize(c10::DeviceIndex device) const override { return plans(device); }
    void cuFFTSetPlanCacheMaxSize(c10::DeviceIndex device, int64_t most) const override { plans(device) = most; }
    int64_t cuFFTGetPlanCacheSize(c10::DeviceIndex) const override { return 0; }
    void cuFFTClearPlanCache(c10::DeviceIndex) const override {}
    void deviceSynchronize(c10::DeviceIndex device) const override {
        OnDeviceOf on(stream_of(nullptr, device < 0 ? kpt_torch::current_device() : device));
        check_hip(hipDeviceSynchronize());
    }
};

} // namespace

void install_hooks() {
    /* torch makes its hooks when it first asks for them. Where that was before this library came, there are empty ones
     * without any data: ours take their place. */
    static_assert(sizeof(CUDAHooks) == sizeof(at::CUDAHooksInterface));
    auto &hooks = const_cast<at::CUDAHooksInterface &>(at::detail::getCUDAHooks());
    if (!hooks.hasROCM()) new (&hooks) CUDAHooks({});
}

} // namespace kpt_torch

C10_REGISTER_GUARD_IMPL(CUDA, kpt_torch::DeviceGuard)

namespace at {
using kpt_torch::CUDAHooks;
REGISTER_CUDA_HOOKS(CUDAHooks)
} // namespace at
