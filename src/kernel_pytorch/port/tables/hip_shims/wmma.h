// The classes and functions of nvcuda::wmma, on the tiles of wmma_tiles.h.

//: nvcuda::wmma < : kpt_tile_products kpt_read_here
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
