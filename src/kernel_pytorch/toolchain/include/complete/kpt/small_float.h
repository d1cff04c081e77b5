// What __half and __hip_bfloat16 have in common, written once: the types differ in storage and in the names of
// their conversions only.
#ifndef KPT_SMALL_FLOAT_H
#define KPT_SMALL_FLOAT_H

#include <hip/hip_runtime.h>
#include <type_traits>

#define KPT_HD __host__ __device__ inline
#define KPT_DEV __device__ inline

namespace kpt {
template <class T>
using if_number = typename std::enable_if<std::is_arithmetic<T>::value || std::is_same<T, _Float16>::value ||
                                              std::is_same<T, __bf16>::value,
                                          int>::type;

template <class T, class A, class B>
using if_same = typename std::enable_if<std::is_same<T, A>::value || std::is_same<T, B>::value, int>::type;

// Integers out of a float, saturating as CUDA's conversions do: NaN becomes 0.
template <class I> KPT_HD I saturated(float x) {
  const double lowest = std::is_unsigned<I>::value ? 0.0 : -__builtin_ldexp(1.0, int(sizeof(I)) * 8 - 1);
  const double beyond = __builtin_ldexp(1.0, int(sizeof(I)) * 8 - (std::is_unsigned<I>::value ? 0 : 1));
  if (x != x) return I(0);
  if (double(x) <= lowest) return I(lowest);
  if (double(x) >= beyond) return I(~I(0)) < I(0) ? I((1ULL << (sizeof(I) * 8 - 1)) - 1) : I(~I(0));
  return I(x);
}

// Conversions of the storage types. On the host bfloat16 goes through integers: not every compiler runtime has its
// rounding function (zig's has none), and the result is the same.
template <class N, class T> __host__ __device__ constexpr N narrowed(T x) { return static_cast<N>(x); }
template <class N> __host__ __device__ constexpr float widened(N x) { return static_cast<float>(x); }
#if !__HIP_DEVICE_COMPILE__
__host__ __device__ constexpr __bf16 bf16_from(float x) {
  const unsigned bits = __builtin_bit_cast(unsigned, x);
  const unsigned rounded = x != x ? (bits >> 16) | 0x40u : (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  return __builtin_bit_cast(__bf16, static_cast<unsigned short>(rounded));
}
#define KPT_NARROWED(T)                                                                                     \
  template <> __host__ __device__ constexpr __bf16 narrowed<__bf16, T>(T x) { return bf16_from(static_cast<float>(x)); }
KPT_NARROWED(float)
KPT_NARROWED(double)
KPT_NARROWED(bool)
KPT_NARROWED(char)
KPT_NARROWED(signed char)
KPT_NARROWED(unsigned char)
KPT_NARROWED(short)
KPT_NARROWED(unsigned short)
KPT_NARROWED(int)
KPT_NARROWED(unsigned int)
KPT_NARROWED(long)
KPT_NARROWED(unsigned long)
KPT_NARROWED(long long)
KPT_NARROWED(unsigned long long)
KPT_NARROWED(_Float16)
#undef KPT_NARROWED
template <> __host__ __device__ constexpr float widened<__bf16>(__bf16 x) {
  return __builtin_bit_cast(float, unsigned(__builtin_bit_cast(unsigned short, x)) << 16);
}
#endif
}  // namespace kpt

// The device has instructions for these types and for pairs of them; the host computes in float and rounds once.
#if __HIP_DEVICE_COMPILE__
#define KPT_SMALL_OP(N, A, OP, B) N((A) OP(B))
#define KPT_PAIR_OP(H2, V, A, OP, B) H2(V((A).data OP(B).data))
#else
#define KPT_SMALL_OP(N, A, OP, B) kpt::narrowed<N>(kpt::widened<N>(A) OP kpt::widened<N>(B))
#define KPT_PAIR_OP(H2, V, A, OP, B) H2((A).x OP(B).x, (A).y OP(B).y)
#endif

// The class itself. BITS is the raw struct, N the compiler's own type of that format.
#define KPT_SMALL_FLOAT(H, BITS, N)                                                                         \
  struct H {                                                                                                \
    union {                                                                                                 \
      N data;                                                                                               \
      unsigned short __x;                                                                                   \
    };                                                                                                      \
    H() = default;                                                                                          \
    H(const H&) = default;                                                                                  \
    H& operator=(const H&) = default;                                                                       \
    __host__ __device__ constexpr H(const BITS& raw) : __x(raw.x) {}                                        \
    template <class T, kpt::if_number<T> = 0> __host__ __device__ constexpr H(T x) : data(kpt::narrowed<N>(x)) {} \
    __host__ __device__ constexpr H(N x) : data(x) {}                                                       \
    /* Templates, so that neither counts as a copy operation: the type stays trivial, as arguments need it. */ \
    template <class T, kpt::if_same<T, volatile H, const volatile H> = 0>                                   \
    __host__ __device__ H(T& other) : __x(other.__x) {}                                                     \
    template <class T, kpt::if_number<T> = 0> __host__ __device__ constexpr operator T() const {            \
      return static_cast<T>(kpt::widened<N>(data));                                                         \
    }                                                                                                       \
    template <class T, kpt::if_number<T> = 0> __host__ __device__ operator T() const volatile {             \
      return static_cast<T>(kpt::widened<N>(data));                                                         \
    }                                                                                                       \
    __host__ __device__ operator BITS() const {                                                             \
      BITS raw;                                                                                             \
      raw.x = __x;                                                                                          \
      return raw;                                                                                           \
    }                                                                                                       \
    __host__ __device__ H& operator=(const BITS& raw) {                                                     \
      __x = raw.x;                                                                                          \
      return *this;                                                                                         \
    }                                                                                                       \
    template <class T, kpt::if_number<T> = 0> __host__ __device__ H& operator=(T x) {                       \
      data = kpt::narrowed<N>(x);                                                                           \
      return *this;                                                                                         \
    }                                                                                                       \
    template <class T, kpt::if_same<T, H, H> = 0> __host__ __device__ volatile H& operator=(const T& other) volatile { \
      __x = other.__x;                                                                                      \
      return *this;                                                                                         \
    }                                                                                                       \
    __host__ __device__ H& operator+=(const H& y) { return data = KPT_SMALL_OP(N, data, +, y.data), *this; } \
    __host__ __device__ H& operator-=(const H& y) { return data = KPT_SMALL_OP(N, data, -, y.data), *this; } \
    __host__ __device__ H& operator*=(const H& y) { return data = KPT_SMALL_OP(N, data, *, y.data), *this; } \
    __host__ __device__ H& operator/=(const H& y) { return data = KPT_SMALL_OP(N, data, /, y.data), *this; } \
    __host__ __device__ H& operator++() { return *this += H(1.0f); }                                        \
    __host__ __device__ H& operator--() { return *this -= H(1.0f); }                                        \
    __host__ __device__ H operator++(int) {                                                                 \
      H before = *this;                                                                                     \
      ++*this;                                                                                              \
      return before;                                                                                        \
    }                                                                                                       \
    __host__ __device__ H operator--(int) {                                                                 \
      H before = *this;                                                                                     \
      --*this;                                                                                              \
      return before;                                                                                        \
    }                                                                                                       \
    __host__ __device__ H operator+() const { return *this; }                                               \
    __host__ __device__ H operator-() const { return H(BITS{static_cast<unsigned short>(__x ^ 0x8000)}); }  \
    friend KPT_HD H operator+(const H& x, const H& y) { return H(KPT_SMALL_OP(N, x.data, +, y.data)); }     \
    friend KPT_HD H operator-(const H& x, const H& y) { return H(KPT_SMALL_OP(N, x.data, -, y.data)); }     \
    friend KPT_HD H operator*(const H& x, const H& y) { return H(KPT_SMALL_OP(N, x.data, *, y.data)); }     \
    friend KPT_HD H operator/(const H& x, const H& y) { return H(KPT_SMALL_OP(N, x.data, /, y.data)); }     \
    friend KPT_HD bool operator==(const H& x, const H& y) { return kpt::widened<N>(x.data) == kpt::widened<N>(y.data); } \
    friend KPT_HD bool operator!=(const H& x, const H& y) { return kpt::widened<N>(x.data) != kpt::widened<N>(y.data); } \
    friend KPT_HD bool operator<(const H& x, const H& y) { return kpt::widened<N>(x.data) < kpt::widened<N>(y.data); } \
    friend KPT_HD bool operator<=(const H& x, const H& y) { return kpt::widened<N>(x.data) <= kpt::widened<N>(y.data); } \
    friend KPT_HD bool operator>(const H& x, const H& y) { return kpt::widened<N>(x.data) > kpt::widened<N>(y.data); } \
    friend KPT_HD bool operator>=(const H& x, const H& y) { return kpt::widened<N>(x.data) >= kpt::widened<N>(y.data); } \
  };

// Two of them. V is the compiler's vector of two.
#define KPT_SMALL_FLOAT2(H2, H, BITS2, N, V)                                                                \
  struct H2 {                                                                                               \
    union {                                                                                                 \
      struct {                                                                                              \
        H x;                                                                                                \
        H y;                                                                                                \
      };                                                                                                    \
      V data;                                                                                               \
    };                                                                                                      \
    H2() = default;                                                                                         \
    H2(const H2&) = default;                                                                                \
    H2& operator=(const H2&) = default;                                                                     \
    __host__ __device__ constexpr H2(V v) : data(v) {}                                                      \
    __host__ __device__ constexpr H2(const H& a, const H& b) : x(a), y(b) {}                                \
    __host__ __device__ H2(const BITS2& raw) { __builtin_memcpy(this, &raw, sizeof(raw)); }                 \
    __host__ __device__ operator BITS2() const {                                                            \
      BITS2 raw;                                                                                            \
      __builtin_memcpy(&raw, this, sizeof(raw));                                                            \
      return raw;                                                                                           \
    }                                                                                                       \
    __host__ __device__ operator V() const { return data; }                                                 \
    __host__ __device__ operator float2() const { return float2{float(x), float(y)}; }                      \
    __host__ __device__ H2& operator+=(const H2& b) { return *this = KPT_PAIR_OP(H2, V, *this, +, b); }     \
    __host__ __device__ H2& operator-=(const H2& b) { return *this = KPT_PAIR_OP(H2, V, *this, -, b); }     \
    __host__ __device__ H2& operator*=(const H2& b) { return *this = KPT_PAIR_OP(H2, V, *this, *, b); }     \
    __host__ __device__ H2& operator/=(const H2& b) { return *this = KPT_PAIR_OP(H2, V, *this, /, b); }     \
    __host__ __device__ H2& operator++() { return *this += H2(H(1.0f), H(1.0f)); }                          \
    __host__ __device__ H2& operator--() { return *this -= H2(H(1.0f), H(1.0f)); }                          \
    __host__ __device__ H2 operator+() const { return *this; }                                              \
    __host__ __device__ H2 operator-() const { return H2(-x, -y); }                                         \
    friend KPT_HD H2 operator+(const H2& a, const H2& b) { return KPT_PAIR_OP(H2, V, a, +, b); }            \
    friend KPT_HD H2 operator-(const H2& a, const H2& b) { return KPT_PAIR_OP(H2, V, a, -, b); }            \
    friend KPT_HD H2 operator*(const H2& a, const H2& b) { return KPT_PAIR_OP(H2, V, a, *, b); }            \
    friend KPT_HD H2 operator/(const H2& a, const H2& b) { return KPT_PAIR_OP(H2, V, a, /, b); }            \
    friend KPT_HD bool operator==(const H2& a, const H2& b) { return a.x == b.x && a.y == b.y; }            \
    friend KPT_HD bool operator!=(const H2& a, const H2& b) { return !(a == b); }                           \
    friend KPT_HD bool operator<(const H2& a, const H2& b) { return a.x < b.x && a.y < b.y; }               \
    friend KPT_HD bool operator<=(const H2& a, const H2& b) { return a.x <= b.x && a.y <= b.y; }            \
    friend KPT_HD bool operator>(const H2& a, const H2& b) { return a.x > b.x && a.y > b.y; }               \
    friend KPT_HD bool operator>=(const H2& a, const H2& b) { return a.x >= b.x && a.y >= b.y; }            \
  };

#include <kpt/small_float_functions.h>
#include <kpt/small_float_lanes.h>

#endif  // KPT_SMALL_FLOAT_H
