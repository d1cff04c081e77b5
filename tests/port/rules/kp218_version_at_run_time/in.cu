#include <cstdio>
#include <cuda_runtime.h>
#include <cufft.h>
struct Versions {
  int driver, runtime, fft;
};
bool is_new_enough(Versions& known) {
  cudaDriverGetVersion(&known.driver);
  cudaRuntimeGetVersion(&known.runtime);
  cufftGetVersion(&known.fft);
  printf("driver %d.%d\n", known.driver / 1000, known.driver % 100 / 10);
  if (11000 > known.runtime) return false;
  return known.fft >= 10200;
}
