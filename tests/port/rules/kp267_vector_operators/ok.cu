struct V { float x; };
inline __host__ __device__ V operator+(V a, V b) { return V{a.x + b.x}; }
inline __host__ __device__ float operator*(float3 a, float3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
inline __host__ __device__ float3 operator*(float3 a, float b) { return make_float3(a.x * b, a.y * b, a.z * b); }
struct W { float3 v; W &operator+=(const W &o) { return *this; } };
inline __host__ __device__ float4 operator+(float4 a, float4 b) {
  return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}
inline __device__ float4 operator*(float4 a, float4 b) {
  return make_float4(a.x * b.x, a.y * b.y, a.z * b.z, a.w * b.w);
}
inline void operator-=(float2 &a, float2 b) { a.x -= b.x; }
inline __host__ __device__ int2 operator&(int2 a, int2 b) { return make_int2(a.x & b.x, a.y & b.y); }
