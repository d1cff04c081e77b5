// innocent: written for AMD already
__device__ int count(bool p) {
#if defined(__HIP_PLATFORM_AMD__)
  return __popcll(__ballot(p));
#else
  return 0;
#endif
}
