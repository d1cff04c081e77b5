// A fallback is there, a comment or a string only mentions the name, or somebody gated it already.
// #ifdef __CUDA_ARCH__
const char *note = "__CUDA_ARCH__ >= 800";

__device__ float with_fallback(float x) {
#if __CUDA_ARCH__ >= 800
  return x * 2.0f;
#else
  return x + x;
#endif
}

__device__ void refuse(int *p) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
  asm("trap;");
#else
  *p = 1;
#endif
}

#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
#define ON_DEVICE 1
#endif

#ifdef USE_ROCM
#define ARCH 1
#else
#if __CUDA_ARCH__ >= 350
#define ARCH 350
#endif
#endif
