#include <hip/hip_runtime.h>
#ifndef KPT_SHIM_CVTA_GENERIC_TO_SHARED
#define KPT_SHIM_CVTA_GENERIC_TO_SHARED
static __device__ inline size_t __cvta_generic_to_shared(const void* p) {
  return (size_t)(unsigned)(unsigned long long)(const __attribute__((address_space(3))) void*)p;
}
#endif
#ifndef KPT_SHIM_KPT_LANE
#define KPT_SHIM_KPT_LANE
// A 64-lane wave holds two 32-lane warps, which may be in different calls: a lane asks only lanes of its own warp.
static __device__ inline unsigned kpt_lane() { return __lane_id() & 31u; }
static __device__ inline unsigned kpt_of_lane(unsigned word, unsigned lane) {
  return static_cast<unsigned>(
      __builtin_amdgcn_ds_bpermute(static_cast<int>(((__lane_id() & 32u) | lane) << 2), static_cast<int>(word)));
}
static __device__ inline double kpt_of_lane(double value, unsigned lane) {
  const unsigned long long bits = __builtin_bit_cast(unsigned long long, value);
  const unsigned low = kpt_of_lane(static_cast<unsigned>(bits), lane), high = kpt_of_lane(static_cast<unsigned>(bits >> 32), lane);
  return __builtin_bit_cast(double, static_cast<unsigned long long>(high) << 32 | low);
}
#endif
#ifndef KPT_SHIM_KPT_READ_HERE
#define KPT_SHIM_KPT_READ_HERE
// LLVM up to 22 may move a read of LDS into a later branch, past the barrier between them (llvm/llvm-project issue 181708).
// It does not move this: inline assembly of HIP is convergent. Unlike a barrier for memory it leaves the order of reads and products
// to the compiler, which needs it to fit large tiles into registers.
static __device__ inline void kpt_read_here(unsigned& word) { __asm__("" : "+v"(word)); }
template <typename T, int Count> static __device__ inline void kpt_read_here(T (&values)[Count], int count) {
#pragma unroll
  for (int at = 0; at < count * int(sizeof(T)) / 4; ++at) {
    unsigned word;
    __builtin_memcpy(&word, reinterpret_cast<const char*>(values) + 4 * at, 4);
    kpt_read_here(word);
    __builtin_memcpy(reinterpret_cast<char*>(values) + 4 * at, &word, 4);
  }
}
#endif
#ifndef KPT_SHIM_KPT_LDMATRIX
#define KPT_SHIM_KPT_LDMATRIX
// Lane 8 * i + r has the address of row r of matrix i, 16 bytes of LDS. Lane l holds the columns 2 * (l % 4) and the next
// of row l / 4, or with Trans the same of the transposed matrix.
typedef __attribute__((address_space(3))) unsigned __attribute__((may_alias)) kpt_lds_word;
typedef __attribute__((address_space(3))) unsigned short __attribute__((may_alias)) kpt_lds_half;
template <bool Trans, int Count> static __device__ inline void kpt_ldmatrix(unsigned (&to)[Count], unsigned row) {
  const unsigned lane = kpt_lane(), line = lane / 4, column = lane % 4;
#pragma unroll
  for (unsigned i = 0; i < Count; ++i) {
    if (Trans) {
      const unsigned low = *(kpt_lds_half*)(kpt_of_lane(row, 8 * i + 2 * column) + 2 * line);
      const unsigned high = *(kpt_lds_half*)(kpt_of_lane(row, 8 * i + 2 * column + 1) + 2 * line);
      to[i] = high << 16 | low;
    } else {
      to[i] = *(kpt_lds_word*)(kpt_of_lane(row, 8 * i + line) + 4 * column);
    }
    kpt_read_here(to[i]);
  }
}
template <bool Trans, int Count> static __device__ inline void kpt_stmatrix(unsigned row, const unsigned (&from)[Count]) {
  const unsigned lane = kpt_lane(), line = lane / 4, column = lane % 4;
#pragma unroll
  for (unsigned i = 0; i < Count; ++i) {
    if (Trans) {
      *(kpt_lds_half*)(kpt_of_lane(row, 8 * i + 2 * column) + 2 * line) = static_cast<unsigned short>(from[i]);
      *(kpt_lds_half*)(kpt_of_lane(row, 8 * i + 2 * column + 1) + 2 * line) = static_cast<unsigned short>(from[i] >> 16);
    } else {
      *(kpt_lds_word*)(kpt_of_lane(row, 8 * i + line) + 4 * column) = from[i];
    }
  }
}
#endif
#ifndef KPT_SHIM_KPT_COPY_INTO_LDS
#define KPT_SHIM_KPT_COPY_INTO_LDS
// gfx942 and gfx950 load words into LDS without a register between and without waiting: 4 bytes of each lane, gfx950 also 16. Lane n
// of the wave writes word n from one base on. So the wave asks whether its lanes want just that; if not, or where source or
// destination are elsewhere, it copies through registers. Such loads are counted as other loads are, and retire in order.
// Waiting for none of them left is right for every number of groups that may be left.
#if defined(__gfx942__) || defined(__gfx950__)
template <int Bytes> struct kpt_lds_load {
  static __device__ inline bool start(void*, const void*) { return false; }
};
#define KPT_LDS_LOAD(bytes, name)                                                                                      \
  template <> struct kpt_lds_load<bytes> {                                                                             \
    static __device__ inline bool start(void* to, const void* from) {                                                  \
      const bool apt = __builtin_amdgcn_is_shared(to) && !__builtin_amdgcn_is_shared(from) && !__builtin_amdgcn_is_private(from); \
      const unsigned at = static_cast<unsigned>(reinterpret_cast<unsigned long long>(to)), lead = bytes * __lane_id(); \
      const unsigned base = __builtin_amdgcn_readfirstlane(at - lead);                                                 \
      if (__builtin_amdgcn_ballot_w64(!apt || at - lead != base) != 0 || base >= 0x10000u) return false;               \
      __asm__ volatile("s_mov_b32 m0, %0\n\ts_nop 0\n\tglobal_load_lds_" name " %1, off" ::"s"(base), "v"(from) : "m0", "memory"); \
      return true;                                                                                                     \
    }                                                                                                                  \
  };
