#include <cuda.h>

// A wrapper that takes the place of one function is no copy of the interface.
CUresult cuInit(unsigned int flags);

CUresult start(CUdevice *device) {
  CUresult status = cuInit(0);
  return status == CUDA_SUCCESS ? cuDeviceGet(device, 0) : status;
}
