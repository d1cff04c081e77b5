#include <hip/hip_runtime.h>
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
#ifndef KPT_SHIM_KPT_MMA_FORMATS
#define KPT_SHIM_KPT_MMA_FORMATS
// The formats of PTX. A word of `per_word` elements becomes `parts` words of the format `as`, in which it is multiplied;
// that changes no value. The order of the elements along K changes, for both factors alike.
struct kpt_f16 {
  typedef unsigned word;
  typedef kpt_f16 as;
  enum { per_word = 2, parts = 1 };
  static __device__ inline word part(word x, int) { return x; }
};
struct kpt_bf16 {
  typedef unsigned word;
  typedef kpt_bf16 as;
  enum { per_word = 2, parts = 1 };
  static __device__ inline word part(word x, int) { return x; }
};
// NVIDIA's tensor cores do not read the low 13 bits. The products of what is left are exact in f32.
struct kpt_tf32 {
  typedef unsigned word;
  typedef kpt_tf32 as;
  enum { per_word = 1, parts = 1 };
  static __device__ inline word part(word x, int) { return x & 0xffffe000u; }
};
struct kpt_f64 {
  typedef double word;
  typedef kpt_f64 as;
  enum { per_word = 1, parts = 1 };
  static __device__ inline word part(word x, int) { return x; }
};
// Both 8-bit formats of OCP are exact in f16. CDNA4 and RDNA4 multiply them as they are; CDNA3's own are others.
#if defined(__gfx950__) || defined(__gfx1200__) || defined(__gfx1201__) || defined(__gfx12_generic__)
#define KPT_MMA_BYTES_OF_FLOATS
#endif
template <typename Format> struct kpt_float_byte {
  typedef unsigned word;
#if defined(KPT_MMA_BYTES_OF_FLOATS)
  typedef Format as;
  enum { per_word = 4, parts = 1 };
  static __device__ inline word part(word x, int) { return x; }
#else
  typedef kpt_f16 as;
  enum { per_word = 4, parts = 2 };
  static __device__ inline word part(word x, int odd) { return Format::halves(x, odd); }
#endif
};
struct kpt_e5m2 : kpt_float_byte<kpt_e5m2> {
  static __device__ inline word halves(word x, int odd) { return (odd ? x : x << 8) & 0xff00ff00u; }
};
struct kpt_e4m3 : kpt_float_byte<kpt_e4m3> {
  static __device__ inline word halves(word x, int odd) {
    typedef _Float16 pair __attribute__((ext_vector_type(2)));
    const unsigned bytes = (odd ? x >> 8 : x) & 0x00ff00ffu, magnitude = bytes & 0x007f007fu;
    const unsigned scaled = (bytes & 0x00800080u) << 8 | magnitude << 7;  // 2^-8 of the value
    const unsigned nan = ((magnitude + 0x00010001u) & 0x00800080u) * 0xf8u;
    const pair by = {static_cast<_Float16>(256.0f), static_cast<_Float16>(256.0f)};
    return __builtin_bit_cast(unsigned, static_cast<pair>(__builtin_bit_cast(pair, scaled) * by)) | nan;
  }
};
struct kpt_s8 {
  typedef unsigned word;
  typedef kpt_s8 as;
  enum { per_word = 4, parts = 1 };
  static __device__ inline word part(word x, int) { return x; }
};
struct kpt_u8 {
  typedef unsigned word;
  typedef kpt_u8 as;
  enum { per_word = 4, parts = 1 };
  static __device__ inline word part(word x, int) { return x; }
};
// RDNA3 and RDNA4 multiply 4-bit integers as they are.
struct kpt_s4 {
  typedef unsigned word;
#if defined(__GFX11__) || defined(__GFX12__)
  typedef kpt_s4 as;
  enum { per_word = 8, parts = 1 };
  static __device__ inline word part(word x, int) { return x; }
#else
  typedef kpt_s8 as;
  enum { per_word = 8, parts = 2 };
  static __device__ inline word part(word x, int odd) {
    const unsigned low = (odd ? x >> 4 : x) & 0x0f0f0f0fu;
    return low | (low & 0x08080808u) * 30u;
  }
#endif
};
struct kpt_u4 {
  typedef unsigned word;
#if defined(__GFX11__) || defined(__GFX12__)
  typedef kpt_u4 as;
  enum { per_word = 8, parts = 1 };
  static __device__ inline word part(word x, int) { return x; }
#else
  typedef kpt_u8 as;
  enum { per_word = 8, parts = 2 };
  static __device__ inline word part(word x, int odd) { return (odd ? x >> 4 : x) & 0x0f0f0f0fu; }
#endif
};
struct kpt_b1_xor {
  typedef unsigned word;
  typedef kpt_b1_xor as;
  enum { per_word = 32, parts = 1 };
  static __device__ inline word part(word x, int) { return x; }
};
struct kpt_b1_and {
  typedef unsigned word;
  typedef kpt_b1_and as;
  enum { per_word = 32, parts = 1 };
  static __device__ inline word part(word x, int) { return x; }
};