KPT_LDS_LOAD(4, "dword")
#if defined(__gfx950__)
KPT_LDS_LOAD(16, "dwordx4")
#endif
#undef KPT_LDS_LOAD
template <typename Word> __device__ inline void kpt_copy_into_lds(Word* to, const Word* from) {
  if (!kpt_lds_load<sizeof(Word)>::start(to, from)) *to = *from;
}
__device__ inline void kpt_copies_done() { __asm__ volatile("s_waitcnt vmcnt(0)" ::: "memory"); }
#else
template <typename Word> __device__ inline void kpt_copy_into_lds(Word* to, const Word* from) { *to = *from; }
__device__ inline void kpt_copies_done() {}
#endif
#endif
#ifndef KPT_SHIM_KPT_OWN_COPY
#define KPT_SHIM_KPT_OWN_COPY
// A copy of one thread, which names its own destination. Most kernels pad or swizzle, so that lanes do not lie side by side;
// the question would then stand between copies that the compiler otherwise has under way together. Kernels that know
// better are built with -DKPT_COPY_INTO_LDS.
#if defined(KPT_COPY_INTO_LDS)
template <typename Word> __device__ inline void kpt_own_copy(Word* to, const Word* from) { kpt_copy_into_lds(to, from); }
__device__ inline void kpt_own_copies_done() { kpt_copies_done(); }
#else
template <typename Word> __device__ inline void kpt_own_copy(Word* to, const Word* from) { *to = *from; }
__device__ inline void kpt_own_copies_done() {}
#endif
#endif
#include <hip/hip_runtime.h>

template <int bytes>
__device__ void copy_async(void *to, const void *from) {
  unsigned address = (unsigned)__cvta_generic_to_shared(to);
  do {
    unsigned char* const kpt_to0 = (unsigned char*)(__attribute__((address_space(3))) unsigned char*)((unsigned)((unsigned)address));
    const unsigned char* const kpt_from0 = (const unsigned char*)(from);
    if ((unsigned)((unsigned)(bytes)) == 4) kpt_own_copy((unsigned*)kpt_to0, (const unsigned*)kpt_from0); else if ((unsigned)((unsigned)(bytes)) == 8) kpt_own_copy((uint2*)kpt_to0, (const uint2*)kpt_from0); else if ((unsigned)((unsigned)(bytes)) == 16) kpt_own_copy((uint4*)kpt_to0, (const uint4*)kpt_from0);
  } while (0);
}

__device__ void copy_async_16(unsigned to, const void *from, bool ok) {
  int size = ok ? 16 : 0;
  do {
    uint4* const kpt_to0 = (uint4*)(__attribute__((address_space(3))) uint4*)((unsigned)((unsigned)to));
    const uint4* const kpt_from0 = (const uint4*)(from);
    const unsigned kpt_n0 = (unsigned)size;
    if (kpt_n0 == 16) { kpt_own_copy(kpt_to0, kpt_from0); } else for (unsigned kpt_i = 0; kpt_i < 16; ++kpt_i) ((unsigned char*)kpt_to0)[kpt_i] = kpt_i < kpt_n0 ? ((const unsigned char*)kpt_from0)[kpt_i] : 0;
  } while (0);
}

__device__ void copy_async_if(unsigned to, const void *from, bool ok) {
  do {
    const unsigned kpt_0 = (unsigned)((int)ok);
    const unsigned kpt_1 = (unsigned)(to);
    const unsigned long long kpt_2 = (unsigned long long)(from);
    bool kpt_p;
    kpt_p = (kpt_0 != 0u);
    if (kpt_p) { uint4* const kpt_to1 = (uint4*)(__attribute__((address_space(3))) uint4*)((unsigned)(kpt_1)); const uint4* const kpt_from1 = (const uint4*)(kpt_2); kpt_own_copy(kpt_to1, kpt_from1); }
  } while (0);
}

__device__ void load_matrices(unsigned (&r)[4], const void *row) {
  unsigned address = (unsigned)__cvta_generic_to_shared(row);
  do {
    unsigned kpt_m0[4];
    kpt_ldmatrix<true>(kpt_m0, ((unsigned)((unsigned)address)));
    r[0] = kpt_m0[0];
    r[1] = kpt_m0[1];
    r[2] = kpt_m0[2];
    r[3] = kpt_m0[3];
  } while (0);
}

__device__ void store_matrix(void *row, unsigned r) {
  unsigned address = (unsigned)__cvta_generic_to_shared(row);
  do {
    const unsigned kpt_m0[1] = {(unsigned)r};
    kpt_stmatrix<false>(((unsigned)((unsigned)address)), kpt_m0);
  } while (0);
}

__global__ void kernel(float4 *out, const float4 *in) {
  __shared__ float4 tile[64];
  unsigned to = (unsigned)__cvta_generic_to_shared(&tile[threadIdx.x]);
  copy_async<16>(&tile[threadIdx.x], in + threadIdx.x);
  copy_async_16(to, in + threadIdx.x, threadIdx.x < 32);
  copy_async_if(to, in + threadIdx.x, threadIdx.x < 32);
  (void)0;
  kpt_own_copies_done();
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x ^ 1];
}
