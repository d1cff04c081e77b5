// Guards of the project itself, and a test that knows HIP.
#ifndef MY_HELPERS_H_
#define MY_HELPERS_H_
#include <cuda_runtime.h>
#if defined(__DRIVER_TYPES_H__) || defined(HIP_INCLUDE_HIP_DRIVER_TYPES_H) || defined(__HIP_PLATFORM_AMD__)
static bool knows_both = true;
#endif
#endif
// A copy of one of CUDA's headers defines the macro it asks for.
#if !defined(CU_COMPLEX_H_)
#define CU_COMPLEX_H_
struct mine { float x, y; };
#endif
// AMD has no counterpart of this header: nothing can include it there.
#ifdef NVJPEGAPI
static bool decodes_pictures = true;
#endif
