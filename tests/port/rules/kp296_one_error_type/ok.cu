#include <cuda.h>
#include <cuda_runtime.h>

// Behind an option of the project: it may be the only one.
#ifdef WITH_RUNTIME
static bool is_good(cudaError_t error) { return error == cudaSuccess; }
#else
static bool is_good(CUresult error) { return error == CUDA_SUCCESS; }
#endif

static bool is_bad(CUresult error) { return error != CUDA_SUCCESS; }
static bool is_worse(cudaError_t error) { return error != cudaSuccess; }
