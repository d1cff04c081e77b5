// m16n8k8 and m16n8k16 in f16 on the MFMA of sixteen 4x4x4 blocks: both warps' 16x8 tiles, and no product is wasted. Not part of a
// port: `benchmarks/mma_cost.py --blocks` counts its instructions and runs it beside what a port uses.
template <typename Dot, int Blocks, typename Word>
static __device__ inline void kpt_mma_by_blocks(typename Dot::sum* d, const Word* a, const Word* b) {
  typedef _Float16 factor __attribute__((ext_vector_type(4)));
  typedef float sums __attribute__((ext_vector_type(4)));
  // A lane of the unit: bit 5 is the warp, bits 4 and 3 say which four rows, bit 2 which four columns, bits 1 and 0 which one of them.
  // It has all of K of its row and of its column. The unit computes D transposed.
  const unsigned lane = __lane_id(), warp = lane & 32u, under = lane >> 4 & 1u;
  const unsigned row = warp | (lane & 8u) << 1 | (lane & 3u) << 2, column = warp | (lane & 4u) << 2 | (lane & 3u) << 2;
  const bool odd = lane & 1u;
  sums tile = {0, 0, 0, 0};
#pragma unroll
  for (int block = 0; block < Blocks; ++block) {
    // An even lane offers the upper row first, an odd one the lower: lanes that want the lower row ask odd lanes first.
    const unsigned x = odd ? a[2 * block + 1] : a[2 * block], y = odd ? a[2 * block] : a[2 * block + 1];
#pragma unroll
    for (unsigned t = 0; t < 4; t += 2) {
      const uint2 rows = {kpt_of_wave(x, row + under + t), kpt_of_wave(y, row + (1 - under) + t)};
      const uint2 columns = {kpt_of_wave(b[block], column + under + t), kpt_of_wave(b[block], column + (1 - under) + t)};
      tile = __builtin_amdgcn_mfma_f32_4x4x4f16(__builtin_bit_cast(factor, columns), __builtin_bit_cast(factor, rows), tile, 0, 0, 0);
    }
  }
  // Lane (row, column pair) of D: the even pairs take the upper row first.
  const unsigned home = warp | (lane & 16u) >> 1 | (lane & 2u) << 1 | (lane >> 2 & 3u);
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const unsigned low = __builtin_bit_cast(unsigned, static_cast<float>(tile[i]));
    const unsigned high = __builtin_bit_cast(unsigned, static_cast<float>(tile[2 + i]));
    const unsigned first = kpt_of_wave(under ? high : low, home | (odd ? 16u : 0u));
    const unsigned second = kpt_of_wave(under ? low : high, home | (odd ? 0u : 16u));
    d[i] += __builtin_bit_cast(typename Dot::sum, odd ? second : first);
    d[2 + i] += __builtin_bit_cast(typename Dot::sum, odd ? first : second);
  }
}
