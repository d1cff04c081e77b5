// Cooperative groups: blocks, grids, tiles of a wave and coalesced lanes.
#ifndef HIP_INCLUDE_HIP_HIP_COOPERATIVE_GROUPS_H
#define HIP_INCLUDE_HIP_HIP_COOPERATIVE_GROUPS_H

#include <hip/hip_runtime.h>
#include <kpt/group_lanes.h>

namespace cooperative_groups {

// What a group held by its base class is: the base has no virtual functions, so it must know.
enum kpt_group_kind { kpt_block, kpt_grid, kpt_multi_grid, kpt_lanes };

class thread_group {
public:
    KPT_CG unsigned size() const { return size_; }
    KPT_CG unsigned num_threads() const { return size_; }
    KPT_CG unsigned cg_type() const { return unsigned(kind_); }
    KPT_CG unsigned thread_rank() const {
        if (kind_ == kpt_block) return kpt::block_rank();
        if (kind_ == kpt_grid) return kpt::grid_rank();
        if (kind_ == kpt_multi_grid) return __ockl_multi_grid_thread_rank();
        return kpt::rank_in(mask_);
    }
    KPT_CG bool is_valid() const {
        if (kind_ == kpt_grid) return __ockl_grid_is_valid();
        if (kind_ == kpt_multi_grid) return __ockl_multi_grid_is_valid();
        return true;
    }
    KPT_CG void sync() const {
        if (kind_ == kpt_block)
            __syncthreads();
        else if (kind_ == kpt_grid)
            __ockl_grid_sync();
        else if (kind_ == kpt_multi_grid)
            __ockl_multi_grid_sync();
        else
            kpt::sync_lanes();
    }

protected:
    KPT_CG thread_group(kpt_group_kind kind, unsigned size, kpt::lane_mask mask = 0)
        : kind_(kind), size_(size), mask_(mask) {}

    kpt_group_kind kind_;
    unsigned size_;
    kpt::lane_mask mask_; // lanes of this wave that belong to the group; only for groups inside a wave

