#include "nested.h"

#include <ATen/NestedTensorImpl.h>

namespace kpt_torch {

at::Tensor nested_over(const at::Tensor &like, c10::Storage storage) {
    const auto *from = static_cast<const at::native::NestedTensorImpl *>(like.unsafeGetTensorImpl());
    auto key =
        storage.device_type() == c10::kCUDA ? c10::DispatchKey::NestedTensorCUDA : c10::DispatchKey::NestedTensorCPU;
    /* The shapes are tensors of the host on every device. */
    return at::detail::make_tensor<at::native::NestedTensorImpl>(
        std::move(storage), c10::DispatchKeySet(key) | c10::autograd_nested, from->dtype(), from->get_nested_sizes(),
        from->get_nested_strides(), from->get_storage_offsets());
}

at::Tensor buffer_of(const at::Tensor &nested) {
    return static_cast<const at::native::NestedTensorImpl *>(nested.unsafeGetTensorImpl())
        ->get_unsafe_storage_as_tensor();
}

} // namespace kpt_torch
