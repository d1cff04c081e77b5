#include <hip/hip_runtime.h>
#ifndef KPT_SHIM_KPT_TILES
#define KPT_SHIM_KPT_TILES
#include <hip/hip_fp16.h>
#include <hip/hip_bf16.h>
namespace kpt_wmma {
typedef unsigned int word;
typedef float float4v __attribute__((ext_vector_type(4)));
typedef float float8v __attribute__((ext_vector_type(8)));
typedef int int4v __attribute__((ext_vector_type(4)));
typedef int int8v __attribute__((ext_vector_type(8)));

template <typename To, typename From> __device__ inline To bits(const From& from) {
  static_assert(sizeof(To) == sizeof(From), "the same bits under another type");
  To to;
  __builtin_memcpy(&to, &from, sizeof(to));
  return to;
}
__device__ inline word lane() { return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u)) & 31; }

// Where element i of a lane belongs. For operands: row of A or column of B, and k. For results: row and column of the
// left-times-right product. `run` elements follow each other in k, or in the rows of the result.
struct place {
  word outer, inner;
};
// Rows of 16 lanes. The left operand is spread over the row's four quads by k, the right one has all of k in each lane.
struct row_layout {
  template <int Rows, int Depth> struct left {
    enum { run = Depth / 4, count = Rows / 8 * run };
    static __device__ place at(int i, word lane) {
      return {4 * (2 * word(i / run) + lane / 16) + lane % 4, run * (lane / 4 % 4) + i % run};
    }
  };
  template <int Columns, int Depth> struct right {
    enum { run = Depth, count = Columns / 16 * Depth };
    static __device__ place at(int i, word lane) { return {16 * word(i / Depth) + lane % 16, word(i % Depth)}; }
  };
  template <int Rows, int Columns> struct result {
    enum { run = 4, count = 8 };
    static __device__ place at(int i, word lane) {
      if (Rows == 16) return {4 * (2 * word(i / 4) + lane / 16) + i % 4, lane % 16};
      return {4 * (lane / 16) + i % 4, 16 * word(i / 4) + lane % 16};
    }
  };
};
// RDNA3's WMMA: each lane has all of k, and lanes 16 to 31 the same as lanes 0 to 15.
struct gfx11_layout {
  template <int Rows, int Depth> struct left {
    enum { run = Depth, count = Depth };
    static __device__ place at(int i, word lane) { return {lane % Rows, word(i)}; }
  };
  template <int Columns, int Depth> struct right : row_layout::right<Columns, Depth> {};
  template <int Rows, int Columns> struct result {
    enum { run = 1, count = 8 };
    static __device__ place at(int i, word lane) {
      return {(2 * i + lane / 16) % Rows, (Rows == 16 ? 0 : 16 * word(i / 4)) + lane % 16};
    }
  };
};
// RDNA4's WMMA: lanes 16 to 31 have the second half of k, and of the rows of the result.
struct gfx12_layout {
  template <int Rows, int Depth> struct left {
    enum { run = Depth / 2, count = run };
    static __device__ place at(int i, word lane) {
      return {Rows == 16 ? lane % 16 : lane % 4 + 4 * (lane / 8 % 2), run * (lane / 16) + i};
    }
  };
  template <int Columns, int Depth> struct right {
    enum { run = Depth / 2, count = Columns / 16 * run };
    static __device__ place at(int i, word lane) {
      return {16 * word(i / run) + lane % 16, run * (lane / 16) + i % run};
    }
  };
  template <int Rows, int Columns> struct result {
    enum { run = Rows / 2, count = 8 };
    static __device__ place at(int i, word lane) {
      return {i % run + run * (lane / 16), (Rows == 16 ? 0 : 16 * word(i / 4)) + lane % 16};
    }
  };
};
// 8x8x4 in double: every lane has all that it needs. MFMA's blocks of doubles reach over both warps of a wave.
struct double_layout {
  template <int, int> struct left {
    enum { run = 4, count = 4 };
    static __device__ place at(int i, word lane) { return {lane / 4, word(i)}; }
  };
  template <int, int> struct right {
    enum { run = 4, count = 8 };
    static __device__ place at(int i, word lane) { return {2 * (lane % 4) + i / 4, word(i % 4)}; }
  };
  template <int, int> struct result {
    enum { run = 1, count = 2 };
    static __device__ place at(int i, word lane) { return {lane / 4, 2 * (lane % 4) + i}; }
  };
};
// The depth tells the types: 16 for 8 and 16 bits, 8 for tf32, 4 for double.
template <int Depth> struct layout_of {
  typedef row_layout type;
};
template <> struct layout_of<4> {
  typedef double_layout type;
};
#if defined(__gfx90a__) || defined(__gfx942__) || defined(__gfx950__)
#define KPT_WMMA_MFMA
#elif defined(__GFX11__)
template <> struct layout_of<16> {
  typedef gfx11_layout type;
};
#elif defined(__gfx1200__) || defined(__gfx1201__) || defined(__gfx12_generic__)
#define KPT_WMMA_GFX12
template <> struct layout_of<16> {
  typedef gfx12_layout type;
};
#endif
}  // namespace kpt_wmma
#endif
#ifndef KPT_SHIM_KPT_TILE_PRODUCTS
#define KPT_SHIM_KPT_TILE_PRODUCTS
namespace kpt_wmma {
// The types of the operands: what one word of each adds to a sum.
struct of_half {
  typedef float sum;
  static __device__ inline float add(word a, word b, float to) {
    typedef _Float16 pair __attribute__((ext_vector_type(2)));
    const pair x = bits<pair>(a), y = bits<pair>(b);
    return __builtin_fmaf(float(x[1]), float(y[1]), __builtin_fmaf(float(x[0]), float(y[0]), to));
  }
};
struct of_bfloat16 {
  typedef float sum;
  static __device__ inline float add(word a, word b, float to) {
    to = __builtin_fmaf(bits<float>(a << 16), bits<float>(b << 16), to);
    return __builtin_fmaf(bits<float>(a & 0xffff0000u), bits<float>(b & 0xffff0000u), to);
  }
};
struct of_tf32 {
  typedef float sum;
  static __device__ inline float add(word a, word b, float to) {
    return __builtin_fmaf(bits<float>(a), bits<float>(b), to);
  }
};
template <typename Byte> struct of_bytes {
  typedef int sum;
  static __device__ inline int add(word a, word b, int to) {
    for (int at = 0; at < 32; at += 8) to += int(Byte(a >> at)) * int(Byte(b >> at));
    return to;
  }
};
// The value of one lane of each row of 16, for the whole row.
__device__ inline word from_row(word value, int lane) {
#if defined(__GFX10__) || defined(__GFX11__) || defined(__GFX12__)
  const word all = 0x11111111u * word(lane);
  return __builtin_amdgcn_permlane16(value, value, all, all, true, false);
#else
  const word self = __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u));
  return __builtin_amdgcn_ds_bpermute(int(4 * ((self & 48) + word(lane))), int(value));
