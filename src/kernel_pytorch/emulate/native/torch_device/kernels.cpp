/* Operators that the device has of its own: making tensors, views of them, and what changes their storage. */
#include <ATen/EmptyTensor.h>
#include <ATen/InferSize.h>
#include <ATen/TensorUtils.h>
#include <ATen/core/Tensor.h>
#include <ATen/native/Resize.h>
#include <ATen/native/ResizeCommon.h>
#include <ATen/native/TensorFactories.h>
#include <c10/core/Allocator.h>
#include <torch/library.h>

#include "device.h"
#include "fallback.h"
#include "hip.h"
#include "memory.h"
#include "stream_uses.h"

namespace kpt_torch {
namespace {

using at::Tensor;
using c10::IntArrayRef;

/* Makes a device current for the time of a call. */
class OnDevice {
public:
    explicit OnDevice(std::optional<c10::Device> device)
        : before_(set_device(device && device->has_index() ? device->index() : current_device())) {
        mark_initialized();
    }
    ~OnDevice() { set_device(before_); }
    OnDevice(const OnDevice &) = delete;
    OnDevice &operator=(const OnDevice &) = delete;

private:
    int before_;
};

constexpr c10::DispatchKeySet KEYS(c10::DispatchKey::CUDA);

/* A tensor that nobody wrote yet. */
Tensor unwritten(Tensor made) {
    if (C10_UNLIKELY(watches_writes()) && made.storage().nbytes())
        kptHostWrites(const_cast<void *>(made.storage().data()), made.storage().nbytes(), 0);
    return made;
}

Tensor empty(IntArrayRef size, std::optional<c10::ScalarType> dtype, std::optional<c10::Layout> layout,
             std::optional<c10::Device> device, std::optional<bool> pin_memory,
             std::optional<c10::MemoryFormat> format) {
    TORCH_CHECK(!pin_memory.value_or(false), "Only dense CPU tensors can be pinned");
    TORCH_CHECK(layout.value_or(c10::kStrided) == c10::kStrided, "an emulated GPU has no such layout");
    OnDevice on(device);
    return unwritten(at::detail::empty_generic(size, device_allocator(), KEYS, c10::dtype_or_default(dtype), format));
}

Tensor empty_strided(IntArrayRef size, IntArrayRef stride, std::optional<c10::ScalarType> dtype,
                     std::optional<c10::Layout>, std::optional<c10::Device> device, std::optional<bool> pin_memory) {
    TORCH_CHECK(!pin_memory.value_or(false), "Only dense CPU tensors can be pinned");
    OnDevice on(device);
    return unwritten(
        at::detail::empty_strided_generic(size, stride, device_allocator(), KEYS, c10::dtype_or_default(dtype)));
}

const Tensor &resize_(const Tensor &self, IntArrayRef size, std::optional<c10::MemoryFormat> format) {
    OnDevice on(self.device());
    c10::TensorImpl *impl = self.unsafeGetTensorImpl();
    at::native::resize_impl_cpu_(impl, size, std::nullopt, true);
    if (format) {
        TORCH_CHECK(*format != c10::MemoryFormat::Preserve, "Unsupported memory format", *format);
        impl->empty_tensor_restride(*format);
    }
    return self;
}

Tensor &set_storage_offset(Tensor &self, c10::Storage source, int64_t offset, IntArrayRef size, IntArrayRef stride) {
    TORCH_CHECK(source.device_type() == c10::kCUDA, "set_: a storage of ", source.device_type(),
                " cannot be given to a tensor of the GPU");
    OnDevice on(source.device());
    c10::TensorImpl *impl = self.unsafeGetTensorImpl();
    impl->set_storage_keep_dtype(std::move(source));
    impl->set_storage_offset(offset);
    at::OptionalIntArrayRef strides = stride.data() ? at::OptionalIntArrayRef(stride) : std::nullopt;
    at::native::resize_impl_cpu_(impl, size, strides, true);
    return self;
}

Tensor &set_storage(Tensor &self, c10::Storage source) {
    int64_t count = int64_t(source.nbytes() / self.dtype().itemsize());
    return set_storage_offset(self, std::move(source), 0, {count}, {});
}

Tensor &set_tensor(Tensor &self, const Tensor &source) {
    if (self.is_same(source)) return self;
    return set_storage_offset(self, source.storage(), source.storage_offset(), source.sizes(), source.strides());
}

Tensor &set_nothing(Tensor &self) {
    OnDevice on(self.device());
    c10::Storage none(c10::Storage::use_byte_size_t(), 0, device_allocator(), true);
    return set_storage_offset(self, std::move(none), 0, {0}, {});
}

Tensor view_over(const Tensor &self, IntArrayRef size, IntArrayRef stride, int64_t offset) {
    c10::TensorImpl *from = self.unsafeGetTensorImpl();
    auto made = c10::make_intrusive<c10::TensorImpl>(c10::TensorImpl::VIEW, c10::Storage(from->unsafe_storage()),
                                                     from->key_set(), from->dtype());
    made->set_sizes_and_strides(size, stride, offset);
    return Tensor(std::move(made));
}

Tensor as_strided(const Tensor &self, IntArrayRef size, IntArrayRef stride, std::optional<int64_t> offset) {
    int64_t from = offset.value_or(self.storage_offset());
    TORCH_CHECK(from >= 0, "Tensor: invalid storage offset ", from);
    at::native::checkInBoundsForStorage(size, stride, from, self.dtype(), self.storage());
    return view_over(self, size, stride, from);
}

Tensor reshape_alias(const Tensor &self, IntArrayRef size, IntArrayRef stride) {
    return view_over(self, size, stride, self.storage_offset());
}

Tensor view(const Tensor &self, IntArrayRef size) {
    auto whole = at::infer_size_dv(size, self.numel());
    auto stride = at::detail::computeStride(self.sizes(), self.strides(), whole);
    TORCH_CHECK(
        stride.has_value(),
        "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
        "contiguous subspaces). Use .reshape(...) instead.");
    return view_over(self, whole, *stride, self.storage_offset());
}

/* Derivatives that are zero everywhere: a tensor without memory. */
Tensor efficient_zeros(IntArrayRef size, std::optional<c10::ScalarType> dtype, std::optional<c10::Layout>,
                       std::optional<c10::Device> device, std::optional<bool>) {
    OnDevice on(device);
    at::native::ZeroTensorAllocator none({c10::kCUDA, c10::DeviceIndex(current_device())});
    return at::detail::empty_generic(size, &none, KEYS.add(c10::DispatchKey::ZeroTensor), c10::dtype_or_default(dtype),
                                     std::nullopt);
}

/* A tensor of the device as the host sees its memory: one that anybody may write to, which aliases for kernels are not.
 * Collectives between processes work on it. */
Tensor host_view(const Tensor &self) {
    if (C10_UNLIKELY(watches_writes()) && self.storage().nbytes())
        kptHostWrites(const_cast<void *>(self.storage().data()), self.storage().nbytes(), 1);
    auto made = c10::make_intrusive<c10::TensorImpl>(twin_of(self.storage()),
                                                     c10::DispatchKeySet(c10::DispatchKey::CPU), self.dtype());
    made->set_sizes_and_strides(self.sizes(), self.strides(), self.storage_offset());
    return Tensor(std::move(made));
}

/* Work is done when it is given to a stream: memory is never in use on another one. Only the check for races asks. */
void record_stream(Tensor &self, c10::Stream stream) { note_record_stream(self.storage().data_ptr(), stream); }

} // namespace
} // namespace kpt_torch

TORCH_LIBRARY_IMPL(aten, CUDA, m) {
    m.impl("empty.memory_format", kpt_torch::empty);
    m.impl("empty_strided", kpt_torch::empty_strided);
    m.impl("resize_", kpt_torch::resize_);
    m.impl("set_.source_Storage_storage_offset", kpt_torch::set_storage_offset);
    m.impl("set_.source_Storage", kpt_torch::set_storage);
    m.impl("set_.source_Tensor", kpt_torch::set_tensor);
    m.impl("set_", kpt_torch::set_nothing);
    m.impl("as_strided", kpt_torch::as_strided);
    m.impl("view", kpt_torch::view);
    m.impl("_reshape_alias", kpt_torch::reshape_alias);
    m.impl("_efficientzerotensor", kpt_torch::efficient_zeros);
    m.impl("record_stream", kpt_torch::record_stream);
}

TORCH_LIBRARY(kpt_torch, m) { m.def("host_view(Tensor(a) self) -> Tensor(a)", kpt_torch::host_view); }
