#include <ATen/cuda/CUDAContext.h>
#include <vector>
/*
#    include "ok.cu"
*/
#ifndef SECOND_PASS
#    define SECOND_PASS
#include "ok.cu"
#else
__global__ void second(int *x) { x[threadIdx.x] = 0; }
#endif
#    include <limits>
#    include <c10/cuda/CUDAGuard.h>