#endif
}
#if defined(KPT_WMMA_MFMA)
#define KPT_WMMA_UNROLL _Pragma("unroll 1")
#else
#define KPT_WMMA_UNROLL _Pragma("unroll")
#endif
// Without a matrix unit, in row_layout: each row of A comes from the lane that has it. Beside MFMA this is the path of
// a wave that is not whole, and a loop, since it stands behind every product.
template <typename Of, int Sets, int Tiles, int Words, typename Sum>
__device__ inline void by_rows(Sum (&sum)[8], const word (&left)[Sets * Words], const word (&right)[Tiles * 4 * Words]) {
  word rest[Tiles * 4 * Words];
  __builtin_memcpy(rest, right, sizeof(rest));
  KPT_WMMA_UNROLL
  for (int quad = 0; quad < 4; ++quad) {
#pragma unroll
    for (int w = 0; w < Words; ++w)
#pragma unroll
      for (int i = 0; i < 4 * Sets; ++i) {
        const word a = from_row(left[i / 4 * Words + w], 4 * quad + i % 4);
#pragma unroll
        for (int t = 0; t < Tiles; ++t) sum[i + 4 * t] = Of::add(a, rest[t * 4 * Words + w], sum[i + 4 * t]);
      }
#pragma unroll
    for (int t = 0; t < Tiles; ++t)
#pragma unroll
      for (int w = 0; w < 3 * Words; ++w) rest[t * 4 * Words + w] = rest[t * 4 * Words + w + Words];
  }
}
#if defined(KPT_WMMA_MFMA)
// MFMA works on all 64 lanes and writes to all of them, whatever is active. So both warps of the wave must be here, or
// the upper one must not exist: the block ends with the lower one. Whoever knows that of a whole program may define
// KPT_WMMA_WHOLE_WAVES and save the test and the other path.
__device__ inline bool wave_is_whole() {
#if defined(KPT_WMMA_WHOLE_WAVES)
  return true;
#endif
  const unsigned long long active = __builtin_amdgcn_ballot_w64(true);
  if (active == ~0ull) return true;
  if (active != 0xffffffffull) return false;
  const word own = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const word first = __builtin_amdgcn_readfirstlane(own);
  return blockDim.x * blockDim.y * blockDim.z <= first + 32;
}
// One 4x4x4 product in each quad. The quads of a row of 16 lanes take the left block of quad `Quad`.
template <int Quad> __device__ inline float4v step(of_half, const word* a, const word* b, float4v sum) {
  typedef _Float16 four __attribute__((ext_vector_type(4)));
  const word x[2] = {a[0], a[1]}, y[2] = {b[0], b[1]};
  return __builtin_amdgcn_mfma_f32_4x4x4f16(bits<four>(x), bits<four>(y), sum, 2, Quad, 0);
}
template <int Quad> __device__ inline float4v step(of_bfloat16, const word* a, const word* b, float4v sum) {
  typedef short four __attribute__((ext_vector_type(4)));
  const word x[2] = {a[0], a[1]}, y[2] = {b[0], b[1]};
  return __builtin_amdgcn_mfma_f32_4x4x4bf16_1k(bits<four>(x), bits<four>(y), sum, 2, Quad, 0);
}
template <int Quad> __device__ inline float4v step(of_tf32, const word* a, const word* b, float4v sum) {
  sum = __builtin_amdgcn_mfma_f32_4x4x1f32(bits<float>(a[0]), bits<float>(b[0]), sum, 2, Quad, 0);
  return __builtin_amdgcn_mfma_f32_4x4x1f32(bits<float>(a[1]), bits<float>(b[1]), sum, 2, Quad, 0);
}
template <int Quad> __device__ inline int4v step(of_bytes<signed char>, const word* a, const word* b, int4v sum) {
  return __builtin_amdgcn_mfma_i32_4x4x4i8(int(*a), int(*b), sum, 2, Quad, 0);
}
template <typename Of, int Sets, int Tiles, int Words, typename Sum>
__device__ inline void by_blocks(Sum (&sum)[8], const word (&left)[Sets * Words], const word (&right)[Tiles * 4 * Words]) {
  typedef Sum four __attribute__((ext_vector_type(4)));
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const word *a = left + (Sets == 2 ? i * Words : 0), *b = right + (Tiles == 2 ? i * 4 * Words : 0);
    four part = {sum[4 * i], sum[4 * i + 1], sum[4 * i + 2], sum[4 * i + 3]};
    part = step<0>(Of(), a, b, part);
    part = step<1>(Of(), a, b + Words, part);
    part = step<2>(Of(), a, b + 2 * Words, part);
    part = step<3>(Of(), a, b + 3 * Words, part);
    for (int e = 0; e < 4; ++e) sum[4 * i + e] = part[e];
  }
}
template <typename Of, int Sets, int Tiles, int Words> struct blocks {
  template <typename Sum>
  static __device__ inline void add(Sum (&sum)[8], const word (&left)[Sets * Words],
                                    const word (&right)[Tiles * 4 * Words]) {
    by_blocks<Of, Sets, Tiles, Words>(sum, left, right);
  }
};
// MFMA's bytes are signed. With a = 128 + s and b = 128 + t the sum of ab is the sum of st + 128 (s + t) + 128 * 128.
template <int Sets, int Tiles, int Words> struct blocks<of_bytes<unsigned char>, Sets, Tiles, Words> {
  static __device__ inline void add(int (&sum)[8], const word (&left)[Sets * Words],
                                    const word (&right)[Tiles * 4 * Words]) {
    typedef of_bytes<signed char> bytes;
    word s[Sets * Words], t[Tiles * 4 * Words], ones[Tiles * 4 * Words];
    int once[8];
    for (int i = 0; i < Sets * Words; ++i) s[i] = left[i] ^ 0x80808080u;
    for (int i = 0; i < Tiles * 4 * Words; ++i) t[i] = right[i] ^ 0x80808080u, ones[i] = 0x01010101u;
    for (int i = 0; i < 8; ++i) once[i] = 128 * 16;
    for (int i = 0; i < 8; ++i)
      for (int w = 0; w < 4 * Words; ++w) once[i] = bytes::add(t[i / 4 % Tiles * 4 * Words + w], 0x01010101u, once[i]);
    by_blocks<bytes, Sets, Tiles, Words>(sum, s, t);
    by_blocks<bytes, Sets, Tiles, Words>(once, s, ones);
    for (int i = 0; i < 8; ++i) sum[i] += once[i] * 128;
  }
};
#endif
// Adds a product of tiles to `sum`. 8 rows and 32 columns are two tiles with one left operand.
template <int Rows, typename Of, int Left, int Right, typename Sum>
__device__ inline void multiply(row_layout, Of, Sum (&sum)[8], const word (&left)[Left], const word (&right)[Right]) {
  enum { sets = Rows / 8, tiles = 2 / sets, words = Left / sets };
#if defined(KPT_WMMA_MFMA)
  if (__builtin_expect(wave_is_whole(), 1)) {
    blocks<Of, sets, tiles, words>::add(sum, left, right);
    return;
  }
#endif
  by_rows<Of, sets, tiles, words>(sum, left, right);
}
#if defined(__GFX11__)
__device__ inline float8v tile(of_half, const word (&a)[8], const word (&b)[8], float8v sum) {
  typedef _Float16 row __attribute__((ext_vector_type(16)));
  return __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(bits<row>(a), bits<row>(b), sum);
}
__device__ inline float8v tile(of_bfloat16, const word (&a)[8], const word (&b)[8], float8v sum) {
  typedef short row __attribute__((ext_vector_type(16)));
  return __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(bits<row>(a), bits<row>(b), sum);
}
template <typename Byte>
__device__ inline int8v tile(of_bytes<Byte>, const word (&a)[4], const word (&b)[4], int8v sum) {
  return __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32(Byte(-1) < 0, bits<int4v>(a), Byte(-1) < 0, bits<int4v>(b), sum, false);
}
#elif defined(KPT_WMMA_GFX12)
__device__ inline float8v tile(of_half, const word (&a)[4], const word (&b)[4], float8v sum) {
  typedef _Float16 row __attribute__((ext_vector_type(8)));
  return __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(bits<row>(a), bits<row>(b), sum);
}
__device__ inline float8v tile(of_bfloat16, const word (&a)[4], const word (&b)[4], float8v sum) {
  typedef short row __attribute__((ext_vector_type(8)));
  return __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32_gfx12(bits<row>(a), bits<row>(b), sum);
}
template <typename Byte>
__device__ inline int8v tile(of_bytes<Byte>, const word (&a)[2], const word (&b)[2], int8v sum) {
  typedef int row __attribute__((ext_vector_type(2)));
  return __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32_gfx12(Byte(-1) < 0, bits<row>(a), Byte(-1) < 0, bits<row>(b), sum,
                                                          false);
}
#endif
#if defined(__GFX11__) || defined(KPT_WMMA_GFX12)
template <int Rows, typename Of, int Left, int Right, typename Sum>
__device__ inline void multiply(layout_of<16>::type, Of, Sum (&sum)[8], const word (&left)[Left],
                                const word (&right)[Right]) {
  typedef Sum eight __attribute__((ext_vector_type(8)));
  const eight before = bits<eight>(sum);
  word part[Left];
  __builtin_memcpy(part, right, sizeof(part));
  eight after = tile(Of(), left, part, before);
  if (Right > Left) {
    __builtin_memcpy(part, right + (Right - Left), sizeof(part));
    const eight second = tile(Of(), left, part, before);
    for (int i = 4; i < 8; ++i) after[i] = second[i];
  }
  __builtin_memcpy(sum, &after, sizeof(sum));
}
#endif
}  // namespace kpt_wmma
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
#ifndef KPT_SHIM_NVCUDA_WMMA
#define KPT_SHIM_NVCUDA_WMMA
namespace nvcuda {
namespace wmma {
struct row_major;
struct col_major;
struct matrix_a;
struct matrix_b;
struct accumulator;
enum layout_t { mem_row_major, mem_col_major };
namespace precision {
struct tf32;
}
}  // namespace wmma
}  // namespace nvcuda
namespace kpt_wmma {
namespace shape = nvcuda::wmma;
template <typename T> struct stored_as {
  typedef T type;
};
template <> struct stored_as<shape::precision::tf32> {
  typedef float type;
};
// 32x8 and 8x32 are for the types of depth 16.
template <int Rows, int Cols, int Deep> struct is_shape {
  enum { square = Rows == Cols, half = Rows * Cols == 256 && (Rows == 16 || Rows == 8 || Rows == 32) };
  enum { value = Deep == 16 ? half : square && ((Deep == 8 && Rows == 16) || (Deep == 4 && Rows == 8)) };
};
template <typename Use, int Rows, int Cols, int Deep> struct part {
  typedef typename layout_of<Deep>::type layout;
  typedef typename layout::template result<(Rows == 32 ? Cols : Rows), (Rows == 32 ? Rows : Cols)> type;
};
template <int Rows, int Cols, int Deep> struct part<shape::matrix_a, Rows, Cols, Deep> {
  typedef typename layout_of<Deep>::type::template left<Rows, Deep> type;
};
template <int Cols, int Deep> struct part<shape::matrix_a, 32, Cols, Deep> {
  typedef typename layout_of<Deep>::type::template right<32, Deep> type;
};
template <int Rows, int Cols, int Deep> struct part<shape::matrix_b, Rows, Cols, Deep> {
  typedef typename layout_of<Deep>::type::template right<Cols, Deep> type;
};
template <int Cols, int Deep> struct part<shape::matrix_b, 32, Cols, Deep> {
  typedef typename layout_of<Deep>::type::template left<Cols, Deep> type;
};
template <typename T> struct product_of;
template <> struct product_of<__half> {
  typedef of_half type;
};
template <> struct product_of<__hip_bfloat16> {
  typedef of_bfloat16 type;
};
template <> struct product_of<shape::precision::tf32> {
  typedef of_tf32 type;
};
template <> struct product_of<signed char> : of_bytes<signed char> {
  typedef of_bytes<signed char> type;
};
template <> struct product_of<unsigned char> : of_bytes<unsigned char> {
  typedef of_bytes<unsigned char> type;
};
__device__ inline float wide(__half value) { return float(bits<_Float16>(value)); }
__device__ inline float wide(float value) { return value; }
__device__ inline int wide(int value) { return value; }
__device__ inline void narrow(__half& to, float value) { to = bits<__half>(_Float16(value)); }
__device__ inline void narrow(float& to, float value) { to = value; }
__device__ inline void narrow(int& to, int value) { to = value; }
// satf: no infinity and no NaN in floats, no overflow in int.
__device__ inline float most(const __half*) { return 65504.0f; }
__device__ inline float most(const float*) { return 3.402823466e+38f; }
template <typename T> __device__ inline float finite(const T* of, float value) {
  return value != value ? 0.0f : __builtin_fminf(__builtin_fmaxf(value, -most(of)), most(of));
}
template <typename T> __device__ inline int finite(const T*, int value) { return value; }
// CUDA asks for tiles at multiples of 32 bytes and rows at multiples of 16.
template <int Run, typename T> __device__ inline void get(T* to, const T* from) {
  enum { bytes = Run * sizeof(T), aligned = bytes < 16 ? int(bytes) : 16 };
  __builtin_memcpy(to, __builtin_assume_aligned(from, aligned), bytes);
}
template <int Run, typename T> __device__ inline void put(T* to, const T* from) {
  enum { bytes = Run * sizeof(T), aligned = bytes < 16 ? int(bytes) : 16 };
  __builtin_memcpy(__builtin_assume_aligned(to, aligned), from, bytes);
}
template <int Rows> struct tiles {
  template <int Deep, typename Of, typename Sum, int CountA, int CountB>
  static __device__ inline void add(Sum (&sum)[8], const word (&a)[CountA], const word (&b)[CountB]) {
    multiply<Rows>(typename layout_of<Deep>::type(), Of(), sum, a, b);
  }
};
template <> struct tiles<32> {
  template <int Deep, typename Of, typename Sum, int CountA, int CountB>
  static __device__ inline void add(Sum (&sum)[8], const word (&a)[CountA], const word (&b)[CountB]) {
    multiply<8>(typename layout_of<Deep>::type(), Of(), sum, b, a);
  }
};
}  // namespace kpt_wmma
namespace nvcuda {
namespace wmma {
template <typename Use, int Rows, int Cols, int Deep, typename T, typename Layout = void> class fragment {
  static_assert(kpt_wmma::is_shape<Rows, Cols, Deep>::value, "a shape that nvcuda::wmma does not have");

 public:
  typedef typename kpt_wmma::part<Use, Rows, Cols, Deep>::type kpt_part;
  typedef T element_type;
  typedef typename kpt_wmma::stored_as<T>::type storage_element_type;
  // Room for as many as NVIDIA has: some loops have the number written out.
  enum { num_elements = kpt_part::count, num_storage_elements = num_elements };
  enum { kpt_room = Deep == 16 && !__is_same(Use, accumulator) && num_elements < 16 ? 16 : num_elements };
  storage_element_type x[kpt_room];
};
__device__ inline float __float_to_tf32(float in) {
  const unsigned int bits = __builtin_bit_cast(unsigned int, in);
  return __builtin_bit_cast(float, (bits & 0x7f800000u) == 0x7f800000u ? bits : (bits + 0x1000u) & ~0x1fffu);
}
template <typename Use, int Rows, int Cols, int Deep, typename T, typename Layout>
__device__ inline void fill_fragment(fragment<Use, Rows, Cols, Deep, T, Layout>& to,
                                     const typename kpt_wmma::stored_as<T>::type& value) {
#pragma unroll
  for (int i = 0; i < to.num_elements; ++i) to.x[i] = value;
}
// Lanes of one operand: memory has k side by side for a row-major A and a column-major B.
template <typename Use, int Rows, int Cols, int Deep, typename T, typename Layout>
__device__ inline void load_matrix_sync(fragment<Use, Rows, Cols, Deep, T, Layout>& to,
                                        const typename kpt_wmma::stored_as<T>::type* from, unsigned int stride) {
  typedef typename fragment<Use, Rows, Cols, Deep, T, Layout>::kpt_part part;
  const bool in_k = __is_same(Use, matrix_a) == __is_same(Layout, row_major);
  const unsigned int lane = kpt_wmma::lane();
#pragma unroll
  for (int i = 0; i < part::count; i += part::run) {
    const kpt_wmma::place at = part::at(i, lane);
    if (in_k) {
      kpt_wmma::get<part::run>(to.x + i, from + (at.outer * stride + at.inner));
    } else {
#pragma unroll
      for (int e = 0; e < part::run; ++e) to.x[i + e] = from[(at.inner + e) * stride + at.outer];
    }
  }
  kpt_read_here(to.x, part::count);
}
template <int Rows, int Cols, int Deep, typename T>
__device__ inline void load_matrix_sync(fragment<accumulator, Rows, Cols, Deep, T>& to,
                                        const typename kpt_wmma::stored_as<T>::type* from, unsigned int stride,
                                        layout_t layout) {
  typedef typename fragment<accumulator, Rows, Cols, Deep, T>::kpt_part part;
  const bool in_run = (layout == mem_col_major) == (Rows != 32);
  const unsigned int lane = kpt_wmma::lane();
#pragma unroll
  for (int i = 0; i < part::count; i += part::run) {
    const kpt_wmma::place at = part::at(i, lane);
    if (in_run) {
      kpt_wmma::get<part::run>(to.x + i, from + (at.inner * stride + at.outer));
    } else {
#pragma unroll
      for (int e = 0; e < part::run; ++e) to.x[i + e] = from[(at.outer + e) * stride + at.inner];
    }
  }
  kpt_read_here(to.x, part::count);
}
template <int Rows, int Cols, int Deep, typename T>
__device__ inline void store_matrix_sync(typename kpt_wmma::stored_as<T>::type* to,
                                         const fragment<accumulator, Rows, Cols, Deep, T>& from, unsigned int stride,
                                         layout_t layout) {
  typedef typename fragment<accumulator, Rows, Cols, Deep, T>::kpt_part part;
  const bool in_run = (layout == mem_col_major) == (Rows != 32);
  const unsigned int lane = kpt_wmma::lane();
#pragma unroll
  for (int i = 0; i < part::count; i += part::run) {
    const kpt_wmma::place at = part::at(i, lane);
    if (in_run) {
      kpt_wmma::put<part::run>(to + (at.inner * stride + at.outer), from.x + i);
    } else {
#pragma unroll
      for (int e = 0; e < part::run; ++e) to[(at.outer + e) * stride + at.inner] = from.x[i + e];
    }
  }
}
template <int Rows, int Cols, int Deep, typename T, typename LayoutA, typename LayoutB, typename TypeD, typename TypeC>
__device__ inline void mma_sync(fragment<accumulator, Rows, Cols, Deep, TypeD>& d,
                                const fragment<matrix_a, Rows, Cols, Deep, T, LayoutA>& a,
                                const fragment<matrix_b, Rows, Cols, Deep, T, LayoutB>& b,
                                const fragment<accumulator, Rows, Cols, Deep, TypeC>& c, bool satf = false) {
  typedef typename kpt_wmma::product_of<T>::type product;
  typedef typename product::sum Sum;
  enum { size = sizeof(typename kpt_wmma::stored_as<T>::type) };
  kpt_wmma::word words_a[kpt_wmma::part<matrix_a, Rows, Cols, Deep>::type::count * size / 4];
  kpt_wmma::word words_b[kpt_wmma::part<matrix_b, Rows, Cols, Deep>::type::count * size / 4];
  __builtin_memcpy(words_a, a.x, sizeof(words_a));
  __builtin_memcpy(words_b, b.x, sizeof(words_b));
  Sum sum[8];
  const bool adds_later = __is_same(Sum, int) && satf;
#pragma unroll
  for (int i = 0; i < 8; ++i) sum[i] = adds_later ? Sum(0) : kpt_wmma::wide(c.x[i]);
  kpt_wmma::tiles<Rows>::template add<Deep, product>(sum, words_a, words_b);
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    if (adds_later) sum[i] = Sum(__builtin_elementwise_add_sat(int(kpt_wmma::wide(c.x[i])), int(sum[i])));
    kpt_wmma::narrow(d.x[i], satf ? kpt_wmma::finite(d.x, sum[i]) : sum[i]);
  }
  // Two halves in a register until the next product, as they are on NVIDIA. Else each would take one.
  if (sizeof(TypeD) == 2) kpt_read_here(d.x, 8);
}
template <typename LayoutA, typename LayoutB>
__device__ inline void mma_sync(fragment<accumulator, 8, 8, 4, double>& d,
                                const fragment<matrix_a, 8, 8, 4, double, LayoutA>& a,
                                const fragment<matrix_b, 8, 8, 4, double, LayoutB>& b,
                                const fragment<accumulator, 8, 8, 4, double>& c) {
  for (int i = 0; i < 2; ++i) {
    double sum = c.x[i];
    for (int k = 0; k < 4; ++k) sum = __builtin_fma(a.x[k], b.x[4 * i + k], sum);
    __asm__("" : "+v"(sum));  // computed here, not in a later branch with all factors kept until then
    d.x[i] = sum;
  }
}
}  // namespace wmma
}  // namespace nvcuda
#endif
#include <hip/hip_fp16.h>

