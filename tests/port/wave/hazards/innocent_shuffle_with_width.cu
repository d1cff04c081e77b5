// innocent: the width is 4
__device__ float quad_sum(float v) {
  v += __shfl_xor(v, 1, 4);
  v += __shfl_xor(v, 2, 4);
  return v;
}
