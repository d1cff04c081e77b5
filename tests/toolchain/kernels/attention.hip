#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>

// One query row a wave, head size 64: online softmax over the keys.
__global__ void attend(__half* out, const __half* q, const __half* k, const __half* v, int keys, float scale, bool causal) {
  const int row = blockIdx.x, lane = threadIdx.x % 32;
  const __half2 mine = reinterpret_cast<const __half2*>(q + row * 64)[lane];
  float top = -INFINITY, norm = 0.0f, ax = 0.0f, ay = 0.0f;
  const int last = causal ? min(row + 1, keys) : keys;
  for (int j = 0; j < last; ++j) {
    const float2 kk = __half22float2(__hmul2(mine, reinterpret_cast<const __half2*>(k + j * 64)[lane]));
    float score = kk.x + kk.y;
    for (int offset = 16; offset > 0; offset /= 2) score += __shfl_xor(score, offset, 32);
    score *= scale;
    const float higher = fmaxf(top, score), shrink = __expf(top - higher), weight = __expf(score - higher);
    const float2 vv = __half22float2(reinterpret_cast<const __half2*>(v + j * 64)[lane]);
    ax = ax * shrink + weight * vv.x;
    ay = ay * shrink + weight * vv.y;
    norm = norm * shrink + weight;
    top = higher;
  }
  reinterpret_cast<__half2*>(out + row * 64)[lane] = __floats2half2_rn(ax / norm, ay / norm);
}
