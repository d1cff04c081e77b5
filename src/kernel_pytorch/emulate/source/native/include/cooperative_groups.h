/* Cooperative groups: blocks, tiles of a warp, coalesced lanes, the grid. */
#pragma once

#include "kpt_source.h"

namespace cooperative_groups {

namespace kpt_detail {
inline unsigned thread_number() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }
inline unsigned block_threads() { return blockDim.x * blockDim.y * blockDim.z; }
/* The lane's rank among the lanes of a mask, and the lane of a rank. */
inline unsigned rank_in(unsigned mask) { return (unsigned)__builtin_popcount(mask & ((1u << kpt_lane()) - 1)); }
inline int lane_of(unsigned mask, unsigned rank) {
    for (; rank && mask; rank--) mask &= mask - 1;
    return mask ? __builtin_ctz(mask) : kpt_lane();
}
} // namespace kpt_detail

class thread_group {
protected:
    enum Kind { LANES, BLOCK, GRID } kind;
    unsigned mask;
    friend thread_group tiled_partition(const thread_group &, unsigned);
    thread_group(Kind kind, unsigned mask) : kind(kind), mask(mask) {}

public:
    void sync(KPT_HERE) const {
        if (kind == BLOCK)
            kpt_syncthreads(0, 0, KPT_PLACE);
        else if (kind == GRID)
            kpt_syncgrid(KPT_PLACE);
        else
            kpt_warp(KPT_SYNCWARP, mask, 0, 0, 0, 32, nullptr, KPT_PLACE);
    }
    unsigned long long size() const {
        if (kind == BLOCK) return kpt_detail::block_threads();
        if (kind == GRID) return (unsigned long long)gridDim.x * gridDim.y * gridDim.z * kpt_detail::block_threads();
        return (unsigned)__builtin_popcount(mask);
    }
    unsigned long long num_threads() const { return size(); }
    unsigned long long thread_rank() const {
        if (kind == BLOCK) return kpt_detail::thread_number();
        if (kind == GRID) {
            unsigned long long block =
                blockIdx.x + (unsigned long long)gridDim.x * (blockIdx.y + (unsigned long long)gridDim.y * blockIdx.z);
            return block * kpt_detail::block_threads() + kpt_detail::thread_number();
        }
        return kpt_detail::rank_in(mask);
    }
    bool is_valid() const { return kind != GRID || kpt_is_cooperative(); }
};

