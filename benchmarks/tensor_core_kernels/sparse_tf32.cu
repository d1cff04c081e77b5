#include "driver.h"
#include "mmio.hpp"
#include "tf32_comp.hpp"

int main(int, char** argv) {
  begin(argv);
  const int windows = 4, blocks = 8, each = 20, nodes = 32, features = 128;
  TCLOCAL_TYPE* bits = input<TCLOCAL_TYPE>(blocks);
  vint* columns = input<vint>(blocks * 8);
  float* values = input<float>(blocks * each);
  MAT_PTR_TYPE *first_block = input<MAT_PTR_TYPE>(windows + 1), *first_value = input<MAT_PTR_TYPE>(blocks);
  float *dense = input<float>(nodes * features), *c = zeros<float>(windows * 8 * features);
  tf32_mma_kernel<<<dim3(windows), dim3(32, features / 32)>>>(bits, columns, values, first_block, first_value, dense, c, nodes,
                                                              features);
  output(c, windows * 8 * features);
}
