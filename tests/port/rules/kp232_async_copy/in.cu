#include <cuda_runtime.h>

template <int bytes>
__device__ void copy_async(void *to, const void *from) {
  unsigned address = (unsigned)__cvta_generic_to_shared(to);
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2;\n" ::"r"(address), "l"(from), "n"(bytes));
}

__device__ void copy_async_16(unsigned to, const void *from, bool ok) {
  int size = ok ? 16 : 0;
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;\n" ::"r"(to), "l"(from), "r"(size));
}

__device__ void copy_async_if(unsigned to, const void *from, bool ok) {
  asm volatile(
      "{\n"
      "  .reg .pred p;\n"
      "  setp.ne.b32 p, %0, 0;\n"
      "  @p cp.async.cg.shared.global [%1], [%2], 16;\n"
      "}\n" ::"r"((int)ok), "r"(to), "l"(from));
}

__device__ void load_matrices(unsigned (&r)[4], const void *row) {
  unsigned address = (unsigned)__cvta_generic_to_shared(row);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];\n"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address));
}

__device__ void store_matrix(void *row, unsigned r) {
  unsigned address = (unsigned)__cvta_generic_to_shared(row);
  asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};\n" ::"r"(address), "r"(r));
}

__global__ void kernel(float4 *out, const float4 *in) {
  __shared__ float4 tile[64];
  unsigned to = (unsigned)__cvta_generic_to_shared(&tile[threadIdx.x]);
  copy_async<16>(&tile[threadIdx.x], in + threadIdx.x);
  copy_async_16(to, in + threadIdx.x, threadIdx.x < 32);
  copy_async_if(to, in + threadIdx.x, threadIdx.x < 32);
  asm volatile("cp.async.commit_group;\n" ::);
  asm volatile("cp.async.wait_group %0;\n" ::"n"(0));
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x ^ 1];
}
