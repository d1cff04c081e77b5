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
