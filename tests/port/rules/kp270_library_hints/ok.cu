#include <cublasLt.h>

// CUBLASLT_MATMUL_DESC_FAST_ACCUM is not set here.
cublasStatus_t transpose(cublasLtMatmulDesc_t product, cublasOperation_t turn) {
  return cublasLtMatmulDescSetAttribute(product, CUBLASLT_MATMUL_DESC_TRANSA, &turn, sizeof(turn));
}

void scaled(cublasLtMatmulDesc_t other) {
  cublasLtMatmulDesc_t product;
  cublasLtMatmulDescCreate(&product, CUBLAS_COMPUTE_32F, CUDA_R_32F);
  cudaDataType_t scale = CUDA_R_16F;
  cublasLtMatmulDescSetAttribute(product, CUBLASLT_MATMUL_DESC_SCALE_TYPE, &scale, sizeof(scale));
  cudaDataType_t same = CUDA_R_32F;
  cublasLtMatmulDescSetAttribute(other, CUBLASLT_MATMUL_DESC_SCALE_TYPE, &same, sizeof(same));
}
