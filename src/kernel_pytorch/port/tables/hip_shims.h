// Device functions of CUDA that HIP 7.2 does not declare. `kpt hipify` writes the ones a file calls into that file.
// A block begins with its names, then after "<" the headers it needs.

//: __grid_constant__
#define __grid_constant__
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
template <typename T> static __device__ inline T atomicAdd_block(T* p, T v) {
  return __hip_atomic_fetch_add(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
}
//: atomicMin_block
template <typename T> static __device__ inline T atomicMin_block(T* p, T v) {
  return __hip_atomic_fetch_min(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
}
//: atomicMax_block
template <typename T> static __device__ inline T atomicMax_block(T* p, T v) {
  return __hip_atomic_fetch_max(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
}
//: atomicAnd_block
template <typename T> static __device__ inline T atomicAnd_block(T* p, T v) {
  return __hip_atomic_fetch_and(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
}
//: atomicOr_block
template <typename T> static __device__ inline T atomicOr_block(T* p, T v) {
  return __hip_atomic_fetch_or(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
}
//: atomicXor_block
template <typename T> static __device__ inline T atomicXor_block(T* p, T v) {
  return __hip_atomic_fetch_xor(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
}
//: atomicExch_block
template <typename T> static __device__ inline T atomicExch_block(T* p, T v) {
  return __hip_atomic_exchange(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
}
//: atomicCAS_block
template <typename T> static __device__ inline T atomicCAS_block(T* p, T compare, T v) {
  __hip_atomic_compare_exchange_strong(p, &compare, v, __ATOMIC_RELAXED, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
  return compare;
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
//: cg::reduce < hip/hip_cooperative_groups.h
#if HIP_VERSION < 71300000  // later ones have it
namespace cooperative_groups {
// HIP shuffles arithmetic types only, CUDA whatever can be copied: word by word here.
template <typename T, typename Shuffle> __device__ inline T kpt_by_words(T value, Shuffle shuffle) {
  int words[(sizeof(T) + 3) / 4] = {};
  __builtin_memcpy(words, &value, sizeof(T));
  for (int& word : words) word = shuffle(word);
  __builtin_memcpy(&value, words, sizeof(T));
  return value;
}
template <typename T> struct plus { __device__ T operator()(T a, T b) const { return a + b; } };
template <typename T> struct less { __device__ T operator()(T a, T b) const { return b < a ? b : a; } };
template <typename T> struct greater { __device__ T operator()(T a, T b) const { return a < b ? b : a; } };
template <typename T> struct bit_and { __device__ T operator()(T a, T b) const { return a & b; } };
template <typename T> struct bit_or { __device__ T operator()(T a, T b) const { return a | b; } };
template <typename T> struct bit_xor { __device__ T operator()(T a, T b) const { return a ^ b; } };
template <unsigned int N, typename Parent, typename T, typename Op>
__device__ inline T reduce(const thread_block_tile<N, Parent>& group, T value, Op op) {
  for (unsigned int o = N / 2; o > 0; o /= 2) {
    value = op(value, kpt_by_words(value, [&](int word) { return group.shfl_xor(word, o); }));
  }
  return value;
}
template <typename T, typename Op>
__device__ inline T reduce(const coalesced_group& group, T value, Op op) {
  T result = kpt_by_words(value, [&](int word) { return group.shfl(word, 0); });
  for (unsigned int i = 1; i < group.size(); ++i) {
    result = op(result, kpt_by_words(value, [&](int word) { return group.shfl(word, i); }));
  }
  return result;
}
}  // namespace cooperative_groups
#endif
//: cg::labeled_partition < hip/hip_cooperative_groups.h
#if HIP_VERSION < 71300000  // later ones have it
namespace cooperative_groups {
// One turn for each label that is left: the lanes that have the first one's leave together. HIP's own partitions of a
// tile want all of its lanes; here some may have returned.
__device__ inline coalesced_group kpt_labeled(int part, long long label) {
  while (true) {
    const coalesced_group left = coalesced_threads();
    const int first_part = left.shfl(part, 0);
    const long long first_label = left.shfl(label, 0);
    const bool is_first = first_part == part && first_label == label;
    const coalesced_group same = binary_partition(left, is_first);
    if (is_first) return same;
  }
}
template <unsigned int N, typename Parent>
__device__ inline coalesced_group labeled_partition(const thread_block_tile<N, Parent>&, long long label) {
  return kpt_labeled(__lane_id() / N, label);
}
__device__ inline coalesced_group labeled_partition(const coalesced_group& group, long long label) {
  return kpt_labeled(group.shfl(int(__lane_id()), 0), label);
}
}  // namespace cooperative_groups
#endif
//: cg::scan < hip/hip_cooperative_groups.h
#if HIP_VERSION < 71400000  // later ones have it
namespace cooperative_groups {
template <unsigned int N, typename Parent, typename T, typename Op>
__device__ inline T inclusive_scan(const thread_block_tile<N, Parent>& group, T value, Op op) {
  for (unsigned int o = 1; o < N; o *= 2) {
    T below = group.shfl_up(value, o);
    if (group.thread_rank() >= o) value = op(below, value);
  }
  return value;
}
template <unsigned int N, typename Parent, typename T>
__device__ inline T inclusive_scan(const thread_block_tile<N, Parent>& group, T value) {
  return inclusive_scan(group, value, [](T a, T b) { return a + b; });
}
template <unsigned int N, typename Parent, typename T, typename Op>
__device__ inline T exclusive_scan(const thread_block_tile<N, Parent>& group, T value, Op op) {
  T below = group.shfl_up(inclusive_scan(group, value, op), 1);
  return group.thread_rank() == 0 ? T() : below;
}
template <unsigned int N, typename Parent, typename T>
__device__ inline T exclusive_scan(const thread_block_tile<N, Parent>& group, T value) {
  return exclusive_scan(group, value, [](T a, T b) { return a + b; });
}
}  // namespace cooperative_groups
#endif
//: atomicAdd(half) < hip/hip_fp16.h
static __device__ inline __half2 atomicAdd(__half2* p, __half2 v) {
  unsigned int* word = reinterpret_cast<unsigned int*>(p);
  unsigned int old = *word, seen;
  do {
    seen = old;
    __half2 sum = __hadd2(*reinterpret_cast<__half2*>(&seen), v);
    old = atomicCAS(word, seen, *reinterpret_cast<unsigned int*>(&sum));
  } while (seen != old);
  return *reinterpret_cast<__half2*>(&old);
}
static __device__ inline __half atomicAdd(__half* p, __half v) {
  unsigned long long address = reinterpret_cast<unsigned long long>(p);
  unsigned int* word = reinterpret_cast<unsigned int*>(address & ~3ull);
  unsigned int shift = (address & 2) * 8, old = *word, seen;
  do {
    seen = old;
    unsigned short bits = static_cast<unsigned short>(seen >> shift);
    __half sum = __hadd(*reinterpret_cast<__half*>(&bits), v);
    unsigned int placed = static_cast<unsigned int>(*reinterpret_cast<unsigned short*>(&sum)) << shift;
    old = atomicCAS(word, seen, (seen & ~(0xffffu << shift)) | placed);
  } while (seen != old);
  unsigned short result = static_cast<unsigned short>(old >> shift);
  return *reinterpret_cast<__half*>(&result);
}
//: atomicAdd(bfloat16) < hip/hip_bf16.h
static __device__ inline __hip_bfloat162 atomicAdd(__hip_bfloat162* p, __hip_bfloat162 v) {
  unsigned int* word = reinterpret_cast<unsigned int*>(p);
  unsigned int old = *word, seen;
  do {
    seen = old;
    __hip_bfloat162 sum = __hadd2(*reinterpret_cast<__hip_bfloat162*>(&seen), v);
    old = atomicCAS(word, seen, *reinterpret_cast<unsigned int*>(&sum));
  } while (seen != old);
  return *reinterpret_cast<__hip_bfloat162*>(&old);
}
static __device__ inline __hip_bfloat16 atomicAdd(__hip_bfloat16* p, __hip_bfloat16 v) {
  unsigned long long address = reinterpret_cast<unsigned long long>(p);
  unsigned int* word = reinterpret_cast<unsigned int*>(address & ~3ull);
  unsigned int shift = (address & 2) * 8, old = *word, seen;
  do {
    seen = old;
    unsigned short bits = static_cast<unsigned short>(seen >> shift);
    __hip_bfloat16 sum = __hadd(*reinterpret_cast<__hip_bfloat16*>(&bits), v);
    unsigned int placed = static_cast<unsigned int>(*reinterpret_cast<unsigned short*>(&sum)) << shift;
    old = atomicCAS(word, seen, (seen & ~(0xffffu << shift)) | placed);
  } while (seen != old);
  unsigned short result = static_cast<unsigned short>(old >> shift);
  return *reinterpret_cast<__hip_bfloat16*>(&result);
}
//: __bfloat162int_rn __bfloat162int_rz __bfloat162int_rd __bfloat162int_ru __bfloat162uint_rn __bfloat162uint_rz __bfloat162uint_rd __bfloat162uint_ru __bfloat162ll_rn __bfloat162ll_rz __bfloat162ll_rd __bfloat162ll_ru __bfloat162ull_rn __bfloat162ull_rz __bfloat162ull_rd __bfloat162ull_ru < hip/hip_bf16.h
static __device__ inline int __bfloat162int_rn(__hip_bfloat16 x) { return __float2int_rn(__bfloat162float(x)); }
static __device__ inline int __bfloat162int_rz(__hip_bfloat16 x) { return __float2int_rz(__bfloat162float(x)); }
static __device__ inline int __bfloat162int_rd(__hip_bfloat16 x) { return __float2int_rd(__bfloat162float(x)); }
static __device__ inline int __bfloat162int_ru(__hip_bfloat16 x) { return __float2int_ru(__bfloat162float(x)); }
static __device__ inline unsigned int __bfloat162uint_rn(__hip_bfloat16 x) { return __float2uint_rn(__bfloat162float(x)); }
static __device__ inline unsigned int __bfloat162uint_rz(__hip_bfloat16 x) { return __float2uint_rz(__bfloat162float(x)); }
static __device__ inline unsigned int __bfloat162uint_rd(__hip_bfloat16 x) { return __float2uint_rd(__bfloat162float(x)); }
static __device__ inline unsigned int __bfloat162uint_ru(__hip_bfloat16 x) { return __float2uint_ru(__bfloat162float(x)); }
static __device__ inline long long __bfloat162ll_rn(__hip_bfloat16 x) { return __float2ll_rn(__bfloat162float(x)); }
static __device__ inline long long __bfloat162ll_rz(__hip_bfloat16 x) { return __float2ll_rz(__bfloat162float(x)); }
static __device__ inline long long __bfloat162ll_rd(__hip_bfloat16 x) { return __float2ll_rd(__bfloat162float(x)); }
static __device__ inline long long __bfloat162ll_ru(__hip_bfloat16 x) { return __float2ll_ru(__bfloat162float(x)); }
static __device__ inline unsigned long long __bfloat162ull_rn(__hip_bfloat16 x) { return __float2ull_rn(__bfloat162float(x)); }
static __device__ inline unsigned long long __bfloat162ull_rz(__hip_bfloat16 x) { return __float2ull_rz(__bfloat162float(x)); }
static __device__ inline unsigned long long __bfloat162ull_rd(__hip_bfloat16 x) { return __float2ull_rd(__bfloat162float(x)); }
static __device__ inline unsigned long long __bfloat162ull_ru(__hip_bfloat16 x) { return __float2ull_ru(__bfloat162float(x)); }
//: __ll2bfloat16_rn __ull2bfloat16_rn __uint2bfloat16_rn __short2bfloat16_rn __ushort2bfloat16_rn < hip/hip_bf16.h
static __device__ inline __hip_bfloat16 __ll2bfloat16_rn(long long x) { return __float2bfloat16(static_cast<float>(x)); }
static __device__ inline __hip_bfloat16 __ull2bfloat16_rn(unsigned long long x) { return __float2bfloat16(static_cast<float>(x)); }
static __device__ inline __hip_bfloat16 __uint2bfloat16_rn(unsigned int x) { return __float2bfloat16(static_cast<float>(x)); }
static __device__ inline __hip_bfloat16 __short2bfloat16_rn(short x) { return __float2bfloat16(static_cast<float>(x)); }
static __device__ inline __hip_bfloat16 __ushort2bfloat16_rn(unsigned short x) { return __float2bfloat16(static_cast<float>(x)); }
//: __ffsll(long)
static __device__ inline int __ffsll(unsigned long x) { return __ffsll(static_cast<unsigned long long>(x)); }
static __device__ inline int __ffsll(long x) { return __ffsll(static_cast<long long>(x)); }
//: hipGetErrorString(device)
static __device__ inline const char* hipGetErrorString(hipError_t) { return "an error of HIP's runtime"; }
//: hipGetErrorName(device)
static __device__ inline const char* hipGetErrorName(hipError_t) { return "hipError"; }
//: hipMemPrefetchAsync(location)
static inline hipError_t hipMemPrefetchAsync(const void* memory, size_t bytes, hipMemLocation place, unsigned flags,
                                             hipStream_t stream = nullptr) {
  return hipMemPrefetchAsync_v2(memory, bytes, place, flags, stream);
}
static inline hipError_t hipMemAdvise(const void* memory, size_t bytes, hipMemoryAdvise advice, hipMemLocation place) {
  return hipMemAdvise_v2(memory, bytes, advice, place);
}
//: hipEventCreate(flags)
static inline hipError_t hipEventCreate(hipEvent_t* event, unsigned flags) { return hipEventCreateWithFlags(event, flags); }
//: CubDebugExit < cstdlib hipcub/hipcub.hpp
#define CubDebugExit(call) do { if (HipcubDebug((call)) != hipSuccess) { exit(1); } } while (0)
//: rsqrtf(host) < cmath
static __host__ inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
//: rsqrt(host) < cmath
static __host__ inline double rsqrt(double x) { return 1.0 / std::sqrt(x); }
//: rcbrtf(host) < cmath
static __host__ inline float rcbrtf(float x) { return 1.0f / std::cbrt(x); }
//: rcbrt(host) < cmath
static __host__ inline double rcbrt(double x) { return 1.0 / std::cbrt(x); }
//: sinpif(host) < cmath
static __host__ inline float sinpif(float x) { return std::sin(x * 3.14159265358979323846f); }
//: sinpi(host) < cmath
static __host__ inline double sinpi(double x) { return std::sin(x * 3.14159265358979323846); }
//: cospif(host) < cmath
static __host__ inline float cospif(float x) { return std::cos(x * 3.14159265358979323846f); }
//: cospi(host) < cmath
static __host__ inline double cospi(double x) { return std::cos(x * 3.14159265358979323846); }
//: normcdff(host) < cmath
static __host__ inline float normcdff(float x) { return 0.5f * std::erfc(x * -0.70710678118654752440f); }
//: normcdf(host) < cmath
static __host__ inline double normcdf(double x) { return 0.5 * std::erfc(x * -0.70710678118654752440); }
//: hipblasGemmEx(data-type) < hipblas/hipblas.h
// cuBLAS takes a data type where hipBLAS wants a compute type; the pairs are those of CUDA's own header.
static inline hipblasComputeType_t kpt_compute_type(hipDataType type) {
  switch (type) {
    case HIP_R_16F: return HIPBLAS_COMPUTE_16F;
    case HIP_R_64F: case HIP_C_64F: return HIPBLAS_COMPUTE_64F;
    case HIP_R_32I: return HIPBLAS_COMPUTE_32I;
    default: return HIPBLAS_COMPUTE_32F;
  }
}
static inline hipblasStatus_t hipblasGemmEx(hipblasHandle_t handle, hipblasOperation_t ta, hipblasOperation_t tb, int m, int n,
    int k, const void* alpha, const void* a, hipDataType at, int lda, const void* b, hipDataType bt, int ldb, const void* beta,
    void* c, hipDataType ct, int ldc, hipDataType compute, hipblasGemmAlgo_t algo) {
  return hipblasGemmEx(handle, ta, tb, m, n, k, alpha, a, at, lda, b, bt, ldb, beta, c, ct, ldc, kpt_compute_type(compute), algo);
}
static inline hipblasStatus_t hipblasGemmStridedBatchedEx(hipblasHandle_t handle, hipblasOperation_t ta, hipblasOperation_t tb,
    int m, int n, int k, const void* alpha, const void* a, hipDataType at, int lda, long long sa, const void* b, hipDataType bt,
    int ldb, long long sb, const void* beta, void* c, hipDataType ct, int ldc, long long sc, int count, hipDataType compute,
    hipblasGemmAlgo_t algo) {
  return hipblasGemmStridedBatchedEx(handle, ta, tb, m, n, k, alpha, a, at, lda, sa, b, bt, ldb, sb, beta, c, ct, ldc, sc, count,
                                     kpt_compute_type(compute), algo);
}
//: __trap
static __device__ inline void __trap() { __builtin_trap(); }
//: nvtxNameCudaDevice nvtxNameCudaDeviceA nvtxNameCudaStream nvtxNameCudaStreamA nvtxNameCudaEvent nvtxNameCudaEventA
#define nvtxNameCudaDeviceA(device, name) ((void)0)
#define nvtxNameCudaStreamA(stream, name) ((void)0)
#define nvtxNameCudaEventA(event, name) ((void)0)
#define nvtxNameCudaDevice(device, name) ((void)0)
#define nvtxNameCudaStream(stream, name) ((void)0)
#define nvtxNameCudaEvent(event, name) ((void)0)
//: min(mixed)
static __device__ inline unsigned min(int a, unsigned b) { return min(static_cast<unsigned>(a), b); }
static __device__ inline unsigned min(unsigned a, int b) { return min(a, static_cast<unsigned>(b)); }
static __device__ inline unsigned max(int a, unsigned b) { return max(static_cast<unsigned>(a), b); }
static __device__ inline unsigned max(unsigned a, int b) { return max(a, static_cast<unsigned>(b)); }
//: kpt_wave
// The width that block reductions count in: the wave's where a block is one row of whole waves, CUDA's 32 elsewhere.
static __device__ inline int kpt_wave(unsigned int below = 2048) {
  const int lanes = __builtin_amdgcn_wavefrontsize();
  return blockDim.y * blockDim.z == 1 && blockDim.x < below && blockDim.x % lanes == 0 ? lanes : 32;
}
//: __heq2_mask __hne2_mask __hle2_mask __hge2_mask __hlt2_mask __hgt2_mask __hequ2_mask __hneu2_mask __hleu2_mask __hgeu2_mask __hltu2_mask __hgtu2_mask < hip/hip_fp16.h
#define KPT_HALF2_MASK(NAME, HOLDS)                                                   \
  static __device__ inline unsigned NAME(__half2 a, __half2 b) {                      \
    const unsigned low = HOLDS(__low2half(a), __low2half(b)) ? 0xffffu : 0u;          \
    return low | (HOLDS(__high2half(a), __high2half(b)) ? 0xffff0000u : 0u);          \
  }
KPT_HALF2_MASK(__heq2_mask, __heq)
KPT_HALF2_MASK(__hne2_mask, __hne)
KPT_HALF2_MASK(__hle2_mask, __hle)
KPT_HALF2_MASK(__hge2_mask, __hge)
KPT_HALF2_MASK(__hlt2_mask, __hlt)
KPT_HALF2_MASK(__hgt2_mask, __hgt)
KPT_HALF2_MASK(__hequ2_mask, __hequ)
KPT_HALF2_MASK(__hneu2_mask, __hneu)
KPT_HALF2_MASK(__hleu2_mask, __hleu)
KPT_HALF2_MASK(__hgeu2_mask, __hgeu)
KPT_HALF2_MASK(__hltu2_mask, __hltu)
KPT_HALF2_MASK(__hgtu2_mask, __hgtu)
#undef KPT_HALF2_MASK
//: __hmax2(half2) < hip/hip_fp16.h
static __device__ inline __half2 __hmax2(__half2 a, __half2 b) {
  return __halves2half2(__hmax(__low2half(a), __low2half(b)), __hmax(__high2half(a), __high2half(b)));
}
static __device__ inline __half2 __hmin2(__half2 a, __half2 b) {
  return __halves2half2(__hmin(__low2half(a), __low2half(b)), __hmin(__high2half(a), __high2half(b)));
}
//: cuda::std < type_traits
namespace cuda {
namespace std = ::std;  // clang compiles its constexpr functions for the device as well
}
//: cuda::ceil_div < type_traits
namespace cuda {
template <typename T, typename U> constexpr ::std::common_type_t<T, U> ceil_div(T value, U divisor) {
  using Both = ::std::common_type_t<T, U>;
  return Both(value) / Both(divisor) + (Both(value) % Both(divisor) != 0);
}
template <typename T, typename U> constexpr ::std::common_type_t<T, U> round_up(T value, U multiple) {
  return ceil_div(value, multiple) * ::std::common_type_t<T, U>(multiple);
}
}  // namespace cuda
//: cub::
#if defined(__HIPCC__)
#include <hipcub/hipcub.hpp>
namespace cub = hipcub;  // torch's renaming knows some of its names only
#endif
//: cuda::atomic_ref < atomic
namespace cuda {
enum thread_scope {
  thread_scope_thread = __HIP_MEMORY_SCOPE_SINGLETHREAD,
  thread_scope_block = __HIP_MEMORY_SCOPE_WORKGROUP,
  thread_scope_device = __HIP_MEMORY_SCOPE_AGENT,
  thread_scope_system = __HIP_MEMORY_SCOPE_SYSTEM
};
using ::std::memory_order;
using ::std::memory_order_acq_rel;
using ::std::memory_order_acquire;
using ::std::memory_order_relaxed;
using ::std::memory_order_release;
using ::std::memory_order_seq_cst;
template <typename T, thread_scope Scope = thread_scope_system> class atomic_ref {
  T* place;

 public:
  __host__ __device__ explicit atomic_ref(T& value) : place(&value) {}
  __host__ __device__ T load(memory_order order = memory_order_seq_cst) const {
    return __hip_atomic_load(place, int(order), Scope);
  }
  __host__ __device__ void store(T value, memory_order order = memory_order_seq_cst) const {
    __hip_atomic_store(place, value, int(order), Scope);
  }
  __host__ __device__ T exchange(T value, memory_order order = memory_order_seq_cst) const {
    return __hip_atomic_exchange(place, value, int(order), Scope);
  }
  __host__ __device__ bool compare_exchange_strong(T& seen, T value, memory_order = memory_order_seq_cst,
                                                   memory_order = memory_order_seq_cst) const {
    return __hip_atomic_compare_exchange_strong(place, &seen, value, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST, Scope);
  }
  __host__ __device__ bool compare_exchange_weak(T& seen, T value, memory_order = memory_order_seq_cst,
                                                 memory_order = memory_order_seq_cst) const {
    return __hip_atomic_compare_exchange_weak(place, &seen, value, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST, Scope);
  }
  __host__ __device__ T fetch_add(T value, memory_order order = memory_order_seq_cst) const {
    return __hip_atomic_fetch_add(place, value, int(order), Scope);
  }
  __host__ __device__ T fetch_sub(T value, memory_order order = memory_order_seq_cst) const {
    return __hip_atomic_fetch_add(place, -value, int(order), Scope);
  }
  __host__ __device__ T fetch_and(T value, memory_order order = memory_order_seq_cst) const {
    return __hip_atomic_fetch_and(place, value, int(order), Scope);
  }
  __host__ __device__ T fetch_or(T value, memory_order order = memory_order_seq_cst) const {
    return __hip_atomic_fetch_or(place, value, int(order), Scope);
  }
  __host__ __device__ T fetch_xor(T value, memory_order order = memory_order_seq_cst) const {
    return __hip_atomic_fetch_xor(place, value, int(order), Scope);
  }
  __host__ __device__ T fetch_min(T value, memory_order order = memory_order_seq_cst) const {
    return __hip_atomic_fetch_min(place, value, int(order), Scope);
  }
  __host__ __device__ T fetch_max(T value, memory_order order = memory_order_seq_cst) const {
    return __hip_atomic_fetch_max(place, value, int(order), Scope);
  }
};
}  // namespace cuda
//: surf1Dread surf1Dwrite
// HIP has no boundary mode: beyond the edge its hardware reads zero and drops what is written (cudaBoundaryModeZero).
template <typename T>
static __device__ __hip_img_chk__ inline T surf1Dread(hipSurfaceObject_t s, int x,
                                                      hipSurfaceBoundaryMode = hipBoundaryModeZero) {
  T value;
  surf1Dread(&value, s, x);
  return value;
}
template <typename T>
static __device__ __hip_img_chk__ inline void surf1Dread(T* value, hipSurfaceObject_t s, int x, hipSurfaceBoundaryMode) {
  surf1Dread(value, s, x);
}
template <typename T>
static __device__ __hip_img_chk__ inline void surf1Dwrite(T value, hipSurfaceObject_t s, int x, hipSurfaceBoundaryMode) {
  surf1Dwrite(value, s, x);
}
//: surf2Dread surf2Dwrite
// HIP has no boundary mode: beyond the edge its hardware reads zero and drops what is written (cudaBoundaryModeZero).
template <typename T>
static __device__ __hip_img_chk__ inline T surf2Dread(hipSurfaceObject_t s, int x, int y,
                                                      hipSurfaceBoundaryMode = hipBoundaryModeZero) {
  T value;
  surf2Dread(&value, s, x, y);
  return value;
}
template <typename T>
static __device__ __hip_img_chk__ inline void surf2Dread(T* value, hipSurfaceObject_t s, int x, int y,
                                                         hipSurfaceBoundaryMode) {
  surf2Dread(value, s, x, y);
}
template <typename T>
static __device__ __hip_img_chk__ inline void surf2Dwrite(T value, hipSurfaceObject_t s, int x, int y,
                                                          hipSurfaceBoundaryMode) {
  surf2Dwrite(value, s, x, y);
}
//: surf3Dread surf3Dwrite
// HIP has no boundary mode: beyond the edge its hardware reads zero and drops what is written (cudaBoundaryModeZero).
template <typename T>
static __device__ __hip_img_chk__ inline T surf3Dread(hipSurfaceObject_t s, int x, int y, int z,
                                                      hipSurfaceBoundaryMode = hipBoundaryModeZero) {
  T value;
  surf3Dread(&value, s, x, y, z);
  return value;
}
template <typename T>
static __device__ __hip_img_chk__ inline void surf3Dread(T* value, hipSurfaceObject_t s, int x, int y, int z,
                                                         hipSurfaceBoundaryMode) {
  surf3Dread(value, s, x, y, z);
}
template <typename T>
static __device__ __hip_img_chk__ inline void surf3Dwrite(T value, hipSurfaceObject_t s, int x, int y, int z,
                                                          hipSurfaceBoundaryMode) {
  surf3Dwrite(value, s, x, y, z);
}
//: surf2DLayeredread surf2DLayeredwrite
// HIP's own functions of these names (ROCm 7.2) take the layer for a mip level, and have no boundary mode: beyond the
// edge the hardware reads zero and drops what is written (cudaBoundaryModeZero).
template <typename T>
static __device__ __hip_img_chk__ inline void kpt_surf2DLayeredread(T* value, hipSurfaceObject_t s, int x, int y,
                                                                    int layer,
                                                                    hipSurfaceBoundaryMode = hipBoundaryModeZero) {
  auto* i = (unsigned int __attribute__((address_space(4)))*)s;
  x = __hipGetPixelAddr(x, __ockl_image_channel_data_type_2Da(i), __ockl_image_channel_order_2Da(i));
  int4 at{x, y, layer, 0};
  *value = __hipMapFrom<T>(__ockl_image_load_2Da(i, get_native_vector(at)));
}
template <typename T>
static __device__ __hip_img_chk__ inline T kpt_surf2DLayeredread(hipSurfaceObject_t s, int x, int y, int layer,
                                                                 hipSurfaceBoundaryMode mode = hipBoundaryModeZero) {
  T value;
  kpt_surf2DLayeredread(&value, s, x, y, layer, mode);
  return value;
}
template <typename T>
static __device__ __hip_img_chk__ inline void kpt_surf2DLayeredwrite(T value, hipSurfaceObject_t s, int x, int y,
                                                                     int layer,
                                                                     hipSurfaceBoundaryMode = hipBoundaryModeZero) {
  auto* i = (unsigned int __attribute__((address_space(4)))*)s;
  x = __hipGetPixelAddr(x, __ockl_image_channel_data_type_2Da(i), __ockl_image_channel_order_2Da(i));
  int4 at{x, y, layer, 0};
  __ockl_image_store_2Da(i, get_native_vector(at), __hipMapTo<float4::Native_vec_>(value));
}
#define surf2DLayeredread kpt_surf2DLayeredread
#define surf2DLayeredwrite kpt_surf2DLayeredwrite
//: __fadd_rd __fsub_rd __fmul_rd __fmaf_rd __dadd_rd __dsub_rd __dmul_rd __fma_rd
// Rounding down: HIP's device library has it, and clang's header leaves it out without a macro of its own.
extern "C" __device__ __attribute__((const)) float __ocml_add_rtn_f32(float, float);
extern "C" __device__ __attribute__((const)) float __ocml_mul_rtn_f32(float, float);
extern "C" __device__ __attribute__((const)) float __ocml_fma_rtn_f32(float, float, float);
static __device__ inline float __fadd_rd(float a, float b) { return __ocml_add_rtn_f32(a, b); }
static __device__ inline float __fsub_rd(float a, float b) { return __ocml_add_rtn_f32(a, -b); }
static __device__ inline float __fmul_rd(float a, float b) { return __ocml_mul_rtn_f32(a, b); }
static __device__ inline float __fmaf_rd(float a, float b, float c) { return __ocml_fma_rtn_f32(a, b, c); }
extern "C" __device__ __attribute__((const)) double __ocml_add_rtn_f64(double, double);
extern "C" __device__ __attribute__((const)) double __ocml_mul_rtn_f64(double, double);
extern "C" __device__ __attribute__((const)) double __ocml_fma_rtn_f64(double, double, double);
static __device__ inline double __dadd_rd(double a, double b) { return __ocml_add_rtn_f64(a, b); }
static __device__ inline double __dsub_rd(double a, double b) { return __ocml_add_rtn_f64(a, -b); }
static __device__ inline double __dmul_rd(double a, double b) { return __ocml_mul_rtn_f64(a, b); }
static __device__ inline double __fma_rd(double a, double b, double c) { return __ocml_fma_rtn_f64(a, b, c); }
//: __fadd_ru __fsub_ru __fmul_ru __fmaf_ru __dadd_ru __dsub_ru __dmul_ru __fma_ru
// Rounding up: HIP's device library has it, and clang's header leaves it out without a macro of its own.
extern "C" __device__ __attribute__((const)) float __ocml_add_rtp_f32(float, float);
extern "C" __device__ __attribute__((const)) float __ocml_mul_rtp_f32(float, float);
extern "C" __device__ __attribute__((const)) float __ocml_fma_rtp_f32(float, float, float);
static __device__ inline float __fadd_ru(float a, float b) { return __ocml_add_rtp_f32(a, b); }
static __device__ inline float __fsub_ru(float a, float b) { return __ocml_add_rtp_f32(a, -b); }
static __device__ inline float __fmul_ru(float a, float b) { return __ocml_mul_rtp_f32(a, b); }
static __device__ inline float __fmaf_ru(float a, float b, float c) { return __ocml_fma_rtp_f32(a, b, c); }
extern "C" __device__ __attribute__((const)) double __ocml_add_rtp_f64(double, double);
extern "C" __device__ __attribute__((const)) double __ocml_mul_rtp_f64(double, double);
extern "C" __device__ __attribute__((const)) double __ocml_fma_rtp_f64(double, double, double);
static __device__ inline double __dadd_ru(double a, double b) { return __ocml_add_rtp_f64(a, b); }
static __device__ inline double __dsub_ru(double a, double b) { return __ocml_add_rtp_f64(a, -b); }
static __device__ inline double __dmul_ru(double a, double b) { return __ocml_mul_rtp_f64(a, b); }
static __device__ inline double __fma_ru(double a, double b, double c) { return __ocml_fma_rtp_f64(a, b, c); }
//: __fadd_rz __fsub_rz __fmul_rz __fmaf_rz __dadd_rz __dsub_rz __dmul_rz __fma_rz
// Rounding toward zero: HIP's device library has it, and clang's header leaves it out without a macro of its own.
extern "C" __device__ __attribute__((const)) float __ocml_add_rtz_f32(float, float);
extern "C" __device__ __attribute__((const)) float __ocml_mul_rtz_f32(float, float);
extern "C" __device__ __attribute__((const)) float __ocml_fma_rtz_f32(float, float, float);
static __device__ inline float __fadd_rz(float a, float b) { return __ocml_add_rtz_f32(a, b); }
static __device__ inline float __fsub_rz(float a, float b) { return __ocml_add_rtz_f32(a, -b); }
static __device__ inline float __fmul_rz(float a, float b) { return __ocml_mul_rtz_f32(a, b); }
static __device__ inline float __fmaf_rz(float a, float b, float c) { return __ocml_fma_rtz_f32(a, b, c); }
extern "C" __device__ __attribute__((const)) double __ocml_add_rtz_f64(double, double);
extern "C" __device__ __attribute__((const)) double __ocml_mul_rtz_f64(double, double);
extern "C" __device__ __attribute__((const)) double __ocml_fma_rtz_f64(double, double, double);
static __device__ inline double __dadd_rz(double a, double b) { return __ocml_add_rtz_f64(a, b); }
static __device__ inline double __dsub_rz(double a, double b) { return __ocml_add_rtz_f64(a, -b); }
static __device__ inline double __dmul_rz(double a, double b) { return __ocml_mul_rtz_f64(a, b); }
static __device__ inline double __fma_rz(double a, double b, double c) { return __ocml_fma_rtz_f64(a, b, c); }
