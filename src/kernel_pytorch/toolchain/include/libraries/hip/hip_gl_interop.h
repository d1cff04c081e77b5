// Declarations of hip_gl_interop, made by scripts/build_library_headers.py from what its public headers declare.
// For machines without ROCm. Types and functions only: nothing is implemented here.
#pragma once
#include <hip/hip_runtime_api.h>
#include <hip/library_types.h>
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
#include <hip/hip_bf16.h>
#include <hip/hip_bfloat16.h>
#include <hip/hip_complex.h>
#include <hip/hip_fp16.h>
#else
#include <kpt/types_in_c.h>
#endif
#include <hip/hip_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif
enum hipGLDeviceList { hipGLDeviceListAll = 1, hipGLDeviceListCurrentFrame = 2, hipGLDeviceListNextFrame = 3 };
typedef enum hipGLDeviceList hipGLDeviceList;
typedef unsigned int GLuint;
typedef unsigned int GLenum;
hipError_t hipGLGetDevices(unsigned int*, int*, unsigned int, hipGLDeviceList);
hipError_t hipGraphicsGLRegisterBuffer(hipGraphicsResource**, GLuint, unsigned int);
hipError_t hipGraphicsGLRegisterImage(hipGraphicsResource**, GLuint, GLenum, unsigned int);
#ifdef __cplusplus
}
#endif
