/* HIP's spelling of what kpt_source.h has. */
#pragma once

#include "../kpt_source.h"
#include "kpt_hip_names.h"

#define __HIPCC__ 1
#define __HIP__ 1
#define __HIP_PLATFORM_AMD__ 1
#define HIP_KERNEL_NAME(...) __VA_ARGS__
#define hipLaunchKernelGGL(kernel, grid, block, bytes, stream, ...)                                                    \
    kernel<<<(grid), (block), (bytes), (stream)>>>(__VA_ARGS__)
#define hipThreadIdx_x threadIdx.x
#define hipThreadIdx_y threadIdx.y
#define hipThreadIdx_z threadIdx.z
#define hipBlockIdx_x blockIdx.x
#define hipBlockIdx_y blockIdx.y
#define hipBlockIdx_z blockIdx.z
#define hipBlockDim_x blockDim.x
#define hipBlockDim_y blockDim.y
#define hipBlockDim_z blockDim.z
#define hipGridDim_x gridDim.x
#define hipGridDim_y gridDim.y
#define hipGridDim_z gridDim.z
#define HIP_DYNAMIC_SHARED(type, name) extern __shared__ type name[];
#define HIP_SYMBOL(x) x
static inline unsigned __lane_id() { return (unsigned)kpt_lane(); }

#define KPT_OPERATOR(V, op)                                                                                            \
    static inline V##2 operator op(V##2 a, V##2 b) { return {a.x op b.x, a.y op b.y}; }                                \
    static inline V##3 operator op(V##3 a, V##3 b) { return {a.x op b.x, a.y op b.y, a.z op b.z}; }                    \
    static inline V##4 operator op(V##4 a, V##4 b) { return {a.x op b.x, a.y op b.y, a.z op b.z, a.w op b.w}; }
#define KPT_OPERATORS(V) KPT_OPERATOR(V, +) KPT_OPERATOR(V, -) KPT_OPERATOR(V, *) KPT_OPERATOR(V, /)
KPT_OPERATORS(float)
KPT_OPERATORS(double)
KPT_OPERATORS(int)
KPT_OPERATORS(uint)
#undef KPT_OPERATORS
#undef KPT_OPERATOR
