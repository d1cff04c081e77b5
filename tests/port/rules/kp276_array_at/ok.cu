#include <array>
#include <vector>

float host(const std::vector<float> &x, const std::array<float, 2> &y) { return x.at(0) + y.at(1); }
__global__ void kernel(float *x, std::array<float, 2> y) { x[0] = y[1]; }
