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
