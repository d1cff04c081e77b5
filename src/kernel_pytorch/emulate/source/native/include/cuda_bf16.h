/* bfloat16: __nv_bfloat16 and __nv_bfloat162. */
#pragma once

#include "kpt_source.h"
#include "kpt/small_floats.h"

KPT_SMALL_FLOAT(__nv_bfloat16, bfloat_to_float, float_to_bfloat)
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

KPT_DEVICE __nv_bfloat16 __float2bfloat16(float x) { return __nv_bfloat16(x); }
KPT_DEVICE __nv_bfloat16 __float2bfloat16_rn(float x) { return __nv_bfloat16(x); }
KPT_DEVICE __nv_bfloat16 __double2bfloat16(double x) { return __nv_bfloat16(x); }
KPT_DEVICE float __bfloat162float(__nv_bfloat16 x) { return (float)x; }
KPT_DEVICE __nv_bfloat162 __float2bfloat162_rn(float x) { return {__nv_bfloat16(x), __nv_bfloat16(x)}; }
KPT_DEVICE __nv_bfloat162 __floats2bfloat162_rn(float x, float y) { return {__nv_bfloat16(x), __nv_bfloat16(y)}; }
KPT_DEVICE __nv_bfloat162 __float22bfloat162_rn(float2 v) { return {__nv_bfloat16(v.x), __nv_bfloat16(v.y)}; }
KPT_DEVICE float2 __bfloat1622float2(__nv_bfloat162 v) { return {(float)v.x, (float)v.y}; }
KPT_DEVICE __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 x) { return {x, x}; }
KPT_DEVICE __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return {x, y}; }
KPT_DEVICE __nv_bfloat162 make_bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return {x, y}; }
KPT_DEVICE __nv_bfloat16 __ushort_as_bfloat16(unsigned short x) {
    __nv_bfloat16 h;
    h.bits = x;
    return h;
}
KPT_DEVICE unsigned short __bfloat16_as_ushort(__nv_bfloat16 x) { return x.bits; }
