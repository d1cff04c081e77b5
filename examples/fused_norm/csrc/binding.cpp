// What is used of torch, by name: torch/extension.h brings all of its C++ API, and takes three times as long to compile.
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/csrc/utils/pybind.h>

#include "rmsnorm.h"

at::Tensor rmsnorm_forward(at::Tensor x, at::Tensor weight, double eps) {
    TORCH_CHECK(x.is_cuda() && x.is_contiguous() && x.scalar_type() == at::kFloat,
                "x must be a contiguous float CUDA tensor");
    const c10::cuda::CUDAGuard guard(x.device());
    auto y = at::empty_like(x);
    const int columns = x.size(-1);
    const int rows = x.numel() / columns;
    launch_rmsnorm(x.data_ptr<float>(), weight.data_ptr<float>(), y.data_ptr<float>(), rows, columns,
                   static_cast<float>(eps), c10::cuda::getCurrentCUDAStream());
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("rmsnorm_forward", &rmsnorm_forward, "RMSNorm (CUDA)"); }
