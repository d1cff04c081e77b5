// A helper header of a project that works with whatever the including file has included before it.
#include <cuda_runtime.h>

#ifdef __DRIVER_TYPES_H__
static const char *name_of(cudaError_t error) { return cudaGetErrorName(error); }
#endif

#if defined(CUBLAS_API_H_) || defined(_CUFFT_H_)
static const char *name_of(int status) { return status ? "failed" : "fine"; }
#endif

#ifndef CURAND_H_
struct no_random_numbers {};
#endif

#ifdef CUSPARSEAPI
static int sparse_is_there = 1;
#endif

#ifdef __NVRTC_H__
static int compiles_at_run_time = 1;
#endif