class thread_block : public thread_group {
public:
    thread_block() : thread_group(BLOCK, 0) {}
    static void sync(KPT_HERE) { kpt_syncthreads(0, 0, KPT_PLACE); }
    static unsigned size() { return kpt_detail::block_threads(); }
    static unsigned num_threads() { return kpt_detail::block_threads(); }
    static unsigned thread_rank() { return kpt_detail::thread_number(); }
    static dim3 group_index() { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
    static dim3 thread_index() { return dim3(threadIdx.x, threadIdx.y, threadIdx.z); }
    static dim3 group_dim() { return dim3(blockDim.x, blockDim.y, blockDim.z); }
    static dim3 dim_threads() { return group_dim(); }
};

class grid_group : public thread_group {
public:
    grid_group() : thread_group(GRID, 0) {}
    void sync(KPT_HERE) const { kpt_syncgrid(KPT_PLACE); }
    static dim3 group_dim() { return dim3(gridDim.x, gridDim.y, gridDim.z); }
    static dim3 dim_blocks() { return group_dim(); }
    static unsigned long long num_blocks() { return (unsigned long long)gridDim.x * gridDim.y * gridDim.z; }
    static unsigned long long block_rank() {
        return blockIdx.x + (unsigned long long)gridDim.x * (blockIdx.y + (unsigned long long)gridDim.y * blockIdx.z);
    }
};

class kpt_lanes : public thread_group {
public:
    kpt_lanes(unsigned mask) : thread_group(LANES, mask) {}
    unsigned kpt_mask() const { return mask; }
    unsigned size() const { return (unsigned)__builtin_popcount(mask); }
    unsigned num_threads() const { return size(); }
    unsigned thread_rank() const { return kpt_detail::rank_in(mask); }
    template <class T> T shfl(T value, int rank, KPT_HERE) const {
        int lane = kpt_detail::lane_of(mask, (unsigned)rank % size());
        return kpt::from_bits<T>(kpt_warp(KPT_SHFL, mask, 0, kpt::to_bits(value), lane, 32, nullptr, KPT_PLACE));
    }
    template <class T> T shfl_down(T value, unsigned away, KPT_HERE) const {
        unsigned rank = thread_rank() + away < size() ? thread_rank() + away : thread_rank();
        return shfl(value, (int)rank, KPT_PLACE);
    }
    template <class T> T shfl_up(T value, unsigned away, KPT_HERE) const {
        unsigned rank = thread_rank() >= away ? thread_rank() - away : thread_rank();
        return shfl(value, (int)rank, KPT_PLACE);
    }
    unsigned ballot(int predicate, KPT_HERE) const {
        return packed((unsigned)kpt_warp(KPT_BALLOT, mask, 0, predicate != 0, 0, 32, nullptr, KPT_PLACE));
    }
    int any(int predicate, KPT_HERE) const {
        return (int)kpt_warp(KPT_ANY, mask, 0, predicate != 0, 0, 32, nullptr, KPT_PLACE);
    }
    int all(int predicate, KPT_HERE) const {
        return (int)kpt_warp(KPT_ALL, mask, 0, predicate != 0, 0, 32, nullptr, KPT_PLACE);
    }
    template <class T> unsigned match_any(T value, KPT_HERE) const {
        return packed((unsigned)kpt_warp(KPT_MATCH_ANY, mask, 0, kpt::to_bits(value), 0, 32, nullptr, KPT_PLACE));
    }
    template <class T> unsigned match_all(T value, int &same, KPT_HERE) const {
        return packed((unsigned)kpt_warp(KPT_MATCH_ALL, mask, 0, kpt::to_bits(value), 0, 32, &same, KPT_PLACE));
    }

private:
    /* Bits by rank in the group, from bits by lane. */
    unsigned packed(unsigned lanes) const {
        unsigned out = 0, bit = 0;
        for (unsigned left = mask; left; left &= left - 1, bit++)
            if (lanes >> __builtin_ctz(left) & 1) out |= 1u << bit;
        return out;
    }
};

namespace kpt_detail {
inline unsigned tile_mask(unsigned size) {
    unsigned first = (unsigned)kpt_lane() / size * size, all = size >= 32 ? ~0u : ((1u << size) - 1) << first;
    unsigned last = block_threads() - kpt_warp_index() * 32;
    return last < 32 ? all & ((1u << last) - 1) : all;
}
} // namespace kpt_detail

template <unsigned Size, class Parent = void> class thread_block_tile : public kpt_lanes {
    static_assert(Size <= 32 && (Size & (Size - 1)) == 0,
                  "tiles of more than a warp are not supported at source level");

public:
    thread_block_tile() : kpt_lanes(kpt_detail::tile_mask(Size)) {}
    template <class Other> thread_block_tile(const thread_block_tile<Size, Other> &same) : kpt_lanes(same.kpt_mask()) {}
    static constexpr unsigned size() { return Size; }
    static constexpr unsigned num_threads() { return Size; }
    unsigned thread_rank() const { return (unsigned)kpt_lane() % Size; }
    unsigned meta_group_rank() const { return kpt_detail::thread_number() / Size; }
    unsigned meta_group_size() const { return (kpt_detail::block_threads() + Size - 1) / Size; }
    template <class T> T shfl(T value, int rank, KPT_HERE) const {
        return kpt::from_bits<T>(kpt_warp(KPT_SHFL, mask, 0, kpt::to_bits(value), rank, Size, nullptr, KPT_PLACE));
    }
    template <class T> T shfl_down(T value, unsigned away, KPT_HERE) const {
        return kpt::from_bits<T>(
            kpt_warp(KPT_SHFL_DOWN, mask, 0, kpt::to_bits(value), (int)away, Size, nullptr, KPT_PLACE));
    }
    template <class T> T shfl_up(T value, unsigned away, KPT_HERE) const {
        return kpt::from_bits<T>(
            kpt_warp(KPT_SHFL_UP, mask, 0, kpt::to_bits(value), (int)away, Size, nullptr, KPT_PLACE));
    }
    template <class T> T shfl_xor(T value, unsigned with, KPT_HERE) const {
        return kpt::from_bits<T>(
            kpt_warp(KPT_SHFL_XOR, mask, 0, kpt::to_bits(value), (int)with, Size, nullptr, KPT_PLACE));
    }
};

class coalesced_group : public kpt_lanes {
public:
    coalesced_group(unsigned mask) : kpt_lanes(mask) {}
};

inline thread_block this_thread_block() { return thread_block(); }
inline grid_group this_grid() { return grid_group(); }
inline coalesced_group coalesced_threads(KPT_HERE) { return coalesced_group(__activemask(KPT_PLACE)); }
template <unsigned Size, class Parent> thread_block_tile<Size, Parent> tiled_partition(const Parent &) { return {}; }
inline thread_group tiled_partition(const thread_group &, unsigned size) {
    return thread_group(thread_group::LANES, kpt_detail::tile_mask(size));
}
template <class Group> void sync(const Group &group, KPT_HERE) { group.sync(KPT_PLACE); }
inline void sync(KPT_HERE) { kpt_syncthreads(0, 0, KPT_PLACE); }
template <class Group> coalesced_group binary_partition(const Group &group, bool predicate, KPT_HERE) {
    unsigned lanes = (unsigned)kpt_warp(KPT_BALLOT, group.kpt_mask(), 0, predicate, 0, 32, nullptr, KPT_PLACE);
    return coalesced_group(predicate ? lanes : group.kpt_mask() & ~lanes);
}
template <class Group, class T> coalesced_group labeled_partition(const Group &group, T label, KPT_HERE) {
    return coalesced_group(
        (unsigned)kpt_warp(KPT_MATCH_ANY, group.kpt_mask(), 0, kpt::to_bits(label), 0, 32, nullptr, KPT_PLACE));
}

template <class T = void> struct plus {
    T operator()(T a, T b) const { return a + b; }
};
template <class T = void> struct less {
    T operator()(T a, T b) const { return b < a ? b : a; }
};
template <class T = void> struct greater {
    T operator()(T a, T b) const { return a < b ? b : a; }
};
template <class T = void> struct bit_and {
    T operator()(T a, T b) const { return a & b; }
};
template <class T = void> struct bit_or {
    T operator()(T a, T b) const { return a | b; }
};
template <class T = void> struct bit_xor {
    T operator()(T a, T b) const { return a ^ b; }
};

template <class Group, class T, class Op> T reduce(const Group &group, T value, Op op, KPT_HERE) {
    T total = group.shfl(value, 0, KPT_PLACE);
    for (unsigned rank = 1; rank < group.size(); rank++) total = op(total, group.shfl(value, (int)rank, KPT_PLACE));
    return total;
}
template <class Group, class T, class Op> T inclusive_scan(const Group &group, T value, Op op, KPT_HERE) {
    T total = group.shfl(value, 0, KPT_PLACE);
    for (unsigned rank = 1; rank < group.size(); rank++) {
        T next = group.shfl(value, (int)rank, KPT_PLACE);
        if (rank <= group.thread_rank()) total = op(total, next);
    }
    return total;
}
template <class Group, class T> T inclusive_scan(const Group &group, T value, KPT_HERE) {
    return inclusive_scan(group, value, plus<T>(), KPT_PLACE);
}
template <class Group, class T> T exclusive_scan(const Group &group, T value, KPT_HERE) {
    return inclusive_scan(group, value, plus<T>(), KPT_PLACE) - value;
}

} // namespace cooperative_groups
