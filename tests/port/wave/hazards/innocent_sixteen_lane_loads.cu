// innocent: groups of 16 without collectives
__global__ void gather(const float4* in, float4* out) {
  int part = threadIdx.x / 16, item = threadIdx.x % 16;
  out[part * 16 + item] = in[item * 16 + part];
}
