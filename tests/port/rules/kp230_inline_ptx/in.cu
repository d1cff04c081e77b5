#include <cuda_runtime.h>

#define LDG_NC(value, pointer) asm volatile("ld.global.nc.f32 %0, [%1];" : "=f"(value) : "l"(pointer))

__device__ unsigned lane_id() {
  unsigned lane;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  return lane;
}

__device__ unsigned lanemask_lt() {
  unsigned mask;
  asm volatile("mov.u32 %0, %%lanemask_lt;" : "=r"(mask));
  return mask;
}

__device__ float exp2_approx(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

__device__ unsigned long long add128_low(unsigned long long a, unsigned long long b, unsigned long long &high,
                                         unsigned long long c, unsigned long long d) {
  unsigned long long low;
  asm("add.cc.u64 %0, %2, %3;\n\t"
      "addc.u64 %1, %4, %5;"
      : "=l"(low), "=l"(high)
      : "l"(a), "l"(b), "l"(c), "l"(d));
  return low;
}

__device__ unsigned clamp_if_negative(int x, unsigned y) {
  unsigned r;
  asm("{\n"
      "  .reg .pred p;\n"
      "  setp.lt.s32 p, %1, 0;\n"
      "  selp.u32 %0, 0, %2, p;\n"
      "}" : "=r"(r) : "r"(x), "r"(y));
  return r;
}

__global__ void kernel(float *out, const float4 *in, unsigned *bits) {
  float x;
  LDG_NC(x, &in[threadIdx.x].x);
  float a, b, c, d;
  asm volatile("ld.global.cs.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(a), "=f"(b), "=f"(c), "=f"(d)
               : "l"(in + threadIdx.x));
  asm volatile("bar.sync 0;");
  unsigned high;
  asm("lop3.b32 %0, %1, %2, %3, 0x96;" : "=r"(bits[1]) : "r"(bits[2]), "r"(bits[3]), "r"(bits[4]));
  asm("prmt.b32 %0, %1, %2, 0x5410;" : "=r"(high) : "r"(bits[5]), "r"(bits[6]));
  asm("shf.r.wrap.b32 %0, %1, %2, %3;" : "=r"(bits[7]) : "r"(bits[8]), "r"(bits[9]), "r"(bits[10]));
  asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(bits[0]) : "r"(bits[11]), "r"(bits[12]), "r"(bits[13]));
  asm("bfe.u32 %0, %1, 4, 8;" : "=r"(bits[14]) : "r"(high));
  asm volatile("membar.gl;");
  asm volatile("prefetch.global.L2 [%0];" ::"l"(in + 64));
  if (a == 0.0f)
    asm("trap;");
  else
    out[threadIdx.x] = exp2_approx(x + a + b + c + d) + lane_id() + lanemask_lt();
  asm volatile("exit;");
}
