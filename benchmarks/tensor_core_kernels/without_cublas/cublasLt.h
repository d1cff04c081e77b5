// For machines whose CUDA has no cuBLAS: see cublas_v2.h.
#pragma once
#include "cublas_v2.h"
typedef void *cublasLtHandle_t, *cublasLtMatmulDesc_t, *cublasLtMatrixLayout_t;
