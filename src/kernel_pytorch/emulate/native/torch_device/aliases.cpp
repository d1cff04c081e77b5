/* Tensors of the device and of the CPU over the same bytes. */
#include <ATen/core/Tensor.h>

#include "fallback.h"
#include "memory.h"
#include "nested.h"
#include "sparse.h"

namespace kpt_torch {
namespace {

/* What is true of a tensor beside its bytes: conjugated, negated, all zeros without memory. */
c10::DispatchKeySet math_bits(c10::DispatchKeySet keys) {
    return keys &
           c10::DispatchKeySet({c10::DispatchKey::Conjugate, c10::DispatchKey::Negative, c10::DispatchKey::ZeroTensor});
}

} // namespace

at::Tensor as_cpu(const at::Tensor &tensor) {
    if (C10_UNLIKELY(!tensor.has_storage()) && is_sparse(tensor)) return sparse_with(tensor, as_cpu);
    c10::TensorImpl *real = tensor.unsafeGetTensorImpl();
    if (C10_UNLIKELY(real->is_nested())) return nested_over(tensor, twin_of(real->unsafe_storage()));
    c10::DispatchKeySet keys = c10::DispatchKeySet(c10::DispatchKey::CPU) | math_bits(real->key_set());
    auto alias = c10::make_intrusive<c10::TensorImpl>(c10::TensorImpl::VIEW, twin_of(real->unsafe_storage()), keys,
                                                      real->dtype());
    alias->set_sizes_and_strides(real->sizes(), real->strides(), real->storage_offset());
    if (C10_UNLIKELY(real->is_wrapped_number())) alias->set_wrapped_number(true);
    return at::Tensor(std::move(alias));
}

at::Tensor view_with_shape_of(const at::Tensor &shape, const at::Tensor &real) {
    if (C10_UNLIKELY(shape.is_nested())) return nested_over(shape, c10::Storage(real.storage()));
    c10::DispatchKeySet keys = (real.key_set() - math_bits(real.key_set())) | math_bits(shape.key_set());
    c10::Storage storage(real.storage());
    auto made =
        C10_UNLIKELY(real.is_nested())
            ? c10::make_intrusive<c10::TensorImpl>(std::move(storage), c10::DispatchKeySet(c10::DispatchKey::CUDA),
                                                   shape.dtype())
            : c10::make_intrusive<c10::TensorImpl>(c10::TensorImpl::VIEW, std::move(storage), keys, shape.dtype());
    made->set_sizes_and_strides(shape.sizes(), shape.strides(), shape.storage_offset());
    return at::Tensor(std::move(made));
}

at::Tensor as_device(const at::Tensor &made, int device) {
    if (is_sparse(made)) return sparse_with(made, [&](const at::Tensor &part) { return as_device(part, device); });
    TORCH_CHECK(made.has_storage() && made.layout() == c10::kStrided, "an emulated GPU has no ", made.layout(),
                " tensors: make it on the CPU");
    become_device(*made.storage().unsafeGetStorageImpl(), device);
    if (C10_UNLIKELY(made.is_nested())) return nested_over(made, c10::Storage(made.storage()));
    c10::DispatchKeySet keys = c10::DispatchKeySet(c10::DispatchKey::CUDA) | math_bits(made.key_set());
    auto out = c10::make_intrusive<c10::TensorImpl>(c10::Storage(made.storage()), keys, made.dtype());
    out->set_sizes_and_strides(made.sizes(), made.strides(), made.storage_offset());
    if (C10_UNLIKELY(made.unsafeGetTensorImpl()->is_wrapped_number())) out->set_wrapped_number(true);
    return at::Tensor(std::move(out));
}

} // namespace kpt_torch
