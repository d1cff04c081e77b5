#include <cublas_v2.h>
#include <rocblas/rocblas.h>

// rocBLAS by itself, and an AMD branch for the torch that renamed to rocBLAS.
inline rocblas_status scaled(rocblas_handle handle, int n, const float *by, float *x) {
  return rocblas_sscal(handle, n, by, x, 1);
}

inline cublasStatus_t by_version(cublasHandle_t handle, int n, const float *by, float *x) {
#if defined(__HIP_PLATFORM_AMD__) && TORCH_VERSION_MAJOR < 2
  return rocblas_sscal(handle, n, by, x, 1);
#else
  return cublasSscal(handle, n, by, x, 1);
#endif
}
