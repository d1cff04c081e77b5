"""What a C++ extension takes from a ROCm torch: guards, streams, the allocator, properties, handles, generators."""

import torch
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <ATen/cuda/Atomic.cuh>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAGeneratorImpl.h>
#include <ATen/cuda/CUDAGraphsUtils.cuh>
#include <ATen/cuda/detail/IndexUtils.cuh>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/extension.h>

template <typename scalar_t>
__global__ void scale(torch::PackedTensorAccessor32<scalar_t, 2> x, torch::PackedTensorAccessor32<scalar_t, 2> y) {
  const int row = blockIdx.x;
  for (int column = threadIdx.x; column < x.size(1); column += blockDim.x) y[row][column] = x[row][column] * 2;
}
torch::Tensor twice(torch::Tensor x) {
  const at::cuda::OptionalCUDAGuard guard(x.device());
  auto y = torch::empty_like(x);
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "twice", [&] {
    scale<scalar_t><<<x.size(0), 64, 0, at::cuda::getCurrentCUDAStream()>>>(
        x.packed_accessor32<scalar_t, 2>(), y.packed_accessor32<scalar_t, 2>());
    C10_CUDA_KERNEL_LAUNCH_CHECK();
  });
  return y;
}
template <typename scalar_t>
__global__ void add_up(const scalar_t* x, scalar_t* total, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) gpuAtomicAdd(total, x[i]);
}
torch::Tensor total(torch::Tensor x) {
  auto y = torch::zeros({1}, x.options());
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "total", [&] {
    add_up<scalar_t><<<(x.numel() + 127) / 128, 128, 0, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), x.numel());
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return y;
}
std::vector<int64_t> philox() {
  auto gen = at::get_generator_or_default<at::CUDAGeneratorImpl>(
      std::nullopt, at::cuda::detail::getDefaultCUDAGenerator());
  std::lock_guard<std::mutex> lock(gen->mutex_);
  auto first = gen->philox_cuda_state(4), second = gen->philox_cuda_state(4);
  return {int64_t(first.seed_.val), int64_t(first.offset_.val), int64_t(second.offset_.val)};
}
bool on_side_stream(torch::Tensor x) {
  auto stream = at::cuda::getStreamFromPool();
  c10::cuda::CUDAStreamGuard guard(stream);
  return at::cuda::getCurrentCUDAStream() == stream && at::cuda::detail::canUse32BitIndexMath(x);
}
torch::Tensor product(torch::Tensor a, torch::Tensor b) {
  auto c = torch::empty({b.size(1), a.size(0)}, a.options());
  float one = 1, zero = 0;
  void* scratch = c10::cuda::CUDACachingAllocator::raw_alloc(1024);
  TORCH_CUDABLAS_CHECK(cublasSgemm(at::cuda::getCurrentCUDABlasHandle(), CUBLAS_OP_T, CUBLAS_OP_T, a.size(0), b.size(1),
      a.size(1), &one, a.data_ptr<float>(), a.size(1), b.data_ptr<float>(), b.size(1), &zero,
      c.data_ptr<float>(), a.size(0)));
  c10::cuda::CUDACachingAllocator::raw_delete(scratch);
  return c.t();
}
int64_t wave() { return at::cuda::getCurrentDeviceProperties()->warpSize; }
"""
NAMES = ["twice", "total", "philox", "on_side_stream", "product", "wave"]
CPP = """
#include <torch/extension.h>
torch::Tensor twice(torch::Tensor x); torch::Tensor total(torch::Tensor x); std::vector<int64_t> philox();
bool on_side_stream(torch::Tensor x); torch::Tensor product(torch::Tensor a, torch::Tensor b); int64_t wave();
"""


def test_extension():
    made = load_inline("kpt_extension", CPP, CUDA, functions=NAMES)
    x = torch.randn(5, 70, device="cuda")
    for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
        torch.testing.assert_close(made.twice(x.to(dtype)), x.to(dtype) * 2)
    torch.testing.assert_close(made.total(x), x.sum().reshape(1), atol=1e-3, rtol=1e-4)
    torch.cuda.manual_seed(7)
    assert made.philox() == [7, 0, 4]
    assert made.philox() == [7, 8, 12]
    torch.cuda.manual_seed(7)
    assert made.philox() == [7, 0, 4]
    assert made.on_side_stream(x)
    torch.testing.assert_close(made.product(x, x.t().contiguous()), x @ x.t(), atol=1e-4, rtol=1e-4)
    assert made.wave() == torch.cuda.get_device_properties(0).warp_size
