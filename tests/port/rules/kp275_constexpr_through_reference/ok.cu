struct Lens {
  static constexpr float SCALE = 4.f;
};

__global__ void angles(float *x, Lens lens) {
  constexpr float to_angle = 1.f / Lens::SCALE;
  constexpr Lens fixed{};
  constexpr float same = fixed.SCALE;
  const Lens &mine = lens;
  const float other = mine.SCALE;
  x[threadIdx.x] *= to_angle + same + other;
}
