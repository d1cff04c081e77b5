// Force-included before every HIP translation unit when the compiler brings no HIP wrapper of its own.
//
// The order matters: a constexpr function of the C++ library without target attributes becomes
// host+device unless a __device__ function of the same signature is already known. The device
// math must therefore be declared before <cmath>, so that std::sin(float) means OCML on the device
// and libm on the host.
#ifndef KPT_HIP_WRAPPER_H
#define KPT_HIP_WRAPPER_H
#pragma clang system_header

#if defined(__HIP__)

// ROCm's headers ask for this name to know that the device math is already there.
#define __CLANG_HIP_RUNTIME_WRAPPER_INCLUDED__ 1

#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __managed__ __attribute__((managed))

#if defined(__cplusplus)
#include <kpt/traits.h>
#include <kpt/ocml.h>
#include <kpt/math_core.h>
#include <kpt/math_overloads.h>
#include <kpt/math_fast.h>
#include <kpt/math_std.h>
#include <kpt/device_memory.h>
#include <kpt/complex_builtins.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <algorithm>
#include <complex>
#include <new>

#include <kpt/min_max.h>
#endif // __cplusplus

#endif // __HIP__
#endif // KPT_HIP_WRAPPER_H
