#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/extension.h>

#include "rmsnorm_kernel.cuh"

torch::Tensor rmsnorm_forward(torch::Tensor x, torch::Tensor weight, double eps) {
  TORCH_CHECK(x.is_cuda() && x.is_contiguous() && x.scalar_type() == torch::kFloat, "x must be a contiguous float CUDA tensor");
  const c10::cuda::CUDAGuard guard(x.device());
  auto y = torch::empty_like(x);
  const int columns = x.size(-1);
  const int rows = x.numel() / columns;
  rmsnorm<<<rows, kThreads, 0, at::cuda::getCurrentCUDAStream()>>>(
      x.data_ptr<float>(), weight.data_ptr<float>(), y.data_ptr<float>(), columns, static_cast<float>(eps));
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("rmsnorm_forward", &rmsnorm_forward, "RMSNorm (CUDA)"); }
