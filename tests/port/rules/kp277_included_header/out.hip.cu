// A helper header of a project that works with whatever the including file has included before it.
#include <hip/hip_runtime.h>

#ifdef HIP_INCLUDE_HIP_DRIVER_TYPES_H
static const char *name_of(hipError_t error) { return hipGetErrorName(error); }
#endif

#if defined(HIPBLAS_H) || defined(HIPFFT_H_)
static const char *name_of(int status) { return status ? "failed" : "fine"; }
#endif

#ifndef HIPRAND_H_
struct no_random_numbers {};
#endif

#ifdef HIPSPARSE_H
static int sparse_is_there = 1;
#endif

#ifdef __NVRTC_H__
static int compiles_at_run_time = 1;
#endif
