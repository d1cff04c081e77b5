struct Pair { float v; int i; };
__device__ Pair atomicMax(Pair *p, Pair v) { return *p; }
template <typename T> __device__ T atomicMin(T *p, T v) { return *p; }
__global__ void largest(int *m, const int *x) { atomicMax(m, x[threadIdx.x]); }
#define FORCED inline
FORCED float atomicMax(float *p, float v) { return *p = *p < v ? v : *p; }

// Neither pass of a ROCm build compiles this: for CUDA's device pass on old GPUs alone.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 600
__device__ double atomicAdd(double* address, double value) { return *address += value; }
#endif

// In a namespace it stands beside HIP's, and the others of that name there hide HIP's from the calls.
namespace shapes {
__device__ int atomicMin(int *p, int v) { return ::atomicMin(p, v); }
__device__ float atomicMin(float *p, float v) { return *p = *p < v ? *p : v; }
__global__ void smallest(float *m, const float *x) { atomicMin(m, x[threadIdx.x]); }
}

// HIP has none for these types either.
__device__ long long atomicAdd(long long *p, long long v) {
  return (long long)atomicAdd((unsigned long long *)p, (unsigned long long)v);
}
__device__ int64_t atomicMax(int64_t *p, int64_t v) { return atomicMax((long long *)p, (long long)v); }
__device__ float atomicAdd(float *p, double v) { return atomicAdd(p, (float)v); }
