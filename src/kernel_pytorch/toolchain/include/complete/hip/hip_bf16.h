// bfloat16: __hip_bfloat16, __hip_bfloat162 and their functions.
#ifndef HIP_INCLUDE_HIP_HIP_BF16_H
#define HIP_INCLUDE_HIP_HIP_BF16_H

#include <kpt/small_float.h>

typedef __bf16 __bf16_2 __attribute__((ext_vector_type(2)));

struct __hip_bfloat16_raw {
    unsigned short x;
};
struct __hip_bfloat162_raw {
    unsigned short x;
    unsigned short y;
};

KPT_SMALL_FLOAT(__hip_bfloat16, __hip_bfloat16_raw, __bf16)
KPT_SMALL_FLOAT2(__hip_bfloat162, __hip_bfloat16, __hip_bfloat162_raw, __bf16, __bf16_2)

KPT_HD __hip_bfloat16 kpt_fma(__hip_bfloat16 x, __hip_bfloat16 y, __hip_bfloat16 z) {
    return __hip_bfloat16(__builtin_fmaf(float(x), float(y), float(z)));
}
KPT_HD __hip_bfloat162 kpt_fma(__hip_bfloat162 a, __hip_bfloat162 b, __hip_bfloat162 c) {
    return __hip_bfloat162(kpt_fma(a.x, b.x, c.x), kpt_fma(a.y, b.y, c.y));
}

KPT_SMALL_ARITHMETIC(__hip_bfloat16, __hip_bfloat162, __bf16)
KPT_SMALL_MAP2(__hip_bfloat162, __hmax2, __hmax)
KPT_SMALL_MAP2(__hip_bfloat162, __hmin2, __hmin)
#if defined(__HIP__) // functions of the device: a host compiler reads the rest
KPT_SMALL_MATH(__hip_bfloat16, __hip_bfloat162)
KPT_SMALL_SHUFFLES(__hip_bfloat16)
KPT_SMALL_SHUFFLES(__hip_bfloat162)
KPT_SMALL_ATOMICS(__hip_bfloat16)
KPT_SMALL_ATOMICS(__hip_bfloat162)
#endif

KPT_SMALL_CONVERSIONS(__hip_bfloat16, __hip_bfloat162, __hip_bfloat16_raw, bfloat16)
KPT_HD __hip_bfloat16 __double2bfloat16(double x) { return __hip_bfloat16(x); }
KPT_HD __hip_bfloat16 __int2bfloat16_rn(int x) { return __hip_bfloat16(x); }

#define HIPRT_INF_BF16 __ushort_as_bfloat16((unsigned short)0x7F80U)
#define HIPRT_MAX_NORMAL_BF16 __ushort_as_bfloat16((unsigned short)0x7F7FU)
#define HIPRT_MIN_DENORM_BF16 __ushort_as_bfloat16((unsigned short)0x0001U)
#define HIPRT_NAN_BF16 __ushort_as_bfloat16((unsigned short)0x7FFFU)
#define HIPRT_NEG_ZERO_BF16 __ushort_as_bfloat16((unsigned short)0x8000U)
#define HIPRT_ONE_BF16 __ushort_as_bfloat16((unsigned short)0x3F80U)
#define HIPRT_ZERO_BF16 __ushort_as_bfloat16((unsigned short)0x0000U)

#endif // HIP_INCLUDE_HIP_HIP_BF16_H
