#pragma once

#include <cuda_runtime_api.h>

void launch_rmsnorm(const float *x, const float *weight, float *y, int rows, int columns, float eps,
                    cudaStream_t stream);
