#include <cuda_runtime.h>

bool is_captured(cudaError_t status) {
    return status == cudaErrorCapturedEvent;
}
