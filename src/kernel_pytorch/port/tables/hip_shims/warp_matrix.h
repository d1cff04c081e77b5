// Matrices that a warp holds or moves: ldmatrix, stmatrix, movmatrix. Lanes hold what the PTX manual says.

//: kpt_lane
// A 64-lane wave holds two 32-lane warps, which may be in different calls: a lane asks only lanes of its own warp.
static __device__ inline unsigned kpt_lane() { return __lane_id() & 31u; }
static __device__ inline unsigned kpt_of_lane(unsigned word, unsigned lane) {
  return static_cast<unsigned>(
      __builtin_amdgcn_ds_bpermute(static_cast<int>(((__lane_id() & 32u) | lane) << 2), static_cast<int>(word)));
}
static __device__ inline double kpt_of_lane(double value, unsigned lane) {
  const unsigned long long bits = __builtin_bit_cast(unsigned long long, value);
  const unsigned low = kpt_of_lane(static_cast<unsigned>(bits), lane), high = kpt_of_lane(static_cast<unsigned>(bits >> 32), lane);
  return __builtin_bit_cast(double, static_cast<unsigned long long>(high) << 32 | low);
}
//: kpt_read_here
// LLVM up to 22 may move a read of LDS into a later branch, past the barrier between them (llvm/llvm-project issue 181708).
// It does not move this: inline assembly of HIP is convergent. Unlike a barrier for memory it leaves the order of reads and products
// to the compiler, which needs it to fit large tiles into registers.
static __device__ inline void kpt_read_here(unsigned& word) { __asm__("" : "+v"(word)); }
template <typename T, int Count> static __device__ inline void kpt_read_here(T (&values)[Count], int count) {
#pragma unroll
  for (int at = 0; at < count * int(sizeof(T)) / 4; ++at) {
    unsigned word;
    __builtin_memcpy(&word, reinterpret_cast<const char*>(values) + 4 * at, 4);
    kpt_read_here(word);
    __builtin_memcpy(reinterpret_cast<char*>(values) + 4 * at, &word, 4);
  }
}
//: kpt_ldmatrix kpt_stmatrix < : kpt_lane kpt_read_here
// Lane 8 * i + r has the address of row r of matrix i, 16 bytes of LDS. Lane l holds the columns 2 * (l % 4) and the next
// of row l / 4, or with Trans the same of the transposed matrix.
typedef __attribute__((address_space(3))) unsigned __attribute__((may_alias)) kpt_lds_word;
typedef __attribute__((address_space(3))) unsigned short __attribute__((may_alias)) kpt_lds_half;
template <bool Trans, int Count> static __device__ inline void kpt_ldmatrix(unsigned (&to)[Count], unsigned row) {
  const unsigned lane = kpt_lane(), line = lane / 4, column = lane % 4;
#pragma unroll
  for (unsigned i = 0; i < Count; ++i) {
    if (Trans) {
      const unsigned low = *(kpt_lds_half*)(kpt_of_lane(row, 8 * i + 2 * column) + 2 * line);
      const unsigned high = *(kpt_lds_half*)(kpt_of_lane(row, 8 * i + 2 * column + 1) + 2 * line);
      to[i] = high << 16 | low;
    } else {
      to[i] = *(kpt_lds_word*)(kpt_of_lane(row, 8 * i + line) + 4 * column);
    }
    kpt_read_here(to[i]);
  }
}
template <bool Trans, int Count> static __device__ inline void kpt_stmatrix(unsigned row, const unsigned (&from)[Count]) {
  const unsigned lane = kpt_lane(), line = lane / 4, column = lane % 4;
#pragma unroll
  for (unsigned i = 0; i < Count; ++i) {
    if (Trans) {
      *(kpt_lds_half*)(kpt_of_lane(row, 8 * i + 2 * column) + 2 * line) = static_cast<unsigned short>(from[i]);
      *(kpt_lds_half*)(kpt_of_lane(row, 8 * i + 2 * column + 1) + 2 * line) = static_cast<unsigned short>(from[i] >> 16);
    } else {
      *(kpt_lds_word*)(kpt_of_lane(row, 8 * i + line) + 4 * column) = from[i];
    }
  }
}
//: kpt_movmatrix < : kpt_lane
static __device__ inline unsigned kpt_movmatrix(unsigned word) {
  const unsigned lane = kpt_lane(), line = lane / 4, first = 8 * (lane % 4) + line / 2, shift = 16 * (line & 1);
  return ((kpt_of_lane(word, first) >> shift) & 0xffffu) | (kpt_of_lane(word, first + 4) >> shift) << 16;
}