// The sum of the products of two words' elements and an addend.
template <typename A, typename B> struct kpt_dot {};
template <> struct kpt_dot<kpt_f16, kpt_f16> {
  typedef float sum;
  static __device__ inline float add(unsigned a, unsigned b, float c) {
    typedef _Float16 pair __attribute__((ext_vector_type(2)));
    const pair x = __builtin_bit_cast(pair, a), y = __builtin_bit_cast(pair, b);
    // gfx90a's dot product flushes subnormals, as its matrix unit does.
#if defined(__gfx942__) || defined(__gfx950__) || defined(__gfx1030__) || defined(__GFX11__) || defined(__GFX12__)
    return __builtin_amdgcn_fdot2(x, y, c, false);
#else
    return __builtin_fmaf(static_cast<float>(x.y), static_cast<float>(y.y),
                          __builtin_fmaf(static_cast<float>(x.x), static_cast<float>(y.x), c));
#endif
  }
};
template <> struct kpt_dot<kpt_bf16, kpt_bf16> {
  typedef float sum;
  static __device__ inline float add(unsigned a, unsigned b, float c) {
#if defined(__GFX11__) || defined(__GFX12__)
    typedef __bf16 pair __attribute__((ext_vector_type(2)));
    return __builtin_amdgcn_fdot2_f32_bf16(__builtin_bit_cast(pair, a), __builtin_bit_cast(pair, b), c, false);
#else
    const float low = __builtin_fmaf(__uint_as_float(a << 16), __uint_as_float(b << 16), c);
    return __builtin_fmaf(__uint_as_float(a & 0xffff0000u), __uint_as_float(b & 0xffff0000u), low);
#endif
  }
};
template <> struct kpt_dot<kpt_tf32, kpt_tf32> {
  typedef float sum;
  static __device__ inline float add(unsigned a, unsigned b, float c) {
    return __builtin_fmaf(__uint_as_float(a), __uint_as_float(b), c);
  }
};
template <> struct kpt_dot<kpt_f64, kpt_f64> {
  typedef double sum;
  static __device__ inline double add(double a, double b, double c) { return __builtin_fma(a, b, c); }
};
template <bool SignedA, bool SignedB> struct kpt_dot_bytes {
  typedef unsigned sum;
  static __device__ inline unsigned add(unsigned a, unsigned b, unsigned c) {
#if defined(__GFX11__) || defined(__GFX12__)
    return static_cast<unsigned>(__builtin_amdgcn_sudot4(SignedA, static_cast<int>(a), SignedB, static_cast<int>(b),
                                                         static_cast<int>(c), false));
#else
#if defined(__gfx906__) || defined(__gfx908__) || defined(__gfx90a__) || defined(__gfx942__) || defined(__gfx950__) || \
    defined(__gfx1030__)
    if (SignedA && SignedB)
      return static_cast<unsigned>(__builtin_amdgcn_sdot4(static_cast<int>(a), static_cast<int>(b), static_cast<int>(c), false));
    if (!SignedA && !SignedB) return __builtin_amdgcn_udot4(a, b, c, false);
#endif
#pragma unroll
    for (int i = 0; i < 32; i += 8) {
      const int x = SignedA ? static_cast<signed char>(a >> i) : static_cast<unsigned char>(a >> i);
      const int y = SignedB ? static_cast<signed char>(b >> i) : static_cast<unsigned char>(b >> i);
      c += static_cast<unsigned>(x * y);
    }
    return c;
#endif
  }
};
template <> struct kpt_dot<kpt_s8, kpt_s8> : kpt_dot_bytes<true, true> {};
template <> struct kpt_dot<kpt_s8, kpt_u8> : kpt_dot_bytes<true, false> {};
template <> struct kpt_dot<kpt_u8, kpt_s8> : kpt_dot_bytes<false, true> {};
template <> struct kpt_dot<kpt_u8, kpt_u8> : kpt_dot_bytes<false, false> {};
#if defined(KPT_MMA_BYTES_OF_FLOATS)
template <typename A, typename B> struct kpt_dot_float_bytes {
  typedef float sum;
  static __device__ inline float add(unsigned a, unsigned b, float c) {
    typedef kpt_dot<kpt_f16, kpt_f16> halves;
    return halves::add(A::halves(a, 1), B::halves(b, 1), halves::add(A::halves(a, 0), B::halves(b, 0), c));
  }
};
template <> struct kpt_dot<kpt_e4m3, kpt_e4m3> : kpt_dot_float_bytes<kpt_e4m3, kpt_e4m3> {};
template <> struct kpt_dot<kpt_e4m3, kpt_e5m2> : kpt_dot_float_bytes<kpt_e4m3, kpt_e5m2> {};
template <> struct kpt_dot<kpt_e5m2, kpt_e4m3> : kpt_dot_float_bytes<kpt_e5m2, kpt_e4m3> {};
template <> struct kpt_dot<kpt_e5m2, kpt_e5m2> : kpt_dot_float_bytes<kpt_e5m2, kpt_e5m2> {};
#endif
#if defined(__GFX11__) || defined(__GFX12__)
template <bool SignedA, bool SignedB> struct kpt_dot_nibbles {
  typedef unsigned sum;
  static __device__ inline unsigned add(unsigned a, unsigned b, unsigned c) {
    return static_cast<unsigned>(__builtin_amdgcn_sudot8(SignedA, static_cast<int>(a), SignedB, static_cast<int>(b),
                                                         static_cast<int>(c), false));
  }
};
template <> struct kpt_dot<kpt_s4, kpt_s4> : kpt_dot_nibbles<true, true> {};
template <> struct kpt_dot<kpt_s4, kpt_u4> : kpt_dot_nibbles<true, false> {};
template <> struct kpt_dot<kpt_u4, kpt_s4> : kpt_dot_nibbles<false, true> {};
template <> struct kpt_dot<kpt_u4, kpt_u4> : kpt_dot_nibbles<false, false> {};
#endif
template <> struct kpt_dot<kpt_b1_xor, kpt_b1_xor> {
  typedef unsigned sum;
  static __device__ inline unsigned add(unsigned a, unsigned b, unsigned c) { return c + static_cast<unsigned>(__popc(a ^ b)); }
};
template <> struct kpt_dot<kpt_b1_and, kpt_b1_and> {
  typedef unsigned sum;
  static __device__ inline unsigned add(unsigned a, unsigned b, unsigned c) { return c + static_cast<unsigned>(__popc(a & b)); }
};

