/* libc10_hip: device-side assertions (TORCH_DSA). A kernel writes what failed into memory that the host reads. */
#include <c10/hip/HIPDeviceAssertionHost.h>
#include <c10/hip/HIPException.h>
#include <c10/hip/HIPFunctions.h>

#include <cstdlib>
#include <cstring>
#include <sstream>

namespace c10::cuda {
namespace {

bool is_set(const char *name) {
    const char *value = std::getenv(name);
    return value && std::strcmp(value, "0") != 0;
}

void free_assertions(DeviceAssertionsData *data) { [[maybe_unused]] auto freed = hipFree(data); }

} // namespace

CUDAKernelLaunchRegistry::CUDAKernelLaunchRegistry()
    : do_all_devices_support_managed_memory(true), gather_launch_stacktrace(check_env_for_enable_launch_stacktracing()),
      enabled_at_runtime(check_env_for_dsa_enabled()) {
    for (int device = 0; device < device_count(); device++) uvm_assertions.emplace_back(nullptr, free_assertions);
    kernel_launches.resize(max_kernel_launches);
}

bool CUDAKernelLaunchRegistry::check_env_for_enable_launch_stacktracing() const {
    return is_set("PYTORCH_CUDA_DSA_STACKTRACING");
}

bool CUDAKernelLaunchRegistry::check_env_for_dsa_enabled() const { return is_set("PYTORCH_USE_CUDA_DSA"); }

uint32_t CUDAKernelLaunchRegistry::insert(const char *file, const char *function, const uint32_t line,
                                          const char *kernel, const int32_t stream) {
    if (!enabled_at_runtime) return 0;
    std::lock_guard<std::mutex> lock(read_write_mutex);
    auto &place = kernel_launches[generation_number % max_kernel_launches];
    place = {file, function, line, "", kernel, current_device(), stream, generation_number};
    return static_cast<uint32_t>(generation_number++);
}

std::pair<std::vector<DeviceAssertionsData>, std::vector<CUDAKernelLaunchInfo>>
CUDAKernelLaunchRegistry::snapshot() const {
    std::lock_guard<std::mutex> lock(read_write_mutex);
    std::vector<DeviceAssertionsData> data;
    for (const auto &one : uvm_assertions) data.push_back(one ? *one : DeviceAssertionsData{});
    return {std::move(data), kernel_launches};
}

DeviceAssertionsData *CUDAKernelLaunchRegistry::get_uvm_assertions_ptr_for_current_device() {
    if (!enabled_at_runtime) return nullptr;
    std::lock_guard<std::mutex> lock(gpu_alloc_mutex);
    auto &mine = uvm_assertions.at(static_cast<size_t>(current_device()));
    if (!mine) {
        void *data = nullptr;
        C10_CUDA_CHECK(hipMallocManaged(&data, sizeof(DeviceAssertionsData), hipMemAttachGlobal));
        std::memset(data, 0, sizeof(DeviceAssertionsData));
        mine.reset(static_cast<DeviceAssertionsData *>(data));
    }
    return mine.get();
}

CUDAKernelLaunchRegistry &CUDAKernelLaunchRegistry::get_singleton_ref() {
    static CUDAKernelLaunchRegistry *one = new CUDAKernelLaunchRegistry;
    return *one;
}

bool CUDAKernelLaunchRegistry::has_failed() const {
    for (const auto &one : uvm_assertions)
        if (one && one->assertion_count > 0) return true;
    return false;
}

std::string c10_retrieve_device_side_assertion_info() {
    auto &registry = CUDAKernelLaunchRegistry::get_singleton_ref();
    if (!registry.has_failed()) return "";
    std::ostringstream text;
    for (const auto &device : registry.snapshot().first)
        for (int which = 0; which < std::min(device.assertion_count, C10_CUDA_DSA_ASSERTION_COUNT); which++) {
            const auto &failed = device.assertions[which];
            text << "Assertion failure: " << failed.assertion_msg << " in " << failed.function_name << " ("
                 << failed.filename << ":" << failed.line_number << "), block [" << failed.block_id[0] << ","
                 << failed.block_id[1] << "," << failed.block_id[2] << "], thread [" << failed.thread_id[0] << ","
                 << failed.thread_id[1] << "," << failed.thread_id[2] << "]\n";
        }
    return text.str();
}

} // namespace c10::cuda
