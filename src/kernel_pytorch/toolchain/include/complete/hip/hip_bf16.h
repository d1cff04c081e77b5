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
KPT_SMALL_MATH(__hip_bfloat16, __hip_bfloat162)
KPT_SMALL_SHUFFLES(__hip_bfloat16)
KPT_SMALL_SHUFFLES(__hip_bfloat162)
KPT_SMALL_ATOMICS(__hip_bfloat16)
KPT_SMALL_ATOMICS(__hip_bfloat162)

KPT_HD __hip_bfloat16 __ushort_as_bfloat16(unsigned short x) { return __hip_bfloat16(__hip_bfloat16_raw{x}); }
KPT_HD __hip_bfloat16 __short_as_bfloat16(short x) { return __ushort_as_bfloat16((unsigned short)x); }
KPT_HD unsigned short __bfloat16_as_ushort(__hip_bfloat16 x) { return x.__x; }
KPT_HD short __bfloat16_as_short(__hip_bfloat16 x) { return short(x.__x); }

KPT_HD __hip_bfloat16 __float2bfloat16(float x) { return __hip_bfloat16(x); }
KPT_HD __hip_bfloat16 __double2bfloat16(double x) { return __hip_bfloat16(x); }
KPT_HD float __bfloat162float(__hip_bfloat16 x) { return float(x); }

KPT_HD __hip_bfloat16 __int2bfloat16_rn(int x) { return __hip_bfloat16(x); }

KPT_HD __hip_bfloat162 __halves2bfloat162(__hip_bfloat16 x, __hip_bfloat16 y) { return __hip_bfloat162(x, y); }
KPT_HD __hip_bfloat162 __bfloat162bfloat162(__hip_bfloat16 x) { return __hip_bfloat162(x, x); }
KPT_HD __hip_bfloat162 __float22bfloat162_rn(float2 v) {
    return __hip_bfloat162(__hip_bfloat16(v.x), __hip_bfloat16(v.y));
}
KPT_HD float2 __bfloat1622float2(__hip_bfloat162 v) { return float2{float(v.x), float(v.y)}; }
KPT_HD float __low2float(__hip_bfloat162 v) { return float(v.x); }
KPT_HD float __high2float(__hip_bfloat162 v) { return float(v.y); }
KPT_HD __hip_bfloat16 __low2bfloat16(__hip_bfloat162 v) { return v.x; }
KPT_HD __hip_bfloat16 __high2bfloat16(__hip_bfloat162 v) { return v.y; }
KPT_HD __hip_bfloat162 __low2bfloat162(__hip_bfloat162 v) { return __hip_bfloat162(v.x, v.x); }
KPT_HD __hip_bfloat162 __high2bfloat162(__hip_bfloat162 v) { return __hip_bfloat162(v.y, v.y); }
KPT_HD __hip_bfloat162 __lows2bfloat162(__hip_bfloat162 a, __hip_bfloat162 b) { return __hip_bfloat162(a.x, b.x); }
KPT_HD __hip_bfloat162 __highs2bfloat162(__hip_bfloat162 a, __hip_bfloat162 b) { return __hip_bfloat162(a.y, b.y); }
KPT_HD __hip_bfloat162 __lowhigh2highlow(__hip_bfloat162 v) { return __hip_bfloat162(v.y, v.x); }

#define HIPRT_INF_BF16 __ushort_as_bfloat16((unsigned short)0x7F80U)
#define HIPRT_MAX_NORMAL_BF16 __ushort_as_bfloat16((unsigned short)0x7F7FU)
#define HIPRT_MIN_DENORM_BF16 __ushort_as_bfloat16((unsigned short)0x0001U)
#define HIPRT_NAN_BF16 __ushort_as_bfloat16((unsigned short)0x7FFFU)
#define HIPRT_NEG_ZERO_BF16 __ushort_as_bfloat16((unsigned short)0x8000U)
#define HIPRT_ONE_BF16 __ushort_as_bfloat16((unsigned short)0x3F80U)
#define HIPRT_ZERO_BF16 __ushort_as_bfloat16((unsigned short)0x0000U)

#endif // HIP_INCLUDE_HIP_HIP_BF16_H
