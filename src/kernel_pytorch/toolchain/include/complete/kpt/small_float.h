// What __half and __hip_bfloat16 have in common, written once: the types differ in storage and in the names of
// their conversions only.
#ifndef KPT_SMALL_FLOAT_H
#define KPT_SMALL_FLOAT_H

#include <hip/hip_runtime.h>
#include <type_traits>

#define KPT_HD __host__ __device__ inline
#define KPT_DEV __device__ inline

#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 13
// A host compiler that has no such type: its bits, which is all that the host's conversions look at.
namespace kpt {
struct bf16_bits {
    unsigned short bits;
};
} // namespace kpt
#define __bf16 kpt::bf16_bits
#endif

namespace kpt {
template <class __T>
using if_number = typename std::enable_if<std::is_arithmetic<__T>::value || std::is_same<__T, _Float16>::value ||
                                              std::is_same<__T, __bf16>::value,
                                          int>::type;

template <class __T, class __A, class __B>
using if_same = typename std::enable_if<std::is_same<__T, __A>::value || std::is_same<__T, __B>::value, int>::type;

// Integers out of a float, saturating as CUDA's conversions do: NaN becomes 0.
template <class __I> KPT_HD __I saturated(float x) {
    const double lowest = std::is_unsigned<__I>::value ? 0.0 : -__builtin_ldexp(1.0, int(sizeof(__I)) * 8 - 1);
    const double beyond = __builtin_ldexp(1.0, int(sizeof(__I)) * 8 - (std::is_unsigned<__I>::value ? 0 : 1));
    if (x != x) return __I(0);
    if (double(x) <= lowest) return __I(lowest);
    if (double(x) >= beyond) return __I(~__I(0)) < __I(0) ? __I((1ULL << (sizeof(__I) * 8 - 1)) - 1) : __I(~__I(0));
    return __I(x);
}

// Conversions of the storage types. On the host bfloat16 goes through integers: not every compiler runtime has its
// rounding function (zig's has none), and the result is the same.
template <class __N, class __T> __host__ __device__ constexpr __N narrowed(__T x) { return static_cast<__N>(x); }
template <class __N> __host__ __device__ constexpr float widened(__N x) { return static_cast<float>(x); }
#if !__HIP_DEVICE_COMPILE__
__host__ __device__ constexpr __bf16 bf16_from(float x) {
    const unsigned bits = __builtin_bit_cast(unsigned, x);
    const unsigned rounded = x != x ? (bits >> 16) | 0x40u : (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    return __builtin_bit_cast(__bf16, static_cast<unsigned short>(rounded));
}
#define KPT_NARROWED(__T)                                                                                              \
    template <> __host__ __device__ constexpr __bf16 narrowed<__bf16, __T>(__T x) {                                    \
        return bf16_from(static_cast<float>(x));                                                                       \
    }
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
} // namespace kpt

// The device has instructions for these types and for pairs of them; the host computes in float and rounds once.
#if __HIP_DEVICE_COMPILE__
#define KPT_SMALL_OP(__N, __A, OP, __B) __N((__A)OP(__B))
#define KPT_PAIR_OP(H2, __V, __A, OP, __B) H2(__V((__A).data OP(__B).data))
#else
#define KPT_SMALL_OP(__N, __A, OP, __B) kpt::narrowed<__N>(kpt::widened<__N>(__A) OP kpt::widened<__N>(__B))
#define KPT_PAIR_OP(H2, __V, __A, OP, __B) H2((__A).x OP(__B).x, (__A).y OP(__B).y)
#endif

// The class itself. BITS is the raw struct, N the compiler's own type of that format.
#define KPT_SMALL_FLOAT(__H, BITS, __N)                                                                                \
    struct __H {                                                                                                       \
        union {                                                                                                        \
            __N data;                                                                                                  \
            unsigned short __x;                                                                                        \
        };                                                                                                             \
        __H() = default;                                                                                               \
        __H(const __H &) = default;                                                                                    \
        __H &operator=(const __H &) = default;                                                                         \
        __host__ __device__ constexpr __H(const BITS &raw) : __x(raw.x) {}                                             \
        template <class __T, kpt::if_number<__T> = 0> __host__ __device__ constexpr __H(__T x)                         \
            : data(kpt::narrowed<__N>(x)) {}                                                                           \
        __host__ __device__ constexpr __H(__N x) : data(x) {}                                                          \
        /* Templates, so that neither counts as a copy operation: the type stays trivial, as arguments need it. */     \
        template <class __T, kpt::if_same<__T, volatile __H, const volatile __H> = 0>                                  \
        __host__ __device__ __H(__T &other) : __x(other.__x) {}                                                        \
        template <class __T, kpt::if_number<__T> = 0> __host__ __device__ constexpr operator __T() const {             \
            return static_cast<__T>(kpt::widened<__N>(data));                                                          \
        }                                                                                                              \
        template <class __T, kpt::if_number<__T> = 0> __host__ __device__ operator __T() const volatile {              \
            return static_cast<__T>(kpt::widened<__N>(data));                                                          \
        }                                                                                                              \
        __host__ __device__ operator BITS() const {                                                                    \
            BITS raw;                                                                                                  \
            raw.x = __x;                                                                                               \
            return raw;                                                                                                \
        }                                                                                                              \
        __host__ __device__ __H &operator=(const BITS &raw) {                                                          \
            __x = raw.x;                                                                                               \
            return *this;                                                                                              \
        }                                                                                                              \
        template <class __T, kpt::if_number<__T> = 0> __host__ __device__ __H &operator=(__T x) {                      \
            data = kpt::narrowed<__N>(x);                                                                              \
            return *this;                                                                                              \
        }                                                                                                              \
        template <class __T, kpt::if_same<__T, __H, __H> = 0> __host__ __device__ volatile __H &                       \
        operator=(const __T &other) volatile {                                                                         \
            __x = other.__x;                                                                                           \
            return *this;                                                                                              \
        }                                                                                                              \
        __host__ __device__ __H &operator+=(const __H &y) { return data = KPT_SMALL_OP(__N, data, +, y.data), *this; } \
        __host__ __device__ __H &operator-=(const __H &y) { return data = KPT_SMALL_OP(__N, data, -, y.data), *this; } \
        __host__ __device__ __H &operator*=(const __H &y) { return data = KPT_SMALL_OP(__N, data, *, y.data), *this; } \
        __host__ __device__ __H &operator/=(const __H &y) { return data = KPT_SMALL_OP(__N, data, /, y.data), *this; } \
        __host__ __device__ __H &operator++() { return *this += __H(1.0f); }                                           \
        __host__ __device__ __H &operator--() { return *this -= __H(1.0f); }                                           \
        __host__ __device__ __H operator++(int) {                                                                      \
            __H before = *this;                                                                                        \
            ++*this;                                                                                                   \
            return before;                                                                                             \
        }                                                                                                              \
        __host__ __device__ __H operator--(int) {                                                                      \
            __H before = *this;                                                                                        \
            --*this;                                                                                                   \
            return before;                                                                                             \
        }                                                                                                              \
        __host__ __device__ __H operator+() const { return *this; }                                                    \
        __host__ __device__ __H operator-() const { return __H(BITS{static_cast<unsigned short>(__x ^ 0x8000)}); }     \
        friend KPT_HD __H operator+(const __H &x, const __H &y) { return __H(KPT_SMALL_OP(__N, x.data, +, y.data)); }  \
        friend KPT_HD __H operator-(const __H &x, const __H &y) { return __H(KPT_SMALL_OP(__N, x.data, -, y.data)); }  \
        friend KPT_HD __H operator*(const __H &x, const __H &y) { return __H(KPT_SMALL_OP(__N, x.data, *, y.data)); }  \
        friend KPT_HD __H operator/(const __H &x, const __H &y) { return __H(KPT_SMALL_OP(__N, x.data, /, y.data)); }  \
        friend KPT_HD bool operator==(const __H &x, const __H &y) {                                                    \
            return kpt::widened<__N>(x.data) == kpt::widened<__N>(y.data);                                             \
        }                                                                                                              \
        friend KPT_HD bool operator!=(const __H &x, const __H &y) {                                                    \
            return kpt::widened<__N>(x.data) != kpt::widened<__N>(y.data);                                             \
        }                                                                                                              \
        friend KPT_HD bool operator<(const __H &x, const __H &y) {                                                     \
            return kpt::widened<__N>(x.data) < kpt::widened<__N>(y.data);                                              \
        }                                                                                                              \
        friend KPT_HD bool operator<=(const __H &x, const __H &y) {                                                    \
            return kpt::widened<__N>(x.data) <= kpt::widened<__N>(y.data);                                             \
        }                                                                                                              \
        friend KPT_HD bool operator>(const __H &x, const __H &y) {                                                     \
            return kpt::widened<__N>(x.data) > kpt::widened<__N>(y.data);                                              \
        }                                                                                                              \
        friend KPT_HD bool operator>=(const __H &x, const __H &y) {                                                    \
            return kpt::widened<__N>(x.data) >= kpt::widened<__N>(y.data);                                             \
        }                                                                                                              \
    };

// Two of them. V is the compiler's vector of two; a host compiler other than clang has none, and no struct with
// constructors in a union.
#if defined(__clang__)
#define KPT_PAIR_STORAGE(__H, __V)                                                                                     \
    union {                                                                                                            \
        struct {                                                                                                       \
            __H x;                                                                                                     \
            __H y;                                                                                                     \
        };                                                                                                             \
        __V data;                                                                                                      \
    };
#define KPT_PAIR_VECTOR(H2, __V)                                                                                       \
    __host__ __device__ constexpr H2(__V v) : data(v) {}                                                               \
    __host__ __device__ operator __V() const { return data; }
#else
#define KPT_PAIR_STORAGE(__H, __V)                                                                                     \
    __H x;                                                                                                             \
    __H y;
#define KPT_PAIR_VECTOR(H2, __V)
#endif
#define KPT_SMALL_FLOAT2(H2, __H, BITS2, __N, __V)                                                                     \
    struct H2 {                                                                                                        \
        KPT_PAIR_STORAGE(__H, __V)                                                                                     \
        H2() = default;                                                                                                \
        H2(const H2 &) = default;                                                                                      \
        H2 &operator=(const H2 &) = default;                                                                           \
        KPT_PAIR_VECTOR(H2, __V)                                                                                       \
        __host__ __device__ constexpr H2(const __H &a, const __H &b) : x(a), y(b) {}                                   \
        __host__ __device__ H2(const BITS2 &raw) { __builtin_memcpy(this, &raw, sizeof(raw)); }                        \
        __host__ __device__ operator BITS2() const {                                                                   \
            BITS2 raw;                                                                                                 \
            __builtin_memcpy(&raw, this, sizeof(raw));                                                                 \
            return raw;                                                                                                \
        }                                                                                                              \
        __host__ __device__ operator float2() const { return float2{float(x), float(y)}; }                             \
        __host__ __device__ H2 &operator+=(const H2 &b) { return *this = KPT_PAIR_OP(H2, __V, *this, +, b); }          \
        __host__ __device__ H2 &operator-=(const H2 &b) { return *this = KPT_PAIR_OP(H2, __V, *this, -, b); }          \
        __host__ __device__ H2 &operator*=(const H2 &b) { return *this = KPT_PAIR_OP(H2, __V, *this, *, b); }          \
        __host__ __device__ H2 &operator/=(const H2 &b) { return *this = KPT_PAIR_OP(H2, __V, *this, /, b); }          \
        __host__ __device__ H2 &operator++() { return *this += H2(__H(1.0f), __H(1.0f)); }                             \
        __host__ __device__ H2 &operator--() { return *this -= H2(__H(1.0f), __H(1.0f)); }                             \
        __host__ __device__ H2 operator+() const { return *this; }                                                     \
        __host__ __device__ H2 operator-() const { return H2(-x, -y); }                                                \
        friend KPT_HD H2 operator+(const H2 &a, const H2 &b) { return KPT_PAIR_OP(H2, __V, a, +, b); }                 \
        friend KPT_HD H2 operator-(const H2 &a, const H2 &b) { return KPT_PAIR_OP(H2, __V, a, -, b); }                 \
        friend KPT_HD H2 operator*(const H2 &a, const H2 &b) { return KPT_PAIR_OP(H2, __V, a, *, b); }                 \
        friend KPT_HD H2 operator/(const H2 &a, const H2 &b) { return KPT_PAIR_OP(H2, __V, a, /, b); }                 \
        friend KPT_HD bool operator==(const H2 &a, const H2 &b) { return a.x == b.x && a.y == b.y; }                   \
        friend KPT_HD bool operator!=(const H2 &a, const H2 &b) { return !(a == b); }                                  \
        friend KPT_HD bool operator<(const H2 &a, const H2 &b) { return a.x < b.x && a.y < b.y; }                      \
        friend KPT_HD bool operator<=(const H2 &a, const H2 &b) { return a.x <= b.x && a.y <= b.y; }                   \
        friend KPT_HD bool operator>(const H2 &a, const H2 &b) { return a.x > b.x && a.y > b.y; }                      \
        friend KPT_HD bool operator>=(const H2 &a, const H2 &b) { return a.x >= b.x && a.y >= b.y; }                   \
    };

#include <kpt/small_float_functions.h>
#if defined(__HIP__)
#include <kpt/small_float_lanes.h>
#endif

#endif // KPT_SMALL_FLOAT_H
