/* Nested tensors of the strided layout: tensors of several shapes in one storage. Those of the jagged layout are Python. */
#ifndef KPT_TORCH_NESTED_H
#define KPT_TORCH_NESTED_H

#include <ATen/core/Tensor.h>
#include <c10/core/Storage.h>

namespace kpt_torch {

/* The nested tensor over another storage, whose device says where it lies. */
at::Tensor nested_over(const at::Tensor &like, c10::Storage storage);

/* Its whole storage, as a tensor with one dimension. */
at::Tensor buffer_of(const at::Tensor &nested);

} // namespace kpt_torch
#endif
