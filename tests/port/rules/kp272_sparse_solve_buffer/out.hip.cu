#include <hip/hip_runtime.h>
#include <hipsparse/hipsparse.h>

void solve(hipsparseHandle_t h, hipsparseSpMatDescr_t a, hipsparseDnMatDescr_t b, hipsparseDnMatDescr_t c, float* one)
{
    hipsparseSpSMDescr_t plan;
    size_t bytes = 0;
    void* room = nullptr;
    hipsparseOperation_t no = HIPSPARSE_OPERATION_NON_TRANSPOSE;
    hipsparseSpSM_createDescr(&plan);
    hipsparseSpSM_bufferSize(h, no, no, one, a, b, c, HIP_R_32F, HIPSPARSE_SPSM_ALG_DEFAULT, plan, &bytes);
    hipMalloc(&room, bytes);
    hipsparseSpSM_analysis(h, no, no, one, a, b, c, HIP_R_32F, HIPSPARSE_SPSM_ALG_DEFAULT, plan, room);
    for (int i = 0; i < 10; ++i)
        hipsparseSpSM_solve(h, no, no, one, a, b, c, HIP_R_32F, HIPSPARSE_SPSM_ALG_DEFAULT, plan, room);
}

void solve_later(hipsparseHandle_t h, hipsparseOperation_t no, hipsparseSpMatDescr_t a, hipsparseDnMatDescr_t b,
                 hipsparseDnMatDescr_t c, float* one, hipsparseSpSMDescr_t made_elsewhere)
{
    hipsparseSpSM_solve(h, no, no, one, a, b, c, HIP_R_32F, HIPSPARSE_SPSM_ALG_DEFAULT, made_elsewhere);
}
