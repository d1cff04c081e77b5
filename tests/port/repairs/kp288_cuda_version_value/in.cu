#include <cuda_runtime.h>

int runtime_version() {
    return CUDART_VERSION;
}
