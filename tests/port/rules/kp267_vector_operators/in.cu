#ifdef VECTORS
inline __host__ __device__ float3 operator+(float3 a, float3 b) {
  return make_float3(a.x + b.x, a.y + b.y, a.z + b.z);
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

__global__ void advance(float3 *x, const float3 *v, float dt) {
  x[threadIdx.x] += v[threadIdx.x] * dt;
  x[threadIdx.x] = x[threadIdx.x] + v[threadIdx.x];
}
