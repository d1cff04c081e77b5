/* libtorch_hip: what ATen/hip declares and extensions call: properties, handles of the math libraries, tensors. */
#include <ATen/EmptyTensor.h>
#include <ATen/hip/HIPContext.h>
#include <ATen/hip/EmptyTensor.h>
#include <ATen/hip/PeerToPeerAccess.h>
#include <ATen/hip/impl/HIPCachingAllocatorMasqueradingAsCUDA.h>
#include <ATen/native/hip/Resize.h>
#include <c10/hip/HIPCachingAllocator.h>
#include <c10/hip/HIPGuard.h>

#include <array>
#include <mutex>
#include <vector>

namespace at::cuda {
namespace {

std::atomic<size_t> chosen_workspace{32u << 20};

/* One handle for each thread and device, as torch has them; a thread's end gives its handles back. */
template <typename Handle, auto create, auto destroy>
struct Handles {
    std::vector<Handle> made = std::vector<Handle>(size_t(c10::cuda::device_count()), nullptr);
    ~Handles() {
        for (Handle one : made)
            if (one) destroy(one);
    }
    Handle current() {
        Handle &one = made.at(size_t(c10::cuda::current_device()));
        if (!one) TORCH_CHECK(int(create(&one)) == 0, "a math library of the emulated GPU cannot be started");
        return one;
    }
};

} // namespace

hipDeviceProp_t *getDeviceProperties(c10::DeviceIndex device) {
    static std::vector<hipDeviceProp_t> *known = [] {
        auto *made = new std::vector<hipDeviceProp_t>(size_t(c10::cuda::device_count()));
        for (size_t index = 0; index < made->size(); index++)
            C10_CUDA_CHECK(hipGetDeviceProperties(&(*made)[index], int(index)));
        return made;
    }();
    if (device < 0) device = c10::cuda::current_device();
    TORCH_CHECK(size_t(device) < known->size(), "device ", int(device), " of ", known->size());
    return &(*known)[size_t(device)];
}

hipDeviceProp_t *getCurrentDeviceProperties() { return getDeviceProperties(c10::cuda::current_device()); }

int warp_size() { return getCurrentDeviceProperties()->warpSize; }

bool canDeviceAccessPeer(c10::DeviceIndex device, c10::DeviceIndex peer) {
    return c10::cuda::get_p2p_access(device < 0 ? c10::cuda::current_device() : device, peer);
}

bool get_p2p_access(c10::DeviceIndex from, c10::DeviceIndex to) { return c10::cuda::get_p2p_access(from, to); }
bool get_fabric_access(c10::DeviceIndex device) { return c10::cuda::get_fabric_access(device); }

c10::Allocator *getCUDADeviceAllocator() { return c10::cuda::CUDACachingAllocator::get(); }

hipblasHandle_t getCurrentCUDABlasHandle(bool) {
    thread_local Handles<hipblasHandle_t, hipblasCreate, hipblasDestroy> handles;
    hipblasHandle_t handle = handles.current();
    TORCH_CUDABLAS_CHECK(hipblasSetStream(handle, c10::cuda::getCurrentCUDAStream()));
    return handle;
}

hipblasLtHandle_t getCurrentCUDABlasLtHandle() {
    thread_local Handles<hipblasLtHandle_t, hipblasLtCreate, hipblasLtDestroy> handles;
    return handles.current();
}

hipsparseHandle_t getCurrentCUDASparseHandle() {
    thread_local Handles<hipsparseHandle_t, hipsparseCreate, hipsparseDestroy> handles;
    hipsparseHandle_t handle = handles.current();
    TORCH_CUDASPARSE_CHECK(hipsparseSetStream(handle, c10::cuda::getCurrentCUDAStream()));
    return handle;
}

hipsolverDnHandle_t getCurrentCUDASolverDnHandle() {
    thread_local Handles<hipsolverDnHandle_t, hipsolverDnCreate, hipsolverDnDestroy> handles;
    hipsolverDnHandle_t handle = handles.current();
    TORCH_CUSOLVER_CHECK(hipsolverDnSetStream(handle, c10::cuda::getCurrentCUDAStream()));
    return handle;
}

void clearCublasWorkspaces() {}
void clearCublasWorkspacesForStream(hipStream_t) {}
size_t getChosenWorkspaceSize() { return chosen_workspace; }
size_t getCUDABlasLtWorkspaceSize() { return chosen_workspace; }
void setChosenWorkspaceSize(size_t bytes) { chosen_workspace = bytes; }
void setCUDABlasLtWorkspaceSize(size_t bytes) { chosen_workspace = bytes; }
void resetChosenWorkspaceSize() { chosen_workspace = 32u << 20; }
void resetCUDABlasLtWorkspaceSize() { chosen_workspace = 32u << 20; }

WorkspaceMapWithMutex &cublas_handle_stream_to_workspace() {
    static WorkspaceMapWithMutex *one = new WorkspaceMapWithMutex;
    return *one;
}
WorkspaceMapWithMutex &cublaslt_handle_stream_to_workspace() {
    static WorkspaceMapWithMutex *one = new WorkspaceMapWithMutex;
    return *one;
}

void *getCUDABlasLtWorkspace() {
    auto &known = cublaslt_handle_stream_to_workspace();
    auto key = std::make_tuple(static_cast<void *>(getCurrentCUDABlasLtHandle()),
                               static_cast<void *>(c10::cuda::getCurrentCUDAStream().stream()));
    std::unique_lock lock(known.mutex);
    auto &[data, bytes] = known.map[key];
    if (bytes < chosen_workspace) {
        bytes = chosen_workspace;
        data = getCUDADeviceAllocator()->allocate(bytes);
    }
    return data.get();
}

namespace blas {
const char *_cublasGetErrorEnum(hipblasStatus_t error) { return hipblasStatusToString(error); }
} // namespace blas

namespace solver {
const char *hipsolverGetErrorMessage(hipsolverStatus_t status) {
    thread_local std::string text;
    text = "hipsolver status " + std::to_string(int(status));
    return text.c_str();
}
} // namespace solver

} // namespace at::cuda

