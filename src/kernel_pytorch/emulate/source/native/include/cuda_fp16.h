/* IEEE half: __half and __half2. */
#pragma once

#include "kpt_source.h"
#include "kpt/small_floats.h"

KPT_SMALL_FLOAT(__half, half_to_float, float_to_half)
typedef __half half;
typedef __half2 half2;
typedef __half __half_raw;

KPT_DEVICE __half __float2half(float x) { return __half(x); }
KPT_DEVICE __half __float2half_rn(float x) { return __half(x); }
KPT_DEVICE __half __double2half(double x) { return __half(x); }
KPT_DEVICE float __half2float(__half x) { return (float)x; }
KPT_DEVICE __half2 __float2half2_rn(float x) { return {__half(x), __half(x)}; }
KPT_DEVICE __half2 __floats2half2_rn(float x, float y) { return {__half(x), __half(y)}; }
KPT_DEVICE __half2 __float22half2_rn(float2 v) { return {__half(v.x), __half(v.y)}; }
KPT_DEVICE float2 __half22float2(__half2 v) { return {(float)v.x, (float)v.y}; }
KPT_DEVICE __half2 __half2half2(__half x) { return {x, x}; }
KPT_DEVICE __half2 __halves2half2(__half x, __half y) { return {x, y}; }
KPT_DEVICE __half2 make_half2(__half x, __half y) { return {x, y}; }
KPT_DEVICE __half __low2half(__half2 v) { return v.x; }
KPT_DEVICE __half __high2half(__half2 v) { return v.y; }
KPT_DEVICE __half2 __lowhigh2highlow(__half2 v) { return {v.y, v.x}; }
KPT_DEVICE int __half2int_rn(__half x) { return __float2int_rn((float)x); }
KPT_DEVICE int __half2int_rz(__half x) { return __float2int_rz((float)x); }
KPT_DEVICE __half __int2half_rn(int x) { return __half(x); }
KPT_DEVICE __half __ushort_as_half(unsigned short x) {
    __half h;
    h.bits = x;
    return h;
}
KPT_DEVICE unsigned short __half_as_ushort(__half x) { return x.bits; }
KPT_DEVICE short __half_as_short(__half x) { return (short)x.bits; }
KPT_DEVICE __half atomicAdd(__half *at, __half value, KPT_HERE) {
    return __ushort_as_half((unsigned short)kpt_atomic(KPT_ATOMIC_ADD_F, 2, at, value.bits, 0, 0, KPT_PLACE));
}
