#include <cufft.h>

const char *text(cufftResult status) {
  switch (status) {
    case CUFFT_SUCCESS:
      return "CUFFT_SUCCESS";

    case CUFFT_NVRTC_FAILURE:
      return "CUFFT_NVRTC_FAILURE";

    case CUFFT_NVJITLINK_FAILURE: {
      return "CUFFT_NVJITLINK_FAILURE";
    }

    case CUFFT_INVALID_PLAN:
    case CUFFT_MISSING_DEPENDENCY:
      return "plan";
  }
  return "unknown";
}

int severity(cufftResult status) {
  int result = 0;
  switch (status) {
    case CUFFT_SUCCESS: result = 1; break;
    case CUFFT_NVSHMEM_FAILURE: result = 2; break;
    default: result = 3;
  }
  return result;
}

const char *licence(cufftResult status) {
  switch (status) {
    case CUFFT_SUCCESS: return "success";
#if CUDART_VERSION < 13000
    // Gone in CUDA 13.
    case CUFFT_LICENSE_ERROR: return "licence";
#endif
    default: return "other";
  }
}