namespace at::detail {

TensorBase empty_cuda(IntArrayRef size, ScalarType dtype, std::optional<Device> device,
                      std::optional<c10::MemoryFormat> format) {
    const DeviceGuard guard(device.value_or(Device(kCUDA, c10::cuda::current_device())));
    return at::detail::empty_generic(size, at::cuda::getCUDADeviceAllocator(), DispatchKeySet(DispatchKey::CUDA), dtype,
                                     format);
}

TensorBase empty_cuda(IntArrayRef size, std::optional<ScalarType> dtype, std::optional<Layout>,
                      std::optional<Device> device, std::optional<bool> pin, std::optional<c10::MemoryFormat> format) {
    TORCH_CHECK(!pin.value_or(false), "Only dense CPU tensors can be pinned");
    return empty_cuda(size, c10::dtype_or_default(dtype), device, format);
}

TensorBase empty_cuda(IntArrayRef size, const TensorOptions &options) {
    return empty_cuda(size,
                      c10::dtype_or_default(options.dtype_opt()
                                                ? std::optional(c10::typeMetaToScalarType(*options.dtype_opt()))
                                                : std::nullopt),
                      options.device_opt(), options.memory_format_opt());
}

TensorBase empty_strided_cuda(IntArrayRef size, IntArrayRef stride, ScalarType dtype, std::optional<Device> device) {
    const DeviceGuard guard(device.value_or(Device(kCUDA, c10::cuda::current_device())));
    return at::detail::empty_strided_generic(size, stride, at::cuda::getCUDADeviceAllocator(),
                                             DispatchKeySet(DispatchKey::CUDA), dtype);
}

TensorBase empty_strided_cuda(IntArrayRef size, IntArrayRef stride, std::optional<ScalarType> dtype,
                              std::optional<Layout>, std::optional<Device> device, std::optional<bool>) {
    return empty_strided_cuda(size, stride, c10::dtype_or_default(dtype), device);
}

TensorBase empty_strided_cuda(IntArrayRef size, IntArrayRef stride, const TensorOptions &options) {
    return empty_strided_cuda(size, stride, c10::typeMetaToScalarType(options.dtype()), options.device_opt());
}

} // namespace at::detail

namespace at::native {

void resize_bytes_cuda(StorageImpl *storage, size_t bytes) {
    TORCH_CHECK(storage->resizable(), "Trying to resize storage that is not resizable");
    const DeviceGuard guard(storage->device());
    at::DataPtr data = at::cuda::getCUDADeviceAllocator()->allocate(bytes);
    if (storage->data_ptr())
        C10_CUDA_CHECK(
            hipMemcpy(data.get(), storage->data(), std::min(storage->nbytes(), bytes), hipMemcpyDeviceToDevice));
    storage->set_data_ptr_noswap(std::move(data));
    storage->set_nbytes(bytes);
}

} // namespace at::native

/* The names by which ports of earlier years call the same functions. */
namespace c10::hip::HIPCachingAllocatorMasqueradingAsCUDA {

c10::cuda::CUDACachingAllocator::CUDAAllocator *get() { return c10::cuda::CUDACachingAllocator::get(); }

void recordStreamMasqueradingAsCUDA(const DataPtr &data, HIPStreamMasqueradingAsCUDA stream) {
    c10::cuda::CUDACachingAllocator::recordStream(data, c10::cuda::CUDAStream(stream.unwrap()));
}

} // namespace c10::hip::HIPCachingAllocatorMasqueradingAsCUDA
