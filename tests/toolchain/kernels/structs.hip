#include <hip/hip_runtime.h>

struct Vec3 {
  float x, y, z;
  __host__ __device__ Vec3 operator+(const Vec3& o) const { return {x + o.x, y + o.y, z + o.z}; }
  __host__ __device__ Vec3 operator*(float s) const { return {x * s, y * s, z * s}; }
  __host__ __device__ float dot(const Vec3& o) const { return x * o.x + y * o.y + z * o.z; }
};
struct Particles {
  Vec3* position;
  Vec3* velocity;
  float* mass;
  int count;
};

__device__ __noinline__ Vec3 attraction(const Vec3& a, const Vec3& b, float mass) {
  const Vec3 d = b + a * -1.0f;
  const float r2 = d.dot(d) + 1e-6f;
  return d * (mass * rsqrtf(r2) / r2);
}

__global__ void step(Particles p, float dt) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= p.count) return;
  Vec3 force{0, 0, 0};
  for (int j = 0; j < p.count; ++j) force = force + attraction(p.position[i], p.position[j], p.mass[j]);
  p.velocity[i] = p.velocity[i] + force * dt;
}

__global__ void drift(Particles p, float dt) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < p.count) p.position[i] = p.position[i] + p.velocity[i] * dt;
}
