#include "sparse.h"

#include <ATen/SparseCsrTensorImpl.h>
#include <ATen/SparseTensorImpl.h>

namespace kpt_torch {
namespace {

bool is_compressed(const at::Tensor &tensor) {
    c10::Layout layout = tensor.layout();
    return layout == c10::kSparseCsr || layout == c10::kSparseCsc || layout == c10::kSparseBsr ||
           layout == c10::kSparseBsc;
}

at::SparseTensorImpl *coo(const at::Tensor &tensor) {
    return static_cast<at::SparseTensorImpl *>(tensor.unsafeGetTensorImpl());
}

at::SparseCsrTensorImpl *compressed(const at::Tensor &tensor) {
    return static_cast<at::SparseCsrTensorImpl *>(tensor.unsafeGetTensorImpl());
}

} // namespace

bool is_sparse(const at::Tensor &tensor) { return tensor.layout() == c10::kSparse || is_compressed(tensor); }

std::vector<at::Tensor> parts_of(const at::Tensor &sparse) {
    if (sparse.layout() == c10::kSparse) return {coo(sparse)->indices(), coo(sparse)->values()};
    return {compressed(sparse)->compressed_indices(), compressed(sparse)->plain_indices(),
            compressed(sparse)->values()};
}

void take_parts(const at::Tensor &to, const at::Tensor &from, const OtherPart &other) {
    if (from.layout() == c10::kSparse) {
        at::SparseTensorImpl *source = coo(from);
        coo(to)->raw_resize_(source->sparse_dim(), source->dense_dim(), source->sizes());
        coo(to)->set_indices_and_values_unsafe(other(source->indices()), other(source->values()));
        coo(to)->set_coalesced(source->coalesced());
        return;
    }
    at::SparseCsrTensorImpl *source = compressed(from);
    compressed(to)->set_member_tensors(other(source->compressed_indices()), other(source->plain_indices()),
                                       other(source->values()), from.sizes());
}

at::Tensor sparse_with(const at::Tensor &like, const OtherPart &other) {
    c10::Device device = other(parts_of(like).back()).device();
    at::Tensor made;
    if (like.layout() == c10::kSparse) {
        auto key = device.is_cuda() ? c10::DispatchKey::SparseCUDA : c10::DispatchKey::SparseCPU;
        made = at::detail::make_tensor<at::SparseTensorImpl>(c10::DispatchKeySet(key), like.dtype());
    } else {
        auto key = device.is_cuda() ? c10::DispatchKey::SparseCsrCUDA : c10::DispatchKey::SparseCsrCPU;
        made = at::detail::make_tensor<at::SparseCsrTensorImpl>(c10::DispatchKeySet(key), device, like.layout(),
                                                                like.dtype());
    }
    take_parts(made, like, other);
    return made;
}

} // namespace kpt_torch
