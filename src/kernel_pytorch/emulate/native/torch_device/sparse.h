/* Sparse tensors of the device: those of the CPU with the same parts, each part over the same bytes. */
#ifndef KPT_TORCH_SPARSE_H
#define KPT_TORCH_SPARSE_H

#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

namespace kpt_torch {

/* COO, or one of the compressed layouts. */
bool is_sparse(const at::Tensor &tensor);

/* Indices and values of a sparse tensor. */
std::vector<at::Tensor> parts_of(const at::Tensor &sparse);

using OtherPart = std::function<at::Tensor(const at::Tensor &)>;

/* A sparse tensor like another one, with a part for each of its parts. The parts decide whose it is. */
at::Tensor sparse_with(const at::Tensor &like, const OtherPart &other);

/* Gives a sparse tensor the shape and the parts of another, as an operator left them. */
void take_parts(const at::Tensor &to, const at::Tensor &from, const OtherPart &other);

} // namespace kpt_torch
#endif
