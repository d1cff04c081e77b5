#include <hip/hip_cooperative_groups.h>
#include <hip/hip_runtime.h>

namespace cg = cooperative_groups;

__global__ void two_phases(float* out, const float* in, int n) {
  cg::grid_group grid = cg::this_grid();
  for (unsigned i = grid.thread_rank(); i < (unsigned)n; i += grid.size()) out[i] = in[i] * 2.0f;
  grid.sync();
  for (unsigned i = grid.thread_rank(); i < (unsigned)n; i += grid.size()) out[n + i] = out[n - 1 - i] + 1.0f;
}

int main() {
  float *in = nullptr, *out = nullptr;
  int n = 1;
  void* args[] = {&out, &in, &n};
  return hipLaunchCooperativeKernel(reinterpret_cast<void*>(two_phases), dim3(1), dim3(64), args, 0, nullptr);
}
