// mma.sync on the matrix units of CDNA and RDNA.

//: kpt_matrix_unit < : kpt_mma_by_dots
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
