#include <cuda.h>
#include <cuda_runtime.h>

#ifdef __DRIVER_TYPES_H__
static const char *text_of(cudaError_t error) { return cudaGetErrorName(error); }
#endif

#ifdef CUDA_DRIVER_API
// The driver's errors.
static const char *text_of(CUresult error) {
  static char unknown[] = "<unknown>";
  const char *text = nullptr;
  cuGetErrorName(error, &text);
  return text ? text : unknown;
}
#endif

const char *both(CUresult driver, cudaError_t runtime) { return driver ? "driver" : text_of(runtime); }

// Only the driver's tells apart what can be tried again.
static bool is_fatal(cudaError_t error) { return error != cudaSuccess && error != cudaErrorNotReady; }
static bool is_fatal(CUresult error) {
  return error != CUDA_SUCCESS && error != CUDA_ERROR_NOT_READY && error != CUDA_ERROR_OUT_OF_MEMORY;
}
