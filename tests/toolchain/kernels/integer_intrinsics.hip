#include <hip/hip_runtime.h>

__global__ void bits(unsigned* out, unsigned a, unsigned b, unsigned long long w) {
  unsigned r = __popc(a) + __popcll(w) + __clz((int)a) + __clzll((long long)w) + __ffs((int)a) + __ffsll((long long)w);
  r += __brev(a) + (unsigned)__brevll(w) + __byte_perm(a, b, 0x5140) + __umulhi(a, b) + (unsigned)__mulhi((int)a, (int)b);
  r += (unsigned)__mul24((int)a, (int)b) + __umul24(a, b) + (unsigned)__umul64hi(w, w) + (unsigned)__mul64hi((long long)w, 3);
  r += __usad(a, b, 1u) + __sad((int)a, (int)b, 1u) + (unsigned)__hadd((int)a, (int)b) + __uhadd(a, b) + __urhadd(a, b);
  r += __funnelshift_l(a, b, 7) + __funnelshift_r(a, b, 7) + __bitextract_u32(a, 3, 5) + __lastbit_u32_u64(w);
  out[threadIdx.x] = r;
}

__global__ void casts(int* out, float f, double d, int i, unsigned long long w) {
  int r = __float_as_int(f) + (int)__float_as_uint(f) + __float2int_rn(f) + __float2int_rz(f) + (int)__float2uint_ru(f);
  r += __double2int_rd(d) + (int)__double2ll_rn(d) + __double2hiint(d) + __double2loint(d) + (int)__double_as_longlong(d);
  r += (int)__int_as_float(i) + (int)__uint2float_rn((unsigned)i) + (int)__ull2double_rn(w) + (int)__longlong_as_double((long long)w);
  r += (int)__hiloint2double(i, r) + (int)__double2float_rz(d);
  out[threadIdx.x] = r;
}

__global__ void extremes(long long* out, int i, unsigned u, long l, long long q) {
  out[threadIdx.x] = min(i, 3) + (long long)max(u, 3u) + min(l, 4l) + max(q, 5ll) + abs(i) + labs(l) + llabs(q) + max(i, (int)u);
}
