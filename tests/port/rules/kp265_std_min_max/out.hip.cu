#include <hip/hip_runtime.h>
#include <algorithm>
#include <torch/extension.h>

int64_t blocks(int64_t n) { return (std::min)((n + 255) / 256, int64_t{4096}); }

int64_t largest(int64_t a, int64_t b) {
  return (std::max)(a, b);
}

int mixed(int n, const torch::Tensor &x) { return (std::min)(n, static_cast<int>(x.size(0))); }

int shadowed(int n) {
  for (long m = 0; m < 3; ++m) n += (std::max)(m, 4l);
  return n;
}
