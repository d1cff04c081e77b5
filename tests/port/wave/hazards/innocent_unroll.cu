// innocent: 32 is a trip count
__global__ void unrolled(float* out, const float* in) {
  float v = 0;
#pragma unroll 32
  for (int i = 0; i < 32; i++) v += in[i * blockDim.x + threadIdx.x];
  out[threadIdx.x] = v;
}
