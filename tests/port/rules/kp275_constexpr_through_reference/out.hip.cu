#include <hip/hip_runtime.h>
struct Lens {
  static constexpr float SCALE = 4.f;
  float bend;
};

struct Camera {
  Lens lens;
  __device__ float angle(float pixel) const {
    const Lens &mine = lens;
    const float to_angle = 1.f / mine.SCALE;
    return pixel * to_angle + mine.bend;
  }
};

__global__ void angles(float *x, Camera camera) { x[threadIdx.x] = camera.angle(x[threadIdx.x]); }