#endif
#ifndef KPT_SHIM_KPT_MMA_BY_DOTS
#define KPT_SHIM_KPT_MMA_BY_DOTS
// The word of one lane of this lane's four.
template <int Lane> static __device__ inline unsigned kpt_of_four(unsigned word) {
  return static_cast<unsigned>(__builtin_amdgcn_mov_dpp(static_cast<int>(word), Lane * 0x55, 0xf, 0xf, true));
}
template <int Lane> static __device__ inline double kpt_of_four(double value) {
  const unsigned long long bits = __builtin_bit_cast(unsigned long long, value);
  const unsigned low = kpt_of_four<Lane>(static_cast<unsigned>(bits)), high = kpt_of_four<Lane>(static_cast<unsigned>(bits >> 32));
  return __builtin_bit_cast(double, static_cast<unsigned long long>(high) << 32 | low);
}
// d += a * b. Row lane / 4 of A (and the row eight below) lies in this lane's four lanes; column n of B in the lanes 4 * n
// and the next three. This lane's part of D has the columns 2 * (lane % 4) and the next.
template <typename Dot, int Rows, int Lane, typename Word>
static __device__ inline void kpt_mma_step(typename Dot::sum* d, const Word* a, Word b) {
  const unsigned from = 8 * (kpt_lane() % 4) + Lane;
  const Word left = kpt_of_lane(b, from), right = kpt_of_lane(b, from + 4);
#pragma unroll
  for (int row = 0; row < Rows; ++row) {
    const Word x = kpt_of_four<Lane>(a[row]);
    d[2 * row] = Dot::add(x, left, d[2 * row]);
    d[2 * row + 1] = Dot::add(x, right, d[2 * row + 1]);
  }
}
// The compiler would keep what it fetched from other lanes for the next product with the same factor, and spill it: a
// tile of 64 columns fills 256 registers. So a factor seems to depend on the sum that it is for. With -DKPT_MMA_SHARE it does
// not: half the instructions, for kernels with registers to spare.
template <typename Word, typename Sum> static __device__ inline void kpt_fetch_anew(Word& word, Sum sum) {
#if !defined(KPT_MMA_SHARE)
  __asm__("" : "+v"(word) : "v"(sum));
#endif
}
// The compiler moves a sum into the branch that uses it, and keeps all factors of all products until then.
template <typename Sum> static __device__ inline void kpt_computed_here(Sum& sum) { __asm__("" : "+v"(sum)); }
template <typename Dot, int Rows, int Blocks, typename Word>
static __device__ inline void kpt_mma_by_dots(typename Dot::sum* d, const Word* a, const Word* b) {
#pragma unroll
  for (int block = 0; block < Blocks; ++block) {
    Word own[Rows], other = b[block];
#pragma unroll
    for (int row = 0; row < Rows; ++row) kpt_fetch_anew(own[row] = a[Rows * block + row], d[0]);
    kpt_fetch_anew(other, d[0]);
    kpt_mma_step<Dot, Rows, 0>(d, own, other);
    kpt_mma_step<Dot, Rows, 1>(d, own, other);
    kpt_mma_step<Dot, Rows, 2>(d, own, other);
    kpt_mma_step<Dot, Rows, 3>(d, own, other);
  }
#if defined(__GFX10__) || defined(__GFX11__) || defined(__GFX12__)  // CDNA has twice the registers, and multiplies pairs
#pragma unroll
  for (int i = 0; i < 2 * Rows; ++i) kpt_computed_here(d[i]);
#endif
}
#endif
#ifndef KPT_SHIM_KPT_MATRIX_UNIT
#define KPT_SHIM_KPT_MATRIX_UNIT
#if defined(__gfx90a__) || defined(__gfx942__) || defined(__gfx950__)
// CDNA's matrix unit: 16x16 tiles of a whole wave. It pays no heed to EXEC, so all 64 lanes must be in the call.
template <typename Dot> struct kpt_matrix_unit {
  enum { exists = 0, blocks = 1 };
};
#if !defined(__gfx90a__)  // whose unit flushes subnormals, which begin at 2^-14 in f16
template <> struct kpt_matrix_unit<kpt_dot<kpt_f16, kpt_f16>> {
  enum { exists = 1, blocks = 2 };
  typedef float element;
  typedef element tile __attribute__((ext_vector_type(4)));
  typedef _Float16 factor __attribute__((ext_vector_type(4)));
  static __device__ inline tile add(uint2 a, uint2 b, tile c) {
    return __builtin_amdgcn_mfma_f32_16x16x16f16(__builtin_bit_cast(factor, a), __builtin_bit_cast(factor, b), c, 0, 0, 0);
  }
};
#endif
template <> struct kpt_matrix_unit<kpt_dot<kpt_bf16, kpt_bf16>> {
  enum { exists = 1, blocks = 2 };
  typedef float element;
  typedef element tile __attribute__((ext_vector_type(4)));
  typedef short factor __attribute__((ext_vector_type(4)));
  static __device__ inline tile add(uint2 a, uint2 b, tile c) {
    return __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(__builtin_bit_cast(factor, a), __builtin_bit_cast(factor, b), c, 0, 0, 0);
  }
};
template <> struct kpt_matrix_unit<kpt_dot<kpt_s8, kpt_s8>> {
  enum { exists = 1, blocks = 2 };
  typedef int element;
  typedef element tile __attribute__((ext_vector_type(4)));
  static __device__ inline tile add(uint2 a, uint2 b, tile c) {
#if defined(__gfx90a__)
    c = __builtin_amdgcn_mfma_i32_16x16x16i8(static_cast<int>(a.x), static_cast<int>(b.x), c, 0, 0, 0);
    return __builtin_amdgcn_mfma_i32_16x16x16i8(static_cast<int>(a.y), static_cast<int>(b.y), c, 0, 0, 0);
#else
    return __builtin_amdgcn_mfma_i32_16x16x32_i8(__builtin_bit_cast(long, a), __builtin_bit_cast(long, b), c, 0, 0, 0);
#endif
  }
};
#if defined(__gfx950__)
#define KPT_FLOAT_BYTES(A, B, name)                                                                                        \
  template <> struct kpt_matrix_unit<kpt_dot<A, B>> {                                                                      \
    enum { exists = 1, blocks = 2 };                                                                                       \
    typedef float element;                                                                                                 \
    typedef element tile __attribute__((ext_vector_type(4)));                                                              \
    static __device__ inline tile add(uint2 b, uint2 a, tile c) {                                                          \
      return __builtin_amdgcn_mfma_f32_16x16x32_##name(__builtin_bit_cast(long, b), __builtin_bit_cast(long, a), c, 0, 0, 0); \
    }                                                                                                                      \
  };
