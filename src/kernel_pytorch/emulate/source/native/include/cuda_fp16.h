/* IEEE half: __half and __half2. */
#pragma once

#include "kpt_source.h"
#include "kpt/small_floats.h"

KPT_SMALL_FLOAT(__half, half_to_float, float_to_half)
typedef __half half;
typedef __half2 half2;
typedef __half __half_raw;

KPT_SMALL_CONVERSIONS(__half, half)
KPT_DEVICE __half __low2half(__half2 v) { return v.x; }
KPT_DEVICE __half __high2half(__half2 v) { return v.y; }
KPT_DEVICE __half2 __lowhigh2highlow(__half2 v) { return {v.y, v.x}; }
KPT_DEVICE int __half2int_rn(__half x) { return __float2int_rn((float)x); }
KPT_DEVICE int __half2int_rz(__half x) { return __float2int_rz((float)x); }
KPT_DEVICE __half __int2half_rn(int x) { return __half(x); }
KPT_DEVICE short __half_as_short(__half x) { return (short)x.bits; }
KPT_DEVICE __half atomicAdd(__half *at, __half value, KPT_HERE) {
    return __ushort_as_half((unsigned short)kpt_atomic(KPT_ATOMIC_ADD_F, 2, at, value.bits, 0, 0, KPT_PLACE));
}
