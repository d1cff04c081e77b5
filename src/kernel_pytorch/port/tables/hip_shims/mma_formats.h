// The formats of mma.sync, and the sums of products of their words.

//: kpt_mma_formats < : kpt_lane
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

//: kpt_mma_by_dots < : kpt_mma_formats
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