KPT_FLOAT_BYTES(kpt_e4m3, kpt_e4m3, fp8_fp8)
KPT_FLOAT_BYTES(kpt_e4m3, kpt_e5m2, bf8_fp8)
KPT_FLOAT_BYTES(kpt_e5m2, kpt_e4m3, fp8_bf8)
KPT_FLOAT_BYTES(kpt_e5m2, kpt_e5m2, bf8_bf8)
#undef KPT_FLOAT_BYTES
#endif
static __device__ inline unsigned kpt_of_wave(unsigned word, unsigned lane) {
  return static_cast<unsigned>(__builtin_amdgcn_ds_bpermute(static_cast<int>(lane << 2), static_cast<int>(word)));
}
// Lanes 2i and 2i + 1 hold (x, y) each, a 2x2 matrix: transposes it.
static __device__ inline void kpt_transpose_pairs(unsigned& x, unsigned& y, bool odd) {
  const unsigned got = static_cast<unsigned>(__builtin_amdgcn_mov_dpp(static_cast<int>(odd ? x : y), 0xb1, 0xf, 0xf, true));
  x = odd ? got : x;
  y = odd ? y : got;
}
template <typename Dot, int Blocks, typename Word>
static __device__ inline void kpt_mma_by_matrix_unit(typename Dot::sum* d, const Word* a, const Word* b) {
  typedef kpt_matrix_unit<Dot> unit;
  // The unit computes D transposed: its rows are the columns of both warps' B, its columns the rows of one warp's A. Lane
  // bits, high to low, of a fragment: warp, g2 g1 g0 (row or column), t1 t0 (place along K, column pair of D).
  const unsigned lane = __lane_id();
  const unsigned of_b = (lane & 15u) << 2 | lane >> 4;                              // to t1 t0 warp g2 g1 g0
  const unsigned of_a = (lane & 2u) << 3 | (lane & 12u) | lane >> 4;                // to t1 t0 g1 g0 g2, and the lower row
  const unsigned of_d = (lane & 0x2du) | (lane & 2u) << 3 | (lane & 16u) >> 3;      // swaps g2 and t1
  const bool lower = lane & 1u;
  typename unit::tile tile[2] = {{0, 0, 0, 0}, {0, 0, 0, 0}};  // C is added at the end: it would have to move there and back
#pragma unroll
  for (int block = 0; block < Blocks; block += 2) {
    const uint2 columns = {kpt_of_wave(b[block], of_b), kpt_of_wave(b[block + 1], of_b)};
    unsigned rows[2][2];
#pragma unroll
    for (int side = 0; side < 2; ++side) {
      unsigned x = a[2 * (block + side)], y = a[2 * (block + side) + 1];
#if defined(__gfx950__)
      const auto both = __builtin_amdgcn_permlane32_swap(x, y, false, false);
      const unsigned from = of_a | (lower ? 32u : 0u);
      rows[0][side] = kpt_of_wave(both[0], from), rows[1][side] = kpt_of_wave(both[1], from);
#else
#pragma unroll
      for (int warp = 0; warp < 2; ++warp) {
        const unsigned upper_row = kpt_of_wave(x, of_a + 32 * warp), lower_row = kpt_of_wave(y, of_a + 32 * warp);
        rows[warp][side] = lower ? lower_row : upper_row;
      }
#endif
    }
#pragma unroll
    for (int warp = 0; warp < 2; ++warp) tile[warp] = unit::add(columns, uint2{rows[warp][0], rows[warp][1]}, tile[warp]);
  }
#pragma unroll
  for (int column = 0; column < 2; ++column) {
    const bool second = lane & 32u;
    const auto upper = second ? tile[1][column] : tile[0][column], under = second ? tile[1][2 + column] : tile[0][2 + column];
    unsigned x = kpt_of_wave(__builtin_bit_cast(unsigned, upper), of_d), y = kpt_of_wave(__builtin_bit_cast(unsigned, under), of_d);
    kpt_transpose_pairs(x, y, lower);
    d[column] += __builtin_bit_cast(typename Dot::sum, x);
    d[2 + column] += __builtin_bit_cast(typename Dot::sum, y);
  }
}
#else
// RDNA's matrix unit, for the forms that take far fewer instructions with it. `words` of a lane go into one instruction.
// 16-bit floats, and bytes on RDNA3, take a third to a sixth fewer and about twenty registers more: too many for kernels
// that fill them. They do so with -DKPT_MMA_WMMA.
template <typename Dot> struct kpt_matrix_unit {
  enum { exists = 0, blocks = 1 };
};
#if defined(__GFX11__)
#define KPT_RDNA_UNIT(name) __builtin_amdgcn_wmma_##name##_w32
#define KPT_RDNA_WORDS(elements) (16 / (elements))
#define KPT_RDNA_NIBBLES i32_16x16x16_iu4
#elif defined(__gfx1200__) || defined(__gfx1201__) || defined(__gfx12_generic__)
#define KPT_RDNA_UNIT(name) __builtin_amdgcn_wmma_##name##_w32_gfx12
#define KPT_RDNA_WORDS(elements) (8 / (elements))
#define KPT_RDNA_NIBBLES i32_16x16x32_iu4
#endif
#if defined(KPT_RDNA_UNIT)
#define KPT_RDNA_UNIT_(name) KPT_RDNA_UNIT(name)
template <int Words> struct kpt_rdna_words {
  enum { exists = 1, words = Words };
#if defined(__GFX11__)
  enum { blocks = Words > 4 ? Words / 4 : 1 };
#else
  enum { blocks = Words / 2 };
#endif
  typedef float floats __attribute__((ext_vector_type(8)));
  typedef int ints __attribute__((ext_vector_type(8)));
  typedef unsigned factor __attribute__((ext_vector_type(Words)));
};
#if defined(KPT_MMA_WMMA)
template <> struct kpt_matrix_unit<kpt_dot<kpt_f16, kpt_f16>> : kpt_rdna_words<KPT_RDNA_WORDS(2)> {
  typedef floats tile;
  typedef _Float16 halves __attribute__((ext_vector_type(2 * words)));
  static __device__ inline tile add(factor b, factor a, tile c) {
    return KPT_RDNA_UNIT(f32_16x16x16_f16)(__builtin_bit_cast(halves, b), __builtin_bit_cast(halves, a), c);
  }
};
#endif
#if defined(KPT_MMA_WMMA) || !defined(__GFX11__)
template <bool SignedA, bool SignedB> struct kpt_rdna_bytes : kpt_rdna_words<KPT_RDNA_WORDS(4)> {
  typedef ints tile;
  typedef int signed_factor __attribute__((ext_vector_type(kpt_rdna_bytes::words)));
  static __device__ inline tile add(typename kpt_rdna_bytes::factor b, typename kpt_rdna_bytes::factor a, tile c) {
    return KPT_RDNA_UNIT(i32_16x16x16_iu8)(SignedB, __builtin_bit_cast(signed_factor, b), SignedA,
                                           __builtin_bit_cast(signed_factor, a), c, false);
  }
};
template <> struct kpt_matrix_unit<kpt_dot<kpt_s8, kpt_s8>> : kpt_rdna_bytes<true, true> {};
template <> struct kpt_matrix_unit<kpt_dot<kpt_s8, kpt_u8>> : kpt_rdna_bytes<true, false> {};
template <> struct kpt_matrix_unit<kpt_dot<kpt_u8, kpt_s8>> : kpt_rdna_bytes<false, true> {};
template <> struct kpt_matrix_unit<kpt_dot<kpt_u8, kpt_u8>> : kpt_rdna_bytes<false, false> {};
#endif
template <bool SignedA, bool SignedB> struct kpt_rdna_nibbles : kpt_rdna_words<2> {
  typedef ints tile;
  typedef int signed_factor __attribute__((ext_vector_type(2)));
  static __device__ inline tile add(factor b, factor a, tile c) {
    return KPT_RDNA_UNIT_(KPT_RDNA_NIBBLES)(SignedB, __builtin_bit_cast(signed_factor, b), SignedA,
                                            __builtin_bit_cast(signed_factor, a), c, false);
  }
};
template <> struct kpt_matrix_unit<kpt_dot<kpt_s4, kpt_s4>> : kpt_rdna_nibbles<true, true> {};
template <> struct kpt_matrix_unit<kpt_dot<kpt_s4, kpt_u4>> : kpt_rdna_nibbles<true, false> {};
template <> struct kpt_matrix_unit<kpt_dot<kpt_u4, kpt_s4>> : kpt_rdna_nibbles<false, true> {};
template <> struct kpt_matrix_unit<kpt_dot<kpt_u4, kpt_u4>> : kpt_rdna_nibbles<false, false> {};
// By value: clang 22 takes the first element where __builtin_bit_cast is given an element of a vector.
template <typename T> static __device__ inline unsigned kpt_bits(T value) { return __builtin_bit_cast(unsigned, value); }
static __device__ inline unsigned kpt_either(bool second, unsigned x, unsigned y) { return second ? y : x; }
#if defined(__GFX11__)
// Each lane has all of K. Lane l of the unit's tile has row l % 16 of A, and of D the columns 2i + l / 16.
static __device__ inline void kpt_rdna_factors(unsigned* to_a, unsigned* to_b, const unsigned* a, unsigned b) {
  const unsigned lane = kpt_lane(), row = 4 * (lane & 7u), second = lane >> 3 & 1u;
  const unsigned x = kpt_either(lane & 1u, a[0], a[1]), y = kpt_either(lane & 1u, a[1], a[0]);
#pragma unroll
  for (unsigned t = 0; t < 4; t += 2) {
    const unsigned left = kpt_of_lane(x, row + t + second), right = kpt_of_lane(y, row + t + 1 - second);
    to_a[t] = kpt_either(second, left, right), to_a[t + 1] = kpt_either(second, right, left);
    to_b[t] = kpt_of_lane(b, row + t), to_b[t + 1] = kpt_of_lane(b, row + t + 1);
  }
}
template <typename Sum, typename Tile> static __device__ inline void kpt_rdna_sums(Sum* d, const Tile& tile) {
  const unsigned lane = kpt_lane(), t = lane & 3u;
  unsigned turned[4], got[4], back[4];
#pragma unroll
  for (unsigned i = 0; i < 4; ++i)
    turned[i] = kpt_either(lane & 16u, kpt_bits(tile[i]), kpt_bits(tile[(i + 1) & 3u]));
#pragma unroll
  for (unsigned i = 0; i < 4; ++i) {  // of source j = 2 * (row > 7) + odd column, its column pair t = j - i
    const unsigned at = (4 - i) & 3u, from = (i + t) & 3u;
    const unsigned offered = kpt_either(lane & 8u, turned[at], turned[(at + 2) & 3u]);
    got[i] = kpt_of_lane(offered, lane / 4 + 8 * (from >> 1) + 16 * (from & 1u));
  }
#pragma unroll
  for (unsigned i = 0; i < 4; ++i) back[i] = kpt_either(t & 1u, got[i], got[(i + 3) & 3u]);
#pragma unroll
  for (unsigned i = 0; i < 4; ++i) d[i] += __builtin_bit_cast(Sum, kpt_either(t & 2u, back[i], back[(i + 2) & 3u]));
}
enum { kpt_rdna_words_of_block = 4 };
#else
#if defined(KPT_MMA_WMMA)
template <> struct kpt_matrix_unit<kpt_dot<kpt_bf16, kpt_bf16>> : kpt_rdna_words<4> {
  typedef floats tile;
  typedef short halves __attribute__((ext_vector_type(8)));
  static __device__ inline tile add(factor b, factor a, tile c) {
    return KPT_RDNA_UNIT(f32_16x16x16_bf16)(__builtin_bit_cast(halves, b), __builtin_bit_cast(halves, a), c);
  }
};
#endif
#define KPT_FLOAT_BYTES(A, B, name)                                                                               \
  template <> struct kpt_matrix_unit<kpt_dot<A, B>> : kpt_rdna_words<2> {                                         \
    typedef floats tile;                                                                                          \
    typedef int signed_factor __attribute__((ext_vector_type(2)));                                                \
    static __device__ inline tile add(factor b, factor a, tile c) {                                               \
      return KPT_RDNA_UNIT(f32_16x16x16_##name)(__builtin_bit_cast(signed_factor, b), __builtin_bit_cast(signed_factor, a), c); \
    }                                                                                                             \
  };
KPT_FLOAT_BYTES(kpt_e4m3, kpt_e4m3, fp8_fp8)
KPT_FLOAT_BYTES(kpt_e4m3, kpt_e5m2, bf8_fp8)
KPT_FLOAT_BYTES(kpt_e5m2, kpt_e4m3, fp8_bf8)
KPT_FLOAT_BYTES(kpt_e5m2, kpt_e5m2, bf8_bf8)
#undef KPT_FLOAT_BYTES
// Lanes 16 to 31 have the other half of K. Lane l of the unit's tile has row l % 16 of A; of D all eight columns, twice.
static __device__ inline void kpt_rdna_factors(unsigned* to_a, unsigned* to_b, const unsigned* a, unsigned b) {
  const unsigned lane = kpt_lane(), row = 4 * (lane & 7u) + 2 * (lane >> 4), second = lane >> 3 & 1u;
  const unsigned x = kpt_either(lane & 1u, a[0], a[1]), y = kpt_either(lane & 1u, a[1], a[0]);
  const unsigned left = kpt_of_lane(x, row + second), right = kpt_of_lane(y, row + 1 - second);
  to_a[0] = kpt_either(second, left, right), to_a[1] = kpt_either(second, right, left);
  to_b[0] = kpt_of_lane(b, row), to_b[1] = kpt_of_lane(b, row + 1);
}
template <typename Sum, typename Tile> static __device__ inline void kpt_rdna_sums(Sum* d, const Tile& tile) {
  const unsigned lane = kpt_lane(), odd = lane & 1u, from = lane / 4 + 8 * (lane & 2u);
#pragma unroll
  for (unsigned i = 0; i < 2; ++i) {
    const unsigned low = kpt_either(lane & 16u, kpt_bits(tile[i]), kpt_bits(tile[4 + i]));
    const unsigned high = kpt_either(lane & 16u, kpt_bits(tile[2 + i]), kpt_bits(tile[6 + i]));
    // Lanes with an even column pair take the upper row first, the others the lower one.
    const unsigned x = kpt_of_lane(kpt_either(lane & 8u, low, high), from + 8 * odd);
    const unsigned y = kpt_of_lane(kpt_either(lane & 8u, high, low), from + 8 * (1 - odd));
    d[i] += __builtin_bit_cast(Sum, kpt_either(odd, x, y));
    d[2 + i] += __builtin_bit_cast(Sum, kpt_either(odd, y, x));
  }
}
enum { kpt_rdna_words_of_block = 2 };
#endif
// The unit computes D transposed: its rows are the columns of B, twice, its columns the rows of A. C is added at the end: it
// would have to move there and back. A wave of 32 lanes is one warp, so all its lanes are here.
template <typename Dot, int Blocks> static __device__ inline void kpt_mma_by_rdna_unit(typename Dot::sum* d, const unsigned* a, const unsigned* b) {
  typedef kpt_matrix_unit<Dot> unit;
  enum { each = kpt_rdna_words_of_block };
  unsigned left[each * Blocks], right[each * Blocks];
#pragma unroll
  for (int block = 0; block < Blocks; ++block) {
    unsigned rows[2] = {a[2 * block], a[2 * block + 1]}, columns = b[block];
    kpt_fetch_anew(rows[0], d[0]), kpt_fetch_anew(rows[1], d[0]), kpt_fetch_anew(columns, d[0]);
    kpt_rdna_factors(left + each * block, right + each * block, rows, columns);
  }
  typename unit::tile tile = {0, 0, 0, 0, 0, 0, 0, 0};
#pragma unroll
  for (int at = 0; at < each * Blocks; at += unit::words) {
    typename unit::factor x, y;
#pragma unroll
    for (int i = 0; i < unit::words; ++i) x[i] = left[at + i], y[i] = right[at + i];
    tile = unit::add(y, x, tile);
  }
  kpt_rdna_sums(d, tile);
#pragma unroll
  for (int i = 0; i < 4; ++i) kpt_computed_here(d[i]);
}
#endif
#endif
#endif
#ifndef KPT_SHIM_KPT_MMA
#define KPT_SHIM_KPT_MMA
template <typename Dot, int Rows, int Blocks,
          bool HasUnit = (kpt_matrix_unit<Dot>::exists && Rows == 2 && Blocks % kpt_matrix_unit<Dot>::blocks == 0)>
struct kpt_mma_unit {
  template <typename Word> static __device__ inline void run(typename Dot::sum* d, const Word* a, const Word* b) {
    kpt_mma_by_dots<Dot, Rows, Blocks>(d, a, b);
  }
};
#if defined(__gfx90a__) || defined(__gfx942__) || defined(__gfx950__)
template <typename Dot, int Rows, int Blocks> struct kpt_mma_unit<Dot, Rows, Blocks, true> {
  template <typename Word> static __device__ inline void run(typename Dot::sum* d, const Word* a, const Word* b) {
    if (__builtin_amdgcn_ballot_w64(true) == ~0ull) {
      kpt_mma_by_matrix_unit<Dot, Blocks>(d, a, b);
      return;
    }
    // One warp of the wave is elsewhere or absent. Small rather than fast.
#pragma nounroll
    for (unsigned k = 0; k < 4; ++k) {
      const unsigned four = kpt_lane() % 4, row = kpt_lane() - four + k, from = 8 * four + k;
#pragma unroll
      for (int block = 0; block < Blocks; ++block) {
        const Word left = kpt_of_lane(b[block], from), right = kpt_of_lane(b[block], from + 4);
        const Word upper = kpt_of_lane(a[2 * block], row), under = kpt_of_lane(a[2 * block + 1], row);
        d[0] = Dot::add(upper, left, d[0]);
        d[1] = Dot::add(upper, right, d[1]);
        d[2] = Dot::add(under, left, d[2]);
        d[3] = Dot::add(under, right, d[3]);
      }
    }
  }
};
#elif defined(KPT_RDNA_UNIT)
template <typename Dot, int Rows, int Blocks> struct kpt_mma_unit<Dot, Rows, Blocks, true> {
  static __device__ inline void run(typename Dot::sum* d, const unsigned* a, const unsigned* b) {
    kpt_mma_by_rdna_unit<Dot, Blocks>(d, a, b);
  }
};
#endif

// What D is: its words, and how they start and end the sums of a tile.
struct kpt_into_f16 {
  typedef _Float16 pair __attribute__((ext_vector_type(2)));
  template <int Count> static __device__ inline void load(float* sums, const unsigned* d) {
    for (int i = 0; i < Count; ++i) sums[i] = static_cast<float>(__builtin_bit_cast(pair, d[i / 2])[i % 2]);
  }
  template <int Count> static __device__ inline void store(unsigned* d, const float* sums) {
    for (int i = 0; i < Count; i += 2) {
      const pair both = {static_cast<_Float16>(sums[i]), static_cast<_Float16>(sums[i + 1])};
      d[i / 2] = __builtin_bit_cast(unsigned, both);
      kpt_computed_here(d[i / 2]);  // else each half takes a register until the next product
    }
  }
};
struct kpt_into_same {
  template <int Count, typename Sum, typename D> static __device__ inline void load(Sum* sums, const D* d) {
    for (int i = 0; i < Count; ++i) sums[i] = static_cast<Sum>(d[i]);
  }
  template <int Count, typename D, typename Sum> static __device__ inline void store(D* d, const Sum* sums) {
    for (int i = 0; i < Count; ++i) d[i] = static_cast<D>(sums[i]);
  }
};
// .satfinite: the products' sum fits, and C is added last, between the limits of int.
struct kpt_into_limited {
  template <int Count> static __device__ inline void load(unsigned* sums, const int*) {
    for (int i = 0; i < Count; ++i) sums[i] = 0;
  }
  template <int Count> static __device__ inline void store(int* d, const unsigned* sums) {
    for (int i = 0; i < Count; ++i) {
      const long long sum = static_cast<long long>(d[i]) + static_cast<int>(sums[i]);
      d[i] = static_cast<int>(sum > 0x7fffffffll ? 0x7fffffffll : sum < -0x80000000ll ? -0x80000000ll : sum);
    }
  }
};
// D = A * B + D for tiles of M x 8 x K, A by rows and B by columns: the fragments of one lane.
template <int M, int K, typename A, typename B, typename Into, typename D>
static __device__ inline void kpt_mma(D* d, const typename A::word* a, const typename B::word* b) {
  typedef kpt_dot<typename A::as, typename B::as> dot;
  enum { rows = M / 8, words = K / (4 * A::per_word), blocks = words * A::parts };
  typename A::as::word left[rows * blocks];
  typename B::as::word right[blocks];
#pragma unroll
  for (int i = 0; i < blocks; ++i) {
#pragma unroll
    for (int row = 0; row < rows; ++row) left[rows * i + row] = A::part(a[rows * (i / A::parts) + row], i % A::parts);
    right[i] = B::part(b[i / A::parts], i % A::parts);
  }
  typename dot::sum sums[2 * rows];
  Into::template load<2 * rows>(sums, d);
  kpt_mma_unit<dot, rows, blocks>::run(sums, left, right);
  Into::template store<2 * rows>(d, sums);
}
#endif
#ifndef KPT_SHIM_KPT_MOVMATRIX
#define KPT_SHIM_KPT_MOVMATRIX
static __device__ inline unsigned kpt_movmatrix(unsigned word) {
  const unsigned lane = kpt_lane(), line = lane / 4, first = 8 * (lane % 4) + line / 2, shift = 16 * (line & 1);
  return ((kpt_of_lane(word, first) >> shift) & 0xffffu) | (kpt_of_lane(word, first + 4) >> shift) << 16;
}
#endif
__device__ void multiply(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  do {
    const unsigned kpt_a0[] = {(unsigned)(a[0]), (unsigned)(a[1]), (unsigned)(a[2]), (unsigned)(a[3])};
    const unsigned kpt_b0[] = {(unsigned)(b[0]), (unsigned)(b[1])};
    float kpt_d0[] = {(d[0]), (d[1]), (d[2]), (d[3])};
    kpt_mma<16, 16, kpt_f16, kpt_f16, kpt_into_same>(kpt_d0, kpt_a0, kpt_b0);
    d[0] = kpt_d0[0];
    d[1] = kpt_d0[1];
    d[2] = kpt_d0[2];
    d[3] = kpt_d0[3];
  } while (0);
}

__device__ unsigned transposed(unsigned a) {
  unsigned d;
  d = kpt_movmatrix((unsigned)a);
  return d;
}

#define MULTIPLY_BYTES(d, a, b)                                                                         \
  do { const unsigned kpt_a0[] = {(unsigned)(a[0]), (unsigned)(a[1]), (unsigned)(a[2]), (unsigned)(a[3])}; const unsigned kpt_b0[] = {(unsigned)(b[0]), (unsigned)(b[1])}; int kpt_d0[] = {(int)(d[0]), (int)(d[1]), (int)(d[2]), (int)(d[3])}; kpt_mma<16, 32, kpt_s8, kpt_s8, kpt_into_limited>(kpt_d0, kpt_a0, kpt_b0); d[0] = (unsigned)(kpt_d0[0]); d[1] = (unsigned)(kpt_d0[1]); d[2] = (unsigned)(kpt_d0[2]); d[3] = (unsigned)(kpt_d0[3]); } while (0)

__device__ void multiply_bytes(int (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) { MULTIPLY_BYTES(d, a, b); }

__device__ void sparse(float (&d)[4], const unsigned (&a)[2], const unsigned (&b)[2], unsigned e) {
  asm volatile(
      "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
      "{%0, %1, %2, %3}, {%4, %5}, {%6, %7}, {%0, %1, %2, %3}, %8, 0x0;\n"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(b[0]), "r"(b[1]), "r"(e));
}

__global__ void attention_tiles(float *d, unsigned long long a, unsigned long long b) {
  asm volatile("wgmma.fence.sync.aligned;");
  asm volatile("wgmma.commit_group.sync.aligned;");
  asm volatile("wgmma.wait_group.sync.aligned 0;");
  d[threadIdx.x] = 0.0f;
}
