#include <hip/hip_runtime.h>
#include <hipfft/hipfft.h>

const char *text(hipfftResult status) {
  switch (status) {
    case HIPFFT_SUCCESS:
      return "CUFFT_SUCCESS";

    case HIPFFT_INVALID_PLAN:
      return "plan";
  }
  return "unknown";
}

int severity(hipfftResult status) {
  int result = 0;
  switch (status) {
    case HIPFFT_SUCCESS: result = 1; break;
    default: result = 3;
  }
  return result;
}

const char *licence(hipfftResult status) {
  switch (status) {
    case HIPFFT_SUCCESS: return "success";
#if CUDART_VERSION < 13000
    // Gone in CUDA 13.
#endif
    default: return "other";
  }
}
