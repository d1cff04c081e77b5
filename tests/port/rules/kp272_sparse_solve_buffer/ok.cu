#include <cusparse.h>

void solve(cusparseHandle_t h, cusparseOperation_t no, cusparseSpMatDescr_t a, cusparseDnVecDescr_t b,
           cusparseDnVecDescr_t c, float* one, cusparseSpSVDescr_t plan)
{
    cusparseSpSV_solve(h, no, one, a, b, c, CUDA_R_32F, CUSPARSE_SPSV_ALG_DEFAULT, plan);
}
