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

int first_of(const int *numbers, int count) {
  int first = numbers[0];
  for (int at = 1; at < count; ++at) {
    first = numbers[at] < first ? numbers[at] : first;
  }
  return first;
}

// Only the driver's tells apart what can be tried again.
static bool is_fatal(cudaError_t error) { return error != cudaSuccess && error != cudaErrorNotReady; }
static bool is_fatal(CUresult error) {
  return error != CUDA_SUCCESS && error != CUDA_ERROR_NOT_READY && error != CUDA_ERROR_OUT_OF_MEMORY;
}

// The same but for names and spaces.
namespace checks {
inline void check(cudaError_t code, const char *file, int line = 0) {
  if (code != cudaSuccess) throw cudaGetErrorName(code);
}
inline void check(CUresult result, const char* at, int line = 0) {
  const char *text = nullptr;
  if (result != CUDA_SUCCESS) throw cuGetErrorString(result, &text);
}
}

using status_t = CUresult;
inline bool is_success(status_t status) { return status == CUDA_SUCCESS; }
inline bool is_success(cudaError_t status) { return status == cudaSuccess; }
inline bool is_failure(status_t status) { return !is_success(status); }
inline bool is_failure(cudaError_t status) { return is_failure(static_cast<status_t>(status)); }
