#define INLINE_BOTH inline __host__ __device__

#ifdef VECTORS
INLINE_BOTH float3 operator*(float3 a, float3 b) {
  return make_float3(a.x * b.x, a.y * b.y, a.z * b.z);
}
inline __host__ __device__ float3 operator*(float3 a, float b) {
  return make_float3(a.x * b, a.y * b, a.z * b);
}
inline __host__ __device__ void operator+=(float3 &a, float3 b) {
  a.x += b.x;
  a.y += b.y;
  a.z += b.z;
}
#endif

inline __host__ __device__ int2 operator/(const int2 &a, const int2 &b) {
  return make_int2(a.x / b.x, a.y / b.y);
}

__global__ void advance(float3 *x, const float3 *v, float dt, int2 *cell) {
  x[threadIdx.x] += v[threadIdx.x] * dt;
  x[threadIdx.x] = x[threadIdx.x] * v[threadIdx.x];
  cell[threadIdx.x] = cell[threadIdx.x] / make_int2(2, 2);
}
