#include <hip/hip_runtime.h>
#include <algorithm>
#include <torch/extension.h>

int64_t blocks(int64_t n) { return (std::min)((n + 255) / 256, int64_t{4096}); }

int64_t largest(int64_t a, int64_t b) {
  return (std::max)(a, b);
}
