// A plain copy, and PTX of another rule.
__global__ void kernel(float4 *out, const float4 *in) {
  __shared__ float4 tile[64];
  tile[threadIdx.x] = in[threadIdx.x];
  asm volatile("bar.sync 0;");
  out[threadIdx.x] = tile[threadIdx.x ^ 1];  // cp.async would go here
}
