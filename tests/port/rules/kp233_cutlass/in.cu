#include <cutlass/gemm/device/gemm.h>
#include "cute/tensor.hpp"

using Gemm = cutlass::gemm::device::Gemm<float, cutlass::layout::RowMajor, float, cutlass::layout::ColumnMajor, float,
                                         cutlass::layout::RowMajor>;
