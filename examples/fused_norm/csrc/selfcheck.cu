// Runs the kernels on made-up data and compares with the CPU. Prints PASS or FAIL and returns 0 or 1.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <vector>

#include "rmsnorm_kernel.cuh"

#define CHECK(call)                                                               \
  do {                                                                            \
    cudaError_t status = (call);                                                  \
    if (status != cudaSuccess) {                                                  \
      std::printf("FAIL: %s: %s\n", #call, cudaGetErrorString(status));           \
      return 1;                                                                   \
    }                                                                             \
  } while (0)

int main() {
  const int rows = 37, columns = 1000;
  const float eps = 1e-5f;
  std::vector<float> x(rows * columns), weight(columns), y(rows * columns), poisoned;
  unsigned state = 12345;
  for (auto& value : x) value = ((state = state * 1664525u + 1013904223u) >> 8) / 8388608.0f - 1.0f;
  for (auto& value : weight) value = ((state = state * 1664525u + 1013904223u) >> 8) / 8388608.0f;

  float *d_x, *d_weight, *d_y;
  int* d_count;
  CHECK(cudaMalloc(&d_x, x.size() * sizeof(float)));
  CHECK(cudaMalloc(&d_weight, weight.size() * sizeof(float)));
  CHECK(cudaMalloc(&d_y, y.size() * sizeof(float)));
  CHECK(cudaMalloc(&d_count, rows * sizeof(int)));
  CHECK(cudaMemcpy(d_x, x.data(), x.size() * sizeof(float), cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(d_weight, weight.data(), weight.size() * sizeof(float), cudaMemcpyHostToDevice));
  rmsnorm<<<rows, kThreads>>>(d_x, d_weight, d_y, columns, eps);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(y.data(), d_y, y.size() * sizeof(float), cudaMemcpyDeviceToHost));

  double worst = 0.0;
  for (int r = 0; r < rows; ++r) {
    double squares = 0.0;
    for (int c = 0; c < columns; ++c) squares += double(x[r * columns + c]) * x[r * columns + c];
    const double scale = 1.0 / std::sqrt(squares / columns + eps);
    for (int c = 0; c < columns; ++c)
      worst = std::fmax(worst, std::fabs(y[r * columns + c] - x[r * columns + c] * scale * weight[c]));
  }

  poisoned = x;
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < r; ++c) poisoned[r * columns + (c * 27) % columns] = std::numeric_limits<float>::infinity();
  CHECK(cudaMemcpy(d_x, poisoned.data(), poisoned.size() * sizeof(float), cudaMemcpyHostToDevice));
  count_non_finite<<<(rows * kWarp + kThreads - 1) / kThreads, kThreads>>>(d_x, d_count, rows, columns);
  CHECK(cudaGetLastError());
  std::vector<int> count(rows);
  CHECK(cudaMemcpy(count.data(), d_count, rows * sizeof(int), cudaMemcpyDeviceToHost));
  int wrong = 0;
  for (int r = 0; r < rows; ++r) wrong += count[r] != r;

  cudaFree(d_x);
  cudaFree(d_weight);
  cudaFree(d_y);
  cudaFree(d_count);
  const bool good = worst < 1e-5 && wrong == 0;
  std::printf("%s: rmsnorm differs by at most %.2e, %d of %d counts wrong\n", good ? "PASS" : "FAIL", worst, wrong, rows);
  return good ? 0 : 1;
}
