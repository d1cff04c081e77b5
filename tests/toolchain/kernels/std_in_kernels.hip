#include <hip/hip_runtime.h>

#include <algorithm>
#include <array>
#include <cfloat>
#include <climits>
#include <cstdint>
#include <limits>
#include <tuple>
#include <utility>

struct Bounds {
  std::array<float, 3> low{FLT_MAX, FLT_MAX, FLT_MAX};
  std::array<float, 3> high{-FLT_MAX, -FLT_MAX, -FLT_MAX};
};

__global__ void bounds(Bounds* out, const float* points, int n) {
  Bounds b;
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    for (int axis = 0; axis < 3; ++axis) {
      b.low[axis] = std::min(b.low[axis], points[3 * i + axis]);
      b.high[axis] = std::max(b.high[axis], points[3 * i + axis]);
    }
  out[threadIdx.x] = b;
}

__global__ void limits(std::int64_t* out) {
  const auto pair = std::make_pair(std::numeric_limits<int>::max(), INT_MIN);
  const auto [a, b] = pair;
  const std::tuple<int, float> t{3, 0.5f};
  out[threadIdx.x] = std::int64_t(a) + b + std::get<0>(t) + std::int64_t(std::numeric_limits<double>::epsilon() > 0) +
                     std::max<int>({1, 2, 3});
}
