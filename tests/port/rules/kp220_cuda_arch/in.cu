// The device pass of HIP defines no __CUDA_ARCH__.
__host__ __device__ inline int where() {
#ifdef __CUDA_ARCH__
  return 1;
#else
  return 0;
#endif
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 600
#else
__device__ double atomicAdd(double *p, double v);
#endif

__global__ void add(double *total, const double *x) {
#if __CUDA_ARCH__ >= 350
  atomicAdd(total, __ldg(x + threadIdx.x));
#else
  atomicAdd(total, x[threadIdx.x]);
#endif
#if defined(__CUDA_ARCH__) && \
    (__CUDA_ARCH__ < 600)
  __syncthreads();
#endif
}

__global__ void only_new(int *p) {
#if __CUDA_ARCH__ >= 800
  p[threadIdx.x] = 1;
#endif
}

__global__ void only_hopper(int *p) {
#if __CUDA_ARCH__ >= 900
  p[threadIdx.x] = 1;
#endif
}
