// mma.sync.m8n8k4 of f16: eight lanes multiply their own tile.

//: kpt_mma_m8n8k4 < : kpt_lane
// Volta's form: lanes 4q..4q+3 and 16+4q..16+4q+3 multiply their own 8x4 by 4x8 tile. A sum is rounded to f16 once.
typedef _Float16 kpt_two_halves __attribute__((ext_vector_type(2)));
// The element `at` of line `line` of a factor: lane `line` holds it, or with Across lane `at` does.
template <bool Across> static __device__ inline float kpt_quad_pair_element(const unsigned* words, unsigned line, unsigned at) {
  const unsigned side = line & 4u, lane = (kpt_lane() & 12u) | 4u * side | (Across ? at : line & 3u), element = Across ? line & 3u : at;
  const unsigned low = kpt_of_lane(words[0], lane), high = kpt_of_lane(words[1], lane);
  return static_cast<float>(__builtin_bit_cast(kpt_two_halves, element & 2u ? high : low)[element & 1u]);
}
template <bool ColumnsOfA, bool RowsOfB> static __device__ inline float kpt_quad_pair_sum(const unsigned* a, const unsigned* b,
                                                                                         unsigned row, unsigned column, float sum) {
#pragma unroll
  for (unsigned k = 0; k < 4; ++k)
    sum = __builtin_fmaf(kpt_quad_pair_element<ColumnsOfA>(a, row, k), kpt_quad_pair_element<RowsOfB>(b, column, k), sum);
  return sum;
}
template <bool ColumnsOfA, bool RowsOfB> static __device__ inline void kpt_mma_m8n8k4(float* d, const unsigned* a, const unsigned* b) {
  const unsigned lane = kpt_lane(), side = lane & 16u ? 4u : 0u;
#pragma unroll
  for (unsigned i = 0; i < 8; ++i)
    d[i] = kpt_quad_pair_sum<ColumnsOfA, RowsOfB>(a, b, side + (lane & 1u) + (i & 2u), (i & 4u) + (lane & 2u) + (i & 1u), d[i]);
}
template <bool ColumnsOfA, bool RowsOfB> static __device__ inline void kpt_mma_m8n8k4(unsigned* d, const unsigned* a, const unsigned* b) {
  const unsigned lane = kpt_lane(), row = (lane & 3u) + (lane & 16u ? 4u : 0u);
#pragma unroll
  for (unsigned i = 0; i < 4; ++i) {
    kpt_two_halves both = __builtin_bit_cast(kpt_two_halves, d[i]);
    const float x = kpt_quad_pair_sum<ColumnsOfA, RowsOfB>(a, b, row, 2 * i, static_cast<float>(both.x));
    const float y = kpt_quad_pair_sum<ColumnsOfA, RowsOfB>(a, b, row, 2 * i + 1, static_cast<float>(both.y));
    both.x = static_cast<_Float16>(x);
    both.y = static_cast<_Float16>(y);
    d[i] = __builtin_bit_cast(unsigned, both);
  }
}
