#include <algorithm>
#include <torch/extension.h>

__global__ void clamp(int *p) { p[threadIdx.x] = std::min(p[threadIdx.x], 255); }

int64_t blocks(int64_t n) { return (std::min)((n + 255) / 256, int64_t{4096}); }

int64_t typed(int64_t a, int b) { return std::min<int64_t>(a, b); }

int half(int a) { return a / 2; }

int whole(int rows, const int columns) {
  int grid = std::max(rows * columns / 512 + 1, 1);
  return std::min(half(grid), std::max(static_cast<int>(rows), 4096));
}
