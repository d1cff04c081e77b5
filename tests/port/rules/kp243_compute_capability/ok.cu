#include <cstdio>
#include <cuda_runtime.h>

struct Version {
  int major, minor;
};

int choose(Version v) {
  cudaDeviceProp prop;
  cudaGetDeviceProperties(&prop, 0);
  printf("capability %d.%d\n", prop.major, prop.minor);
  if (prop.major < 3) return -1;                          // older than anything that is asked
  if (prop.major == 9999 && prop.minor == 9999) return -2;  // the emulator of old toolkits
  return v.minor;
}
