#include <hip/hip_runtime.h>
#include <hip/hip_runtime.h>

#ifdef __DRIVER_TYPES_H__
static const char *text_of(hipError_t error) { return hipGetErrorName(error); }
#endif

#ifdef CUDA_DRIVER_API
// The driver's errors.

#endif

const char *both(hipError_t driver, hipError_t runtime) { return driver ? "driver" : text_of(runtime); }

int first_of(const int *numbers, int count) {
  int first = numbers[0];
  for (int at = 1; at < count; ++at) {
    first = numbers[at] < first ? numbers[at] : first;
  }
  return first;
}

// Only the driver's tells apart what can be tried again.
static bool is_fatal(hipError_t error) { return error != hipSuccess && error != hipErrorNotReady; }


// The same but for names and spaces.
namespace checks {
inline void check(hipError_t code, const char *file, int line = 0) {
  if (code != hipSuccess) throw hipGetErrorName(code);
}

}

using status_t = hipError_t;

inline bool is_success(hipError_t status) { return status == hipSuccess; }
inline bool is_failure(status_t status) { return !is_success(status); }

