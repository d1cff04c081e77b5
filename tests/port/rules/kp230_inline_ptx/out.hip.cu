#include <hip/hip_runtime.h>

#define LDG_NC(value, pointer) value = *(const float*)(pointer)

__device__ unsigned lane_id() {
  unsigned lane;
  lane = (__lane_id() & 31u);
  return lane;
}

__device__ unsigned lanemask_lt() {
  unsigned mask;
  mask = ((__typeof__(mask))1 << (__lane_id() & (sizeof(mask) * 8 - 1))) - 1;
  return mask;
}

__device__ float exp2_approx(float x) {
  float y;
  y = exp2f(x);
  return y;
}

__device__ unsigned long long add128_low(unsigned long long a, unsigned long long b, unsigned long long &high,
                                         unsigned long long c, unsigned long long d) {
  unsigned long long low;
  do {
    unsigned long long kpt_0;
    unsigned long long kpt_1;
    const unsigned long long kpt_2 = (unsigned long long)(a);
    const unsigned long long kpt_3 = (unsigned long long)(b);
    const unsigned long long kpt_4 = (unsigned long long)(c);
    const unsigned long long kpt_5 = (unsigned long long)(d);
    unsigned kpt_carry = 0;
    const unsigned long long kpt_t1 = kpt_2 + kpt_3;
    kpt_carry = kpt_t1 < kpt_2;
    kpt_0 = kpt_t1;
    const unsigned long long kpt_t2 = kpt_4 + kpt_5 + kpt_carry;
    kpt_1 = kpt_t2;
    low = (__typeof__(low))kpt_0;
    high = (__typeof__(high))kpt_1;
  } while (0);
  return low;
}

__device__ unsigned clamp_if_negative(int x, unsigned y) {
  unsigned r;
  do {
    unsigned kpt_0;
    const unsigned kpt_1 = (unsigned)(x);
    const unsigned kpt_2 = (unsigned)(y);
    bool kpt_p;
    kpt_p = ((int)kpt_1 < 0);
    kpt_0 = (kpt_p ? 0u : kpt_2);
    r = kpt_0;
  } while (0);
  return r;
}

__global__ void kernel(float *out, const float4 *in, unsigned *bits) {
  float x;
  LDG_NC(x, &in[threadIdx.x].x);
  float a, b, c, d;
  do {
    const float4 kpt_v0 = *(const float4*)(in + threadIdx.x);
    a = kpt_v0.x;
    b = kpt_v0.y;
    c = kpt_v0.z;
    d = kpt_v0.w;
  } while (0);
  __syncthreads();
  unsigned high;
  do {
    const unsigned kpt_t1 = (unsigned)(bits[2]);
    const unsigned kpt_t2 = (unsigned)(bits[3]);
    const unsigned kpt_t3 = (unsigned)(bits[4]);
    bits[1] = ((kpt_t2 ^ kpt_t1) ^ kpt_t3);
  } while (0);
  high = __byte_perm((unsigned)(bits[5]), (unsigned)(bits[6]), 0x5410u);
  bits[7] = (unsigned)((((unsigned long long)(unsigned)(bits[9]) << 32) | (unsigned)(bits[8])) >> ((unsigned)(bits[10]) & 31u));
  do {
    const unsigned kpt_t1 = (unsigned)(bits[11]);
    const unsigned kpt_t2 = (unsigned)(bits[12]);
    bits[0] = (unsigned)(bits[13]) + (unsigned)((signed char)(kpt_t1 >> 0) * (signed char)(kpt_t2 >> 0)) + (unsigned)((signed char)(kpt_t1 >> 8) * (signed char)(kpt_t2 >> 8)) + (unsigned)((signed char)(kpt_t1 >> 16) * (signed char)(kpt_t2 >> 16)) + (unsigned)((signed char)(kpt_t1 >> 24) * (signed char)(kpt_t2 >> 24));
  } while (0);
  bits[14] = (unsigned)((unsigned)high << 20) >> 24;
  __threadfence();
  __builtin_prefetch((const void*)(in + 64));
  if (a == 0.0f)
    __builtin_trap();
  else
    out[threadIdx.x] = exp2_approx(x + a + b + c + d) + lane_id() + lanemask_lt();
  return;
}
