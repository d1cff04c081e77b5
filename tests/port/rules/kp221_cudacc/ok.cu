#if defined(__CUDACC__) || defined(__HIPCC__)
#define HOST_DEVICE __host__ __device__
#endif
#ifdef __INTELLISENSE__
#define __CUDACC__
#endif
#ifdef __CUDACC__
#pragma nv_diag_suppress 20012
#endif
#if defined(__CUDACC__) && __CUDACC_VER_MAJOR__ < 8
#define OLD_NVCC 1
#endif
HOST_DEVICE inline int twice(int x) { return 2 * x; }  // __CUDACC__
