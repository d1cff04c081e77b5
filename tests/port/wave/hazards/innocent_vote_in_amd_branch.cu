// innocent: the ROCm branch is a person's
#ifndef USE_ROCM
__device__ int count(bool) { return 0; }
#else
__device__ int count(bool p) { return __popcll(__ballot(p)); }
#endif
