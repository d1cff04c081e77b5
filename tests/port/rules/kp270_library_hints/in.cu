#include <cublasLt.h>
#include <stdint.h>

cublasStatus_t tune(cublasLtMatmulDesc_t product, int8_t fast, int32_t units) {
  cublasStatus_t status =
      cublasLtMatmulDescSetAttribute(product, CUBLASLT_MATMUL_DESC_FAST_ACCUM, &fast, sizeof(fast));
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  return cublasLtMatmulDescSetAttribute(product, CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, &units, sizeof(units));
}

cublasLtMatmulDesc_t described() {
  cublasLtMatmulDesc_t product;
  cublasLtMatmulDescCreate(&product, CUBLAS_COMPUTE_32F, CUDA_R_32F);
  cudaDataType_t scale = CUDA_R_32F;
  cublasLtMatmulDescSetAttribute(product, CUBLASLT_MATMUL_DESC_SCALE_TYPE, &scale, sizeof(scale));
  return product;
}
