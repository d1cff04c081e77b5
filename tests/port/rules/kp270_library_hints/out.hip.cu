#include <hip/hip_runtime.h>
#include <hipblaslt/hipblaslt.h>
#include <stdint.h>

hipblasStatus_t tune(hipblasLtMatmulDesc_t product, int8_t fast, int32_t units) {
  hipblasStatus_t status =
      HIPBLAS_STATUS_SUCCESS;
  if (status != HIPBLAS_STATUS_SUCCESS) return status;
  return HIPBLAS_STATUS_SUCCESS;
}

hipblasLtMatmulDesc_t described() {
  hipblasLtMatmulDesc_t product;
  hipblasLtMatmulDescCreate(&product, HIPBLAS_COMPUTE_32F, HIP_R_32F);
  hipDataType scale = HIP_R_32F;
  HIPBLAS_STATUS_SUCCESS;
  return product;
}