    friend __device__ thread_group kpt_lane_group(unsigned, kpt::lane_mask);
    friend __device__ thread_group this_thread();
};

KPT_CG_FN thread_group kpt_lane_group(unsigned size, kpt::lane_mask mask) {
    return thread_group(kpt_lanes, size, mask);
}
KPT_CG_FN thread_group this_thread() { return thread_group(kpt_lanes, 1, kpt::lane_mask(1) << __lane_id()); }

class thread_block : public thread_group {
public:
    static KPT_CG dim3 group_index() { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
    static KPT_CG dim3 thread_index() { return dim3(threadIdx.x, threadIdx.y, threadIdx.z); }
    static KPT_CG dim3 group_dim() { return dim3(blockDim.x, blockDim.y, blockDim.z); }
    static KPT_CG dim3 dim_threads() { return group_dim(); }
    static KPT_CG unsigned thread_rank() { return kpt::block_rank(); }
    static KPT_CG unsigned size() { return kpt::block_size(); }
    static KPT_CG unsigned num_threads() { return kpt::block_size(); }
    static KPT_CG bool is_valid() { return true; }
    static KPT_CG void sync() { __syncthreads(); }

private:
    KPT_CG thread_block() : thread_group(kpt_block, kpt::block_size()) {}
    friend __device__ thread_block this_thread_block();
};
KPT_CG_FN thread_block this_thread_block() { return thread_block(); }

class grid_group : public thread_group {
public:
    static KPT_CG dim3 group_dim() { return dim3(gridDim.x, gridDim.y, gridDim.z); }
    static KPT_CG dim3 dim_blocks() { return group_dim(); }
    static KPT_CG dim3 block_index() { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
    static KPT_CG unsigned block_rank() { return (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x; }
    static KPT_CG unsigned num_blocks() { return gridDim.x * gridDim.y * gridDim.z; }
    static KPT_CG unsigned thread_rank() { return kpt::grid_rank(); }
    static KPT_CG bool is_valid() { return __ockl_grid_is_valid(); }
    static KPT_CG void sync() { __ockl_grid_sync(); }

private:
    KPT_CG grid_group() : thread_group(kpt_grid, num_blocks() * kpt::block_size()) {}
    friend __device__ grid_group this_grid();
};
KPT_CG_FN grid_group this_grid() { return grid_group(); }

class multi_grid_group : public thread_group {
public:
    static KPT_CG unsigned num_grids() { return __ockl_multi_grid_num_grids(); }
    static KPT_CG unsigned grid_rank() { return __ockl_multi_grid_grid_rank(); }
    static KPT_CG unsigned thread_rank() { return __ockl_multi_grid_thread_rank(); }
    static KPT_CG bool is_valid() { return __ockl_multi_grid_is_valid(); }
    static KPT_CG void sync() { __ockl_multi_grid_sync(); }

private:
    KPT_CG multi_grid_group() : thread_group(kpt_multi_grid, __ockl_multi_grid_size()) {}
    friend __device__ multi_grid_group this_multi_grid();
};
KPT_CG_FN multi_grid_group this_multi_grid() { return multi_grid_group(); }

template <unsigned SIZE, class PARENT = void> class thread_block_tile;

// Lanes of one wave that were active together, or a part of them.
class coalesced_group : public thread_group {
public:
    KPT_CG unsigned thread_rank() const { return kpt::rank_in(mask_); }
    KPT_CG void sync() const { kpt::sync_lanes(); }
    KPT_CG unsigned meta_group_rank() const { return meta_rank_; }
    KPT_CG unsigned meta_group_size() const { return meta_size_; }

    template <class __T> KPT_CG __T shfl(__T value, int rank) const {
        return kpt::shuffle(value, kpt::lane_of_rank(mask_, unsigned(rank) % size_));
    }
    template <class __T> KPT_CG __T shfl_up(__T value, unsigned delta) const {
        const unsigned rank = thread_rank();
        return kpt::shuffle(value, delta <= rank ? kpt::lane_of_rank(mask_, rank - delta) : int(__lane_id()));
    }
    template <class __T> KPT_CG __T shfl_down(__T value, unsigned delta) const {
        const unsigned rank = thread_rank();
        return kpt::shuffle(value, rank + delta < size_ ? kpt::lane_of_rank(mask_, rank + delta) : int(__lane_id()));
    }
    KPT_CG unsigned long long ballot(int predicate) const { return kpt::gathered(mask_, __ballot64(predicate)); }
    KPT_CG int any(int predicate) const { return (__ballot64(predicate) & mask_) != 0; }
    KPT_CG int all(int predicate) const { return (__ballot64(predicate) & mask_) == mask_; }
    template <class __T> KPT_CG unsigned long long match_any(__T value) const {
        return kpt::gathered(mask_, kpt::equal_lanes(mask_, value));
    }
    template <class __T> KPT_CG unsigned long long match_all(__T value, int &predicate) const {
        predicate = kpt::equal_lanes(mask_, value) == mask_;
        return predicate ? kpt::gathered(mask_, mask_) : 0;
    }

private:
    KPT_CG explicit coalesced_group(kpt::lane_mask mask, unsigned meta_rank = 0, unsigned meta_size = 1)
        : thread_group(kpt_lanes, __builtin_popcountll(mask), mask), meta_rank_(meta_rank), meta_size_(meta_size) {}

    unsigned meta_rank_;
    unsigned meta_size_;

    friend __device__ coalesced_group coalesced_threads();
    friend __device__ coalesced_group tiled_partition(const coalesced_group &, unsigned);
    friend __device__ coalesced_group binary_partition(const coalesced_group &, bool);
    template <unsigned, class> friend class thread_block_tile;
    template <unsigned __N, class __P> friend __device__ coalesced_group
    binary_partition(const thread_block_tile<__N, __P> &, bool);
};
KPT_CG_FN coalesced_group coalesced_threads() { return coalesced_group(__ballot64(1)); }
KPT_CG_FN coalesced_group binary_partition(const coalesced_group &group, bool predicate) {
    const kpt::lane_mask yes = __ballot64(predicate) & group.mask_;
    return predicate ? coalesced_group(yes, 1, 2) : coalesced_group(group.mask_ & ~yes, 0, 2);
}
KPT_CG_FN coalesced_group tiled_partition(const coalesced_group &group, unsigned tile_size) {
    const unsigned tile = group.thread_rank() / tile_size;
    return coalesced_group(kpt::slice(group.mask_, tile * tile_size, tile_size), tile,
                           (group.size() + tile_size - 1) / tile_size);
}

// SIZE consecutive threads of a block, all in one wave. PARENT is what was partitioned.
template <unsigned SIZE, class PARENT> class thread_block_tile : public thread_group {
    static_assert(SIZE > 0 && (SIZE & (SIZE - 1)) == 0 && SIZE <= 64, "a tile has 1, 2, 4, ... or 64 threads");

public:
    template <class OTHER>
    KPT_CG thread_block_tile(const thread_block_tile<SIZE, OTHER> &other)
        : thread_group(kpt_lanes, SIZE, kpt::tile_mask(SIZE)), meta_rank_(other.meta_group_rank()),
          meta_size_(other.meta_group_size()) {}

    static constexpr unsigned numThreads = SIZE;
    static constexpr KPT_CG unsigned size() { return SIZE; }
    static constexpr KPT_CG unsigned num_threads() { return SIZE; }
    static KPT_CG unsigned thread_rank() { return kpt::block_rank() & (SIZE - 1); }
    static KPT_CG void sync() { kpt::sync_lanes(); }
    KPT_CG unsigned meta_group_rank() const { return meta_rank_; }
    KPT_CG unsigned meta_group_size() const { return meta_size_; }

    template <class __T> KPT_CG __T shfl(__T value, int rank) const {
        return kpt::shuffle(value, base() + (rank & int(SIZE - 1)));
    }
    template <class __T> KPT_CG __T shfl_up(__T value, unsigned delta) const {
        const int rank = int(thread_rank());
        return kpt::shuffle(value, base() + (int(delta) <= rank ? rank - int(delta) : rank));
    }
    template <class __T> KPT_CG __T shfl_down(__T value, unsigned delta) const {
        const int rank = int(thread_rank());
        return kpt::shuffle(value, base() + (rank + int(delta) < int(SIZE) ? rank + int(delta) : rank));
    }
    template <class __T> KPT_CG __T shfl_xor(__T value, unsigned mask) const {
        return kpt::shuffle(value, base() + int((thread_rank() ^ mask) & (SIZE - 1)));
    }
    KPT_CG unsigned long long ballot(int predicate) const { return (__ballot64(predicate) & mask_) >> base(); }
    KPT_CG int any(int predicate) const { return (__ballot64(predicate) & mask_) != 0; }
    KPT_CG int all(int predicate) const { return (~__ballot64(predicate) & mask_) == 0; }
    template <class __T> KPT_CG unsigned long long match_any(__T value) const {
        return kpt::equal_lanes(mask_, value) >> base();
    }
    template <class __T> KPT_CG unsigned long long match_all(__T value, int &predicate) const {
        predicate = kpt::equal_lanes(mask_, value) == mask_;
        return predicate ? mask_ >> base() : 0;
    }

private:
    KPT_CG thread_block_tile(unsigned meta_rank, unsigned meta_size)
        : thread_group(kpt_lanes, SIZE, kpt::tile_mask(SIZE)), meta_rank_(meta_rank), meta_size_(meta_size) {}
    static KPT_CG int base() { return int(__lane_id() & ~(SIZE - 1)); }

    unsigned meta_rank_;
    unsigned meta_size_;

    template <unsigned __N, class __P> friend __device__ thread_block_tile<__N, __P> tiled_partition(const __P &);
    template <unsigned __N, class __P> friend __device__ coalesced_group
    binary_partition(const thread_block_tile<__N, __P> &, bool);
};

template <unsigned SIZE, class PARENT> KPT_CG_FN thread_block_tile<SIZE, PARENT> tiled_partition(const PARENT &parent) {
    return thread_block_tile<SIZE, PARENT>(parent.thread_rank() / SIZE, (parent.size() + SIZE - 1) / SIZE);
}
template <unsigned __N, class __P> KPT_CG_FN coalesced_group binary_partition(const thread_block_tile<__N, __P> &tile,
                                                                              bool predicate) {
    const kpt::lane_mask all = kpt::tile_mask(__N), yes = __ballot64(predicate) & all;
    return predicate ? coalesced_group(yes, 1, 2) : coalesced_group(all & ~yes, 0, 2);
}
KPT_CG_FN thread_group tiled_partition(const thread_group &parent, unsigned tile_size) {
    return kpt_lane_group(tile_size < parent.size() ? tile_size : parent.size(), kpt::tile_mask(tile_size));
}
KPT_CG_FN thread_group tiled_partition(const thread_block &parent, unsigned tile_size) {
    return kpt_lane_group(tile_size < parent.size() ? tile_size : parent.size(), kpt::tile_mask(tile_size));
}

template <class __G> KPT_CG_FN unsigned group_size(const __G &group) { return group.size(); }
template <class __G> KPT_CG_FN unsigned thread_rank(const __G &group) { return group.thread_rank(); }
template <class __G> KPT_CG_FN bool is_valid(const __G &group) { return group.is_valid(); }
template <class __G> KPT_CG_FN void sync(const __G &group) { group.sync(); }

} // namespace cooperative_groups

#endif // HIP_INCLUDE_HIP_HIP_COOPERATIVE_GROUPS_H
