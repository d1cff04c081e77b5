// mma.sync: a warp multiplies matrix tiles. Lanes hold what the PTX manual says, on every target.

//: kpt_mma < : kpt_matrix_unit
template <typename Dot, int Rows, int Blocks,
          bool HasUnit = (kpt_matrix_unit<Dot>::exists && Rows == 2 && Blocks % kpt_matrix_unit<Dot>::blocks == 0)>
struct kpt_mma_unit {
  template <typename Word> static __device__ inline void run(typename Dot::sum* d, const Word* a, const Word* b) {
    kpt_mma_by_dots<Dot, Rows, Blocks>(d, a, b);
  }
};
#if defined(__gfx90a__) || defined(__gfx942__) || defined(__gfx950__)
template <typename Dot, int Rows, int Blocks> struct kpt_mma_unit<Dot, Rows, Blocks, true> {
  template <typename Word> static __device__ inline void run(typename Dot::sum* d, const Word* a, const Word* b) {
    if (__builtin_amdgcn_ballot_w64(true) == ~0ull) {
      kpt_mma_by_matrix_unit<Dot, Blocks>(d, a, b);
      return;
    }
    // One warp of the wave is elsewhere or absent. Small rather than fast.
#pragma nounroll
    for (unsigned k = 0; k < 4; ++k) {
      const unsigned four = kpt_lane() % 4, row = kpt_lane() - four + k, from = 8 * four + k;
#pragma unroll
      for (int block = 0; block < Blocks; ++block) {
        const Word left = kpt_of_lane(b[block], from), right = kpt_of_lane(b[block], from + 4);
        const Word upper = kpt_of_lane(a[2 * block], row), under = kpt_of_lane(a[2 * block + 1], row);
        d[0] = Dot::add(upper, left, d[0]);
        d[1] = Dot::add(upper, right, d[1]);
        d[2] = Dot::add(under, left, d[2]);
        d[3] = Dot::add(under, right, d[3]);
      }
    }
  }
};
#elif defined(KPT_RDNA_UNIT)
template <typename Dot, int Rows, int Blocks> struct kpt_mma_unit<Dot, Rows, Blocks, true> {
  static __device__ inline void run(typename Dot::sum* d, const unsigned* a, const unsigned* b) {
    kpt_mma_by_rdna_unit<Dot, Blocks>(d, a, b);
  }
};
#endif

// What D is: its words, and how they start and end the sums of a tile.
struct kpt_into_f16 {
  typedef _Float16 pair __attribute__((ext_vector_type(2)));
  template <int Count> static __device__ inline void load(float* sums, const unsigned* d) {
    for (int i = 0; i < Count; ++i) sums[i] = static_cast<float>(__builtin_bit_cast(pair, d[i / 2])[i % 2]);
  }
  template <int Count> static __device__ inline void store(unsigned* d, const float* sums) {
    for (int i = 0; i < Count; i += 2) {
      const pair both = {static_cast<_Float16>(sums[i]), static_cast<_Float16>(sums[i + 1])};
      d[i / 2] = __builtin_bit_cast(unsigned, both);
      kpt_computed_here(d[i / 2]);  // else each half takes a register until the next product
    }
  }
};
struct kpt_into_same {
  template <int Count, typename Sum, typename D> static __device__ inline void load(Sum* sums, const D* d) {
    for (int i = 0; i < Count; ++i) sums[i] = static_cast<Sum>(d[i]);
  }
  template <int Count, typename D, typename Sum> static __device__ inline void store(D* d, const Sum* sums) {
    for (int i = 0; i < Count; ++i) d[i] = static_cast<D>(sums[i]);
  }
};
// .satfinite: the products' sum fits, and C is added last, between the limits of int.
struct kpt_into_limited {
  template <int Count> static __device__ inline void load(unsigned* sums, const int*) {
    for (int i = 0; i < Count; ++i) sums[i] = 0;
  }
  template <int Count> static __device__ inline void store(int* d, const unsigned* sums) {
    for (int i = 0; i < Count; ++i) {
      const long long sum = static_cast<long long>(d[i]) + static_cast<int>(sums[i]);
      d[i] = static_cast<int>(sum > 0x7fffffffll ? 0x7fffffffll : sum < -0x80000000ll ? -0x80000000ll : sum);
    }
  }
};
// D = A * B + D for tiles of M x 8 x K, A by rows and B by columns: the fragments of one lane.
template <int M, int K, typename A, typename B, typename Into, typename D>
static __device__ inline void kpt_mma(D* d, const typename A::word* a, const typename B::word* b) {
  typedef kpt_dot<typename A::as, typename B::as> dot;
  enum { rows = M / 8, words = K / (4 * A::per_word), blocks = words * A::parts };
  typename A::as::word left[rows * blocks];
  typename B::as::word right[blocks];
#pragma unroll
  for (int i = 0; i < blocks; ++i) {
#pragma unroll
    for (int row = 0; row < rows; ++row) left[rows * i + row] = A::part(a[rows * (i / A::parts) + row], i % A::parts);
    right[i] = B::part(b[i / A::parts], i % A::parts);
  }
  typename dot::sum sums[2 * rows];
  Into::template load<2 * rows>(sums, d);
  kpt_mma_unit<dot, rows, blocks>::run(sums, left, right);
  Into::template store<2 * rows>(d, sums);
}
