/* bfloat16: __nv_bfloat16 and __nv_bfloat162. */
#pragma once

#include "kpt_source.h"
#include "kpt/small_floats.h"

KPT_SMALL_FLOAT(__nv_bfloat16, bfloat_to_float, float_to_bfloat)
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

KPT_SMALL_CONVERSIONS(__nv_bfloat16, bfloat16)
