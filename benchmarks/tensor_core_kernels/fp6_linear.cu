#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include "driver.h"
#include "kernel_matmul.cuh"
#include "kernel_reduction.cuh"
#include "weight_prepacking.h"

int main(int, char** argv) {
  begin(argv);
  const int m = 256, n = 16, k = 128, split = 2;
  std::vector<int> weights = host_input<int>(m * k / 16 * 3);
  weight_matrix_prepacking(weights.data(), m, k);
  const int* packed = device_copy(weights);
  half *scales = input<half>(m), *b = input<half>(n * k), *c = zeros<half>(m * n);
  float* parts = zeros<float>(split * m * n);
  typedef TilingConfig<4, 1, 2> Tiles;
  const int tiles = Tiles::SMEM_SIZE_B_TILE + SMEM_SIZE_A1_TILE + SMEM_SIZE_A2_TILE;
  const int shared = tiles > Tiles::SMEM_SIZE_C_TILE ? tiles : Tiles::SMEM_SIZE_C_TILE;
  const auto kernel = QUANT_GEMM_Kernel<Tiles, float>;
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared);
  const uint4 *two = reinterpret_cast<const uint4*>(packed), *four = two + m * k * 2 / 128;
  kernel<<<dim3(1, m * split / Tiles::TILE_M), WARP_SIZE * Tiles::BLOCK_WARPS, shared>>>(two, four, scales, b, parts, m, n, k, split);
  SplitK_Reduction<<<m * n / REDUCTION_ELEMENT_PER_THREADBLOCK, WARP_SIZE>>>(c, parts, m, n, split);
  output(c, m * n);
}
