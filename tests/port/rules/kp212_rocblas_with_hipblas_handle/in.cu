#include <cublas_v2.h>
#include <cuda_fp16.h>
#ifdef MINE_USE_HIP
#include <rocblas/rocblas.h>
#endif

inline cublasStatus_t product(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int n,
                              const __half *alpha, const __half *a, const __half *b, const __half *beta, __half *c) {
#ifdef MINE_USE_HIP
  return rocblas_hgemm(handle, transa, transb, n, n, n, (const rocblas_half *)alpha, (const rocblas_half *)a, n,
                       (const rocblas_half *)b, n, (const rocblas_half *)beta, (rocblas_half *)c, n);
#else
  return cublasHgemm(handle, transa, transb, n, n, n, alpha, a, n, b, n, beta, c, n);
#endif
}

#ifdef MINE_USE_HIP
static const char *name_of(cublasStatus_t status) {
  switch (status) {
    case rocblas_status_success:
      return "success";
    case rocblas_status_memory_error:
      return "memory";
    default:
      return "unknown";
  }
}
#endif
