#include <hip/hip_runtime.h>
#define INLINE_BOTH inline __host__ __device__

#ifdef VECTORS

inline __host__ __device__ float3 operator*(float3 a, float b) {
  return make_float3(a.x * b, a.y * b, a.z * b);
}

#endif



__global__ void advance(float3 *x, const float3 *v, float dt, int2 *cell) {
  x[threadIdx.x] += v[threadIdx.x] * dt;
  x[threadIdx.x] = x[threadIdx.x] * v[threadIdx.x];
  cell[threadIdx.x] = cell[threadIdx.x] / make_int2(2, 2);
}
