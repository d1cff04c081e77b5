// Integer dot products, 16-bit functions, cache hints, atomics of a block, minima and maxima of three.

//: __grid_constant__
#define __grid_constant__
//: CUDART_CB
#define CUDART_CB
//: __brkpt
static __device__ inline void __brkpt() { __builtin_trap(); }
//: umin umax
static __host__ __device__ inline unsigned umin(unsigned a, unsigned b) { return a < b ? a : b; }
static __host__ __device__ inline unsigned umax(unsigned a, unsigned b) { return a > b ? a : b; }
//: llmin llmax
static __host__ __device__ inline long long llmin(long long a, long long b) { return a < b ? a : b; }
static __host__ __device__ inline long long llmax(long long a, long long b) { return a > b ? a : b; }
//: ullmin ullmax
static __host__ __device__ inline unsigned long long ullmin(unsigned long long a, unsigned long long b) { return a < b ? a : b; }
static __host__ __device__ inline unsigned long long ullmax(unsigned long long a, unsigned long long b) { return a > b ? a : b; }
//: mul24 umul24
static __device__ inline int mul24(int a, int b) { return __mul24(a, b); }
static __device__ inline unsigned umul24(unsigned a, unsigned b) { return __umul24(a, b); }
//: float_as_int int_as_float
static __device__ inline int float_as_int(float x) { return __float_as_int(x); }
static __device__ inline float int_as_float(int x) { return __int_as_float(x); }
//: __dp4a
static __device__ inline int __dp4a(int a, int b, int c) {
#if defined(__gfx906__) || defined(__gfx908__) || defined(__gfx90a__) || defined(__gfx942__) || defined(__gfx950__)
  return __builtin_amdgcn_sdot4(a, b, c, false);
#else
  for (int i = 0; i < 32; i += 8) c += static_cast<signed char>(a >> i) * static_cast<signed char>(b >> i);
  return c;
#endif
}
static __device__ inline unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
#if defined(__gfx906__) || defined(__gfx908__) || defined(__gfx90a__) || defined(__gfx942__) || defined(__gfx950__)
  return __builtin_amdgcn_udot4(a, b, c, false);
#else
  for (int i = 0; i < 32; i += 8) c += ((a >> i) & 0xffu) * ((b >> i) & 0xffu);
  return c;
