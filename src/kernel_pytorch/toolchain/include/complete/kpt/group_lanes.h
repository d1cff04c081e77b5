// Lane arithmetic under cooperative groups. Masks have 64 bits on every target.
#ifndef KPT_GROUP_LANES_H
#define KPT_GROUP_LANES_H

#define KPT_CG __device__ inline __attribute__((always_inline))
#define KPT_CG_FN __device__ inline __attribute__((always_inline))

namespace kpt {

typedef unsigned long long lane_mask;

KPT_CG unsigned block_size() { return blockDim.x * blockDim.y * blockDim.z; }
KPT_CG unsigned block_rank() { return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x; }
KPT_CG unsigned grid_rank() {
    return ((blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x) * block_size() + block_rank();
}

// How many lanes of the mask lie before this one.
KPT_CG unsigned rank_in(lane_mask mask) {
    return __builtin_amdgcn_mbcnt_hi(unsigned(mask >> 32), __builtin_amdgcn_mbcnt_lo(unsigned(mask), 0));
}

KPT_CG lane_mask tile_mask(unsigned size) {
    const unsigned first = __lane_id() & ~(size - 1);
    return size >= 64 ? ~lane_mask(0) >> (64 - __builtin_amdgcn_wavefrontsize())
                      : ((lane_mask(1) << size) - 1) << first;
}

// The lane that is number `rank` among those of the mask.
KPT_CG int lane_of_rank(lane_mask mask, unsigned rank) {
    for (unsigned i = 0; i < rank; ++i) mask &= mask - 1;
    return __builtin_ctzll(mask);
}

// The bits of `bits` at the places of `mask`, pushed together: bit i belongs to rank i.
KPT_CG lane_mask gathered(lane_mask mask, lane_mask bits) {
    lane_mask result = 0;
    for (unsigned rank = 0; mask != 0; ++rank, mask &= mask - 1)
        result |= lane_mask((bits >> __builtin_ctzll(mask)) & 1) << rank;
    return result;
}

// `count` lanes of the mask, from the one of rank `first` on.
KPT_CG lane_mask slice(lane_mask mask, unsigned first, unsigned count) {
    lane_mask result = 0;
    for (unsigned rank = 0; mask != 0 && rank < first + count; ++rank, mask &= mask - 1)
        if (rank >= first) result |= mask & -mask;
    return result;
}

// Order memory between the lanes of a wave, and keep the compiler from moving accesses across.
KPT_CG void sync_lanes() {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_wave_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

template <class __T> KPT_CG __T shuffle(__T value, int lane) {
    constexpr int words = (sizeof(__T) + 3) / 4;
    int bits[words] = {};
    __builtin_memcpy(bits, &value, sizeof(__T));
    for (int i = 0; i < words; ++i) bits[i] = __builtin_amdgcn_ds_bpermute(lane << 2, bits[i]);
    __builtin_memcpy(&value, bits, sizeof(__T));
    return value;
}

// The lanes of the mask whose value has the same bits as this lane's.
template <class __T> KPT_CG lane_mask equal_lanes(lane_mask mask, __T value) {
    constexpr int words = (sizeof(__T) + 3) / 4;
    int mine[words] = {};
    __builtin_memcpy(mine, &value, sizeof(__T));
    lane_mask result = 0;
    for (lane_mask rest = mask; rest != 0; rest &= rest - 1) {
        const int lane = __builtin_ctzll(rest);
        bool same = true;
        for (int i = 0; i < words; ++i) same &= __builtin_amdgcn_ds_bpermute(lane << 2, mine[i]) == mine[i];
        if (same) result |= rest & -rest;
    }
    return result;
}

} // namespace kpt

#endif // KPT_GROUP_LANES_H
