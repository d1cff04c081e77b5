#include <hip/hip_runtime.h>

// AMD's own inline assembly and builtins, as hand-tuned kernels use them.
__global__ void assembly(float* out, const float* in) {
  float v = in[threadIdx.x], r;
  asm volatile("v_add_f32 %0, %1, %2" : "=v"(r) : "v"(v), "v"(1.0f));
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_sched_barrier(0);
  const int first = __builtin_amdgcn_readfirstlane(__float_as_int(r));
  const int moved = __builtin_amdgcn_update_dpp(0, __float_as_int(r), 0xb1, 0xf, 0xf, false);
  out[threadIdx.x] = __int_as_float(moved) + __int_as_float(first) + float(__builtin_amdgcn_workgroup_id_x());
}

__global__ void clocks(long long* out) {
  const long long start = clock64();
  __threadfence_block();
  __threadfence();
  __threadfence_system();
  out[threadIdx.x] = clock64() - start + (long long)wall_clock64();
}
