// For machines whose CUDA has no cuBLAS: some kernels' headers include it and do not use it.
#pragma once
#include <cstddef>
typedef int cublasStatus_t;
enum { CUBLAS_STATUS_SUCCESS };
inline size_t cublasGetCudartVersion() { return 0; }
