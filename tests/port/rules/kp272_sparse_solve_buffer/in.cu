#include <cusparse.h>

void solve(cusparseHandle_t h, cusparseSpMatDescr_t a, cusparseDnMatDescr_t b, cusparseDnMatDescr_t c, float* one)
{
    cusparseSpSMDescr_t plan;
    size_t bytes = 0;
    void* room = nullptr;
    cusparseOperation_t no = CUSPARSE_OPERATION_NON_TRANSPOSE;
    cusparseSpSM_createDescr(&plan);
    cusparseSpSM_bufferSize(h, no, no, one, a, b, c, CUDA_R_32F, CUSPARSE_SPSM_ALG_DEFAULT, plan, &bytes);
    cudaMalloc(&room, bytes);
    cusparseSpSM_analysis(h, no, no, one, a, b, c, CUDA_R_32F, CUSPARSE_SPSM_ALG_DEFAULT, plan, room);
    for (int i = 0; i < 10; ++i)
        cusparseSpSM_solve(h, no, no, one, a, b, c, CUDA_R_32F, CUSPARSE_SPSM_ALG_DEFAULT, plan);
}

void solve_later(cusparseHandle_t h, cusparseOperation_t no, cusparseSpMatDescr_t a, cusparseDnMatDescr_t b,
                 cusparseDnMatDescr_t c, float* one, cusparseSpSMDescr_t made_elsewhere)
{
    cusparseSpSM_solve(h, no, no, one, a, b, c, CUDA_R_32F, CUSPARSE_SPSM_ALG_DEFAULT, made_elsewhere);
}
