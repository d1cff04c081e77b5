// The older bfloat16 type of HIP: hip_bfloat16, a storage type that computes in float.
#ifndef HIP_INCLUDE_HIP_HIP_BFLOAT16_H
#define HIP_INCLUDE_HIP_HIP_BFLOAT16_H

#include <hip/hip_runtime.h>
#include <iosfwd>

struct hip_bfloat16 {
    unsigned short data;

    enum truncate_t { truncate };

    hip_bfloat16() = default;
    explicit __host__ __device__ hip_bfloat16(float x) {
        unsigned bits;
        __builtin_memcpy(&bits, &x, sizeof(bits));
        const bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
        data = (unsigned short)(is_nan ? (bits >> 16) | 0x40u : (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
    }
    explicit __host__ __device__ hip_bfloat16(float x, truncate_t) {
        unsigned bits;
        __builtin_memcpy(&bits, &x, sizeof(bits));
        const bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
        data = (unsigned short)((bits >> 16) | (is_nan ? 0x40u : 0u));
    }
    __host__ __device__ operator float() const {
        const unsigned bits = unsigned(data) << 16;
        float x;
        __builtin_memcpy(&x, &bits, sizeof(x));
        return x;
    }
    __host__ __device__ hip_bfloat16 &operator=(const float &x) {
        data = hip_bfloat16(x).data;
        return *this;
    }
    static __host__ __device__ hip_bfloat16 round_to_bfloat16(float x) { return hip_bfloat16(x); }
    static __host__ __device__ hip_bfloat16 round_to_bfloat16(float x, truncate_t) { return hip_bfloat16(x, truncate); }
};

#define KPT_BF_OPERATOR(OP)                                                                                            \
    inline __host__ __device__ hip_bfloat16 operator OP(hip_bfloat16 a, hip_bfloat16 b) {                              \
        return hip_bfloat16(float(a) OP float(b));                                                                     \
    }                                                                                                                  \
    inline __host__ __device__ hip_bfloat16 &operator OP## = (hip_bfloat16 & a, hip_bfloat16 b) { return a = a OP b; }
KPT_BF_OPERATOR(+)
KPT_BF_OPERATOR(-)
KPT_BF_OPERATOR(*)
KPT_BF_OPERATOR(/)
#undef KPT_BF_OPERATOR

inline __host__ __device__ hip_bfloat16 operator+(hip_bfloat16 a) { return a; }
inline __host__ __device__ hip_bfloat16 operator-(hip_bfloat16 a) {
    a.data ^= 0x8000;
    return a;
}
#define KPT_BF_COMPARE(OP)                                                                                             \
    inline __host__ __device__ bool operator OP(hip_bfloat16 a, hip_bfloat16 b) { return float(a) OP float(b); }
KPT_BF_COMPARE(==)
KPT_BF_COMPARE(!=)
KPT_BF_COMPARE(<)
KPT_BF_COMPARE(<=)
KPT_BF_COMPARE(>)
KPT_BF_COMPARE(>=)
#undef KPT_BF_COMPARE
inline __host__ __device__ hip_bfloat16 &operator++(hip_bfloat16 &a) { return a += hip_bfloat16(1.0f); }
inline __host__ __device__ hip_bfloat16 &operator--(hip_bfloat16 &a) { return a -= hip_bfloat16(1.0f); }

namespace std {
inline __host__ __device__ bool isinf(hip_bfloat16 a) { return (a.data & 0x7fff) == 0x7f80; }
inline __host__ __device__ bool isnan(hip_bfloat16 a) { return (a.data & 0x7fff) > 0x7f80; }
inline __host__ __device__ bool iszero(hip_bfloat16 a) { return (a.data & 0x7fff) == 0; }
} // namespace std

#endif // HIP_INCLUDE_HIP_HIP_BFLOAT16_H