using namespace nvcuda;

#define WARP_SIZE 32
#define THREADS_PER_BLOCK (WARP_SIZE * 8)  // eight warps

__global__ __launch_bounds__(256) void product(const half *a, const half *b, float *c) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> left;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> right;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::fill_fragment(sum, 0.0f);
  wmma::load_matrix_sync(left, a, 16);
  wmma::load_matrix_sync(right, b, 16);
  wmma::mma_sync(sum, left, right, sum);
  wmma::store_matrix_sync(c, sum, 16, wmma::mem_row_major);
}

template <int Tiles> __global__ void many(const half *a, const half *b, float *c) {
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::fill_fragment(sum, 0.0f);
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> left;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> right;
  wmma::load_matrix_sync(left, a, 16 * Tiles);
  wmma::load_matrix_sync(right, b, 16);
  wmma::mma_sync(sum, left, right, sum);
  wmma::store_matrix_sync(c, sum, 16, wmma::mem_row_major);
}

void launch(const half *a, const half *b, float *c, int threads) {
  dim3 block(64, 2);
  hipFuncSetAttribute(product, hipFuncAttributeMaxDynamicSharedMemorySize, 1024);
  product<<<1, THREADS_PER_BLOCK>>>(a, b, c);
  product<<<1, block>>>(a, b, c);
  many<4><<<1, threads>>>(a, b, c);
}

template <int Warps, class T> __global__ __launch_bounds__(32 * Warps) void rows(const half *a, const half *b, float *c) {
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::fill_fragment(sum, 0.0f);
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> left;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> right;
  wmma::load_matrix_sync(left, a, 16 * Warps);
  wmma::load_matrix_sync(right, b, 16);
  wmma::mma_sync(sum, left, right, sum);
  wmma::store_matrix_sync(c, sum, 16, wmma::mem_row_major);
}

template <int N> void launch_rows(const half *a, const half *b, float *c) {
  dim3 block(WARP_SIZE, N);
  auto kernel = rows<N, float>;
  kernel<<<1, block>>>(a, b, c);
}
