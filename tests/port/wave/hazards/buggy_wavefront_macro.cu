// buggy: KP309
#if __AMDGCN_WAVEFRONT_SIZE == 64
__device__ int half(int i) { return i & 31; }
#else
__device__ int half(int i) { return i; }
#endif
