#include <cuda_runtime.h>

#define WIDTH 4
constexpr int kHeight = 8;

int zeros(int count) {
  const int depth = 3;
  int rows[WIDTH] = {0};
  int columns[kHeight] = {};
  int layers[depth] = {0};
  int list[] = {1, 2, 3};
  int open[count];
  open[0] = rows[0] + columns[0] + layers[0] + list[0];
  return open[0];
}
