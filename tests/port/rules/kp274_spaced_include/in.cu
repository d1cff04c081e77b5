#include <ATen/cuda/CUDAContext.h>

#ifndef SECOND_PASS
#    define SECOND_PASS
#    define NAME first
#    include "in.cu"
#    include "missing.h"
#    undef NAME
#    define NAME second
#  include"in.cu"
#else
__global__ void NAME(int *x) { x[threadIdx.x] = 0; }
#endif
#  include <ATen/cuda/Atomic.cuh>