#endif
}
static __device__ inline int __dp4a(char4 a, char4 b, int c) {
  return c + a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
}
static __device__ inline unsigned __dp4a(uchar4 a, uchar4 b, unsigned c) {
  return c + a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
}
//: __dp2a_lo
static __device__ inline int __dp2a_lo(int a, int b, int c) {
  return c + static_cast<short>(a) * static_cast<signed char>(b) + static_cast<short>(a >> 16) * static_cast<signed char>(b >> 8);
}
static __device__ inline unsigned __dp2a_lo(unsigned a, unsigned b, unsigned c) {
  return c + (a & 0xffffu) * (b & 0xffu) + (a >> 16) * ((b >> 8) & 0xffu);
}
//: __dp2a_hi
static __device__ inline int __dp2a_hi(int a, int b, int c) {
  return c + static_cast<short>(a) * static_cast<signed char>(b >> 16) + static_cast<short>(a >> 16) * static_cast<signed char>(b >> 24);
}
static __device__ inline unsigned __dp2a_hi(unsigned a, unsigned b, unsigned c) {
  return c + (a & 0xffffu) * ((b >> 16) & 0xffu) + (a >> 16) * (b >> 24);
}
//: __nanosleep
static __device__ inline void __nanosleep(unsigned) { __builtin_amdgcn_s_sleep(1); }
//: htanh_approx < hip/hip_fp16.h
static __device__ inline __half htanh_approx(__half x) { return __float2half(tanhf(__half2float(x))); }
//: h2tanh_approx < hip/hip_fp16.h
static __device__ inline __half2 h2tanh_approx(__half2 x) {
  return __floats2half2_rn(tanhf(__low2float(x)), tanhf(__high2float(x)));
}
//: htanh < hip/hip_fp16.h
static __device__ inline __half htanh(__half x) { return __float2half(tanhf(__half2float(x))); }
//: h2tanh < hip/hip_fp16.h
static __device__ inline __half2 h2tanh(__half2 x) {
  return __floats2half2_rn(tanhf(__low2float(x)), tanhf(__high2float(x)));
}
//: __float2bfloat16_rn < hip/hip_bf16.h
static __host__ __device__ inline __hip_bfloat16 __float2bfloat16_rn(float x) { return __float2bfloat16(x); }
//: __float2bfloat162_rn < hip/hip_bf16.h
static __host__ __device__ inline __hip_bfloat162 __float2bfloat162_rn(float x) {
  return __hip_bfloat162{__float2bfloat16(x), __float2bfloat16(x)};
}
//: __floats2bfloat162_rn < hip/hip_bf16.h
static __host__ __device__ inline __hip_bfloat162 __floats2bfloat162_rn(float x, float y) {
  return __hip_bfloat162{__float2bfloat16(x), __float2bfloat16(y)};
}
//: make_bfloat162 < hip/hip_bf16.h
static __host__ __device__ inline __hip_bfloat162 make_bfloat162(__hip_bfloat16 x, __hip_bfloat16 y) {
  return __hip_bfloat162{x, y};
}
//: __double2half < hip/hip_fp16.h
static __host__ __device__ inline __half __double2half(double x) { return static_cast<__half>(static_cast<_Float16>(x)); }
//: __stcs __stcg __stwb __stwt
template <typename T> static __device__ inline void __stcs(T* p, T v) {
  if constexpr (__is_arithmetic(T)) {
    __builtin_nontemporal_store(v, p);
  } else {
    *p = v;
  }
}
template <typename T> static __device__ inline void __stcg(T* p, T v) { *p = v; }
template <typename T> static __device__ inline void __stwb(T* p, T v) { *p = v; }
template <typename T> static __device__ inline void __stwt(T* p, T v) { *p = v; }
//: __ldlu
template <typename T> static __device__ inline T __ldlu(const T* p) { return *p; }
//: __cvta_generic_to_shared
static __device__ inline size_t __cvta_generic_to_shared(const void* p) {
  return (size_t)(unsigned)(unsigned long long)(const __attribute__((address_space(3))) void*)p;
}
//: atomicAdd_block
template <typename T, typename V> static __device__ inline T atomicAdd_block(T* p, V v) {
  return __hip_atomic_fetch_add(p, (T)v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
}
//: atomicMin_block
template <typename T, typename V> static __device__ inline T atomicMin_block(T* p, V v) {
  return __hip_atomic_fetch_min(p, (T)v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
}
//: atomicMax_block
template <typename T, typename V> static __device__ inline T atomicMax_block(T* p, V v) {
  return __hip_atomic_fetch_max(p, (T)v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
}
//: atomicAnd_block
template <typename T, typename V> static __device__ inline T atomicAnd_block(T* p, V v) {
  return __hip_atomic_fetch_and(p, (T)v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
}
//: atomicOr_block
template <typename T, typename V> static __device__ inline T atomicOr_block(T* p, V v) {
  return __hip_atomic_fetch_or(p, (T)v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
}
//: atomicXor_block
template <typename T, typename V> static __device__ inline T atomicXor_block(T* p, V v) {
  return __hip_atomic_fetch_xor(p, (T)v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
}
//: atomicExch_block
template <typename T, typename V> static __device__ inline T atomicExch_block(T* p, V v) {
  return __hip_atomic_exchange(p, (T)v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
}
//: atomicCAS_block
template <typename T, typename C, typename V> static __device__ inline T atomicCAS_block(T* p, C compare, V v) {
  T seen = (T)compare;
  __hip_atomic_compare_exchange_strong(p, &seen, (T)v, __ATOMIC_RELAXED, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
  return seen;
}
//: atomicSub_block
template <typename T, typename V> static __device__ inline T atomicSub_block(T* p, V v) {
  return __hip_atomic_fetch_add(p, (T)-(T)v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
}
//: __vimax3_s32
static __host__ __device__ inline int __vimax3_s32(int a, int b, int c) { int m = a > b ? a : b; return m > c ? m : c; }
//: __vimin3_s32
static __host__ __device__ inline int __vimin3_s32(int a, int b, int c) { int m = a < b ? a : b; return m < c ? m : c; }
//: __vimax3_u32
static __host__ __device__ inline unsigned __vimax3_u32(unsigned a, unsigned b, unsigned c) { unsigned m = a > b ? a : b; return m > c ? m : c; }
//: __vimin3_u32
static __host__ __device__ inline unsigned __vimin3_u32(unsigned a, unsigned b, unsigned c) { unsigned m = a < b ? a : b; return m < c ? m : c; }
//: __viaddmax_s32
static __host__ __device__ inline int __viaddmax_s32(int a, int b, int c) { int s = a + b; return s > c ? s : c; }
//: __viaddmin_s32
static __host__ __device__ inline int __viaddmin_s32(int a, int b, int c) { int s = a + b; return s < c ? s : c; }
//: __viaddmax_u32
static __host__ __device__ inline unsigned __viaddmax_u32(unsigned a, unsigned b, unsigned c) { unsigned s = a + b; return s > c ? s : c; }
//: __viaddmin_u32
static __host__ __device__ inline unsigned __viaddmin_u32(unsigned a, unsigned b, unsigned c) { unsigned s = a + b; return s < c ? s : c; }
//: atomicInc_system atomicDec_system
static __device__ inline unsigned atomicInc_system(unsigned* place, unsigned most) {
  unsigned seen = __hip_atomic_load(place, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
  while (!__hip_atomic_compare_exchange_strong(place, &seen, seen >= most ? 0u : seen + 1u, __ATOMIC_RELAXED,
                                               __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM)) {
  }
  return seen;
}
static __device__ inline unsigned atomicDec_system(unsigned* place, unsigned most) {
  unsigned seen = __hip_atomic_load(place, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
  while (!__hip_atomic_compare_exchange_strong(place, &seen, seen == 0u || seen > most ? most : seen - 1u,
                                               __ATOMIC_RELAXED, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM)) {
  }
  return seen;
}
//: atomicInc_block atomicDec_block
static __device__ inline unsigned atomicInc_block(unsigned* place, unsigned most) {
  unsigned seen = __hip_atomic_load(place, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
  while (!__hip_atomic_compare_exchange_strong(place, &seen, seen >= most ? 0u : seen + 1u, __ATOMIC_RELAXED,
                                               __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP)) {
  }
  return seen;
}
static __device__ inline unsigned atomicDec_block(unsigned* place, unsigned most) {
  unsigned seen = __hip_atomic_load(place, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
  while (!__hip_atomic_compare_exchange_strong(place, &seen, seen == 0u || seen > most ? most : seen - 1u,
                                               __ATOMIC_RELAXED, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP)) {
  }
  return seen;
}
