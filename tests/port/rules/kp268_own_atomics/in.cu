static __device__ __forceinline__ float atomicMax(float *address, float val) {
  int *p = (int *)address;
  int old = *p, seen;
  do {
    seen = old;
    old = atomicCAS(p, seen, __float_as_int(fmaxf(val, __int_as_float(seen))));
  } while (seen != old);
  return __int_as_float(old);
}

__global__ void largest(float *m, const float *x) { atomicMax(m, x[threadIdx.x]); }

#define ON_GPU __device__ __forceinline__

ON_GPU double atomicMin(double *address, double val) {
  unsigned long long *p = (unsigned long long *)address;
  unsigned long long old = *p, seen;
  do {
    seen = old;
    old = atomicCAS(p, seen, __double_as_longlong(fmin(val, __longlong_as_double(seen))));
  } while (seen != old);
  return __longlong_as_double(old);
}

__device__ inline void atomicMax(double *result, double value) {
  unsigned long long *p = (unsigned long long *)result;
  unsigned long long old = *p, seen;
  do {
    seen = old;
    old = atomicCAS(p, seen, __double_as_longlong(fmax(value, __longlong_as_double(seen))));
  } while (old != seen);
}

#include <cstdint>

__device__ __forceinline__
std::uint64_t atomicCAS(
    std::uint64_t* address,
    std::uint64_t compare,
    std::uint64_t val)
{
  return atomicCAS(reinterpret_cast<unsigned long long int *>(address), static_cast<unsigned long long int>(compare),
                   static_cast<unsigned long long int>(val));
}

ON_GPU unsigned long int atomicAdd(unsigned long *const address, const size_t) {
  return atomicAdd(reinterpret_cast<unsigned long long *>(address), 1ull);
}
