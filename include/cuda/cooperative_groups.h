/* SPDX-License-Identifier: MIT */
/*
 * Groups of threads: a block, tiles of warps, threads that take the same way, and
 * a grid. They are for hmmcc: other compilers see nothing here.
 *
 * Operations of tiles and of coalesced groups wait for those threads of the group
 * that have not ended, and leave out the others.
 */
#ifndef HMM_CUDA_COOPERATIVE_GROUPS_H
#define HMM_CUDA_COOPERATIVE_GROUPS_H

#include "cuda_runtime.h"

#ifdef __CUDA__

namespace cooperative_groups {

class thread_block {
  public:
    HMM_CUDA_DEVICE void sync() { __syncthreads(); }
    HMM_CUDA_DEVICE unsigned int thread_rank() { return __hmm_thread_rank(); }
    HMM_CUDA_DEVICE unsigned int num_threads() { return blockDim.x * blockDim.y * blockDim.z; }
    HMM_CUDA_DEVICE unsigned int size() { return num_threads(); }
    HMM_CUDA_DEVICE dim3 group_index() { return dim3(blockIdx); }
    HMM_CUDA_DEVICE dim3 thread_index() { return dim3(threadIdx); }
    HMM_CUDA_DEVICE dim3 dim_threads() { return blockDim; }
    HMM_CUDA_DEVICE dim3 group_dim() { return blockDim; }
};

HMM_CUDA_DEVICE thread_block this_thread_block() {
    return {};
}

/* All threads of a launch; valid in a cooperative one. */
class grid_group {
  public:
    HMM_CUDA_DEVICE bool is_valid() { return __hmm_grid_is_valid() != 0; }
    HMM_CUDA_DEVICE void sync() { __hmm_grid_barrier(); }
    HMM_CUDA_DEVICE dim3 dim_blocks() { return gridDim; }
    HMM_CUDA_DEVICE dim3 group_dim() { return gridDim; }
    HMM_CUDA_DEVICE dim3 block_index() { return dim3(blockIdx); }
    HMM_CUDA_DEVICE unsigned long long num_blocks() {
        return 1ULL * gridDim.x * gridDim.y * gridDim.z;
    }
    HMM_CUDA_DEVICE unsigned long long block_rank() {
        return (1ULL * blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    }
    HMM_CUDA_DEVICE unsigned long long num_threads() {
        return num_blocks() * thread_block::num_threads();
    }
    HMM_CUDA_DEVICE unsigned long long size() { return num_threads(); }
    HMM_CUDA_DEVICE unsigned long long thread_rank() {
        return block_rank() * thread_block::num_threads() + thread_block::thread_rank();
    }
};

HMM_CUDA_DEVICE grid_group this_grid() {
    return {};
}

/* A part of a warp of a size that is a power of two. */
template <unsigned int Size, class Parent = void>
class thread_block_tile;

template <unsigned int Size>
class thread_block_tile<Size, void> {
    static_assert(Size > 0 && Size <= 32 && (Size & (Size - 1)) == 0,
                  "hmmcc supports tiles of 1, 2, 4, 8, 16 and 32 threads");

  public:
    /* The lanes that __hmm_reduce() has to look at. */
    static constexpr unsigned int __hmm_lanes = Size;

    HMM_CUDA_MEMBER thread_block_tile(unsigned int rank, unsigned int size)
        : meta_rank_(rank), meta_size_(size) {}

    HMM_CUDA_DEVICE unsigned int __hmm_mask() { return (0xffffffffU >> (32 - Size)) << first(); }
    HMM_CUDA_DEVICE constexpr unsigned int size() { return Size; }
    HMM_CUDA_DEVICE constexpr unsigned int num_threads() { return Size; }
    HMM_CUDA_DEVICE unsigned int thread_rank() { return __hmm_lane() % Size; }
    HMM_CUDA_MEMBER unsigned int meta_group_rank() const { return meta_rank_; }
    HMM_CUDA_MEMBER unsigned int meta_group_size() const { return meta_size_; }
    HMM_CUDA_DEVICE void sync() { __syncwarp(__hmm_mask()); }
    template <class T>
    HMM_CUDA_DEVICE T shfl(T value, unsigned int rank) {
        return from_rank(value, rank % Size);
    }
    template <class T>
    HMM_CUDA_DEVICE T shfl_up(T value, unsigned int delta) {
        const unsigned int rank = thread_rank();
        return from_rank(value, rank >= delta ? rank - delta : rank);
    }
    template <class T>
    HMM_CUDA_DEVICE T shfl_down(T value, unsigned int delta) {
        const unsigned int rank = thread_rank();
        return from_rank(value, delta < Size - rank ? rank + delta : rank);
    }
    template <class T>
    HMM_CUDA_DEVICE T shfl_xor(T value, unsigned int ranks) {
        const unsigned int rank = thread_rank();
        return from_rank(value, ranks < Size ? rank ^ ranks : rank);
    }
    HMM_CUDA_DEVICE unsigned int ballot(int condition) {
        return __ballot_sync(__hmm_mask(), condition) >> first();
    }
    HMM_CUDA_DEVICE int any(int condition) { return __any_sync(__hmm_mask(), condition); }
    HMM_CUDA_DEVICE int all(int condition) { return __all_sync(__hmm_mask(), condition); }
    template <class T>
    HMM_CUDA_DEVICE unsigned int match_any(T value) {
        return __match_any_sync(__hmm_mask(), value) >> first();
    }
    template <class T>
    HMM_CUDA_DEVICE unsigned int match_all(T value, int& same) {
        const unsigned int present = ballot(1);
        const unsigned int found = match_any(value);
        same = found == present;
        return same != 0 ? found : 0;
    }

  private:
    HMM_CUDA_DEVICE unsigned int first() { return __hmm_lane() & ~(Size - 1); }
    template <class T>
    HMM_CUDA_DEVICE T from_rank(T value, unsigned int rank) {
        return __hmm_shuffle_object(__hmm_mask(), value, first() + rank);
    }

    unsigned int meta_rank_;
    unsigned int meta_size_;
};

template <unsigned int Size, class Parent>
class thread_block_tile : public thread_block_tile<Size, void> {
  public:
    HMM_CUDA_MEMBER explicit thread_block_tile(const Parent& parent)
        : thread_block_tile<Size, void>(parent.thread_rank() / Size,
                                        (parent.size() + Size - 1) / Size) {}
};

template <unsigned int Size>
HMM_CUDA_DEVICE thread_block_tile<Size, thread_block> tiled_partition(const thread_block& parent) {
    return thread_block_tile<Size, thread_block>(parent);
}
template <unsigned int Size, unsigned int ParentSize, class Parent>
HMM_CUDA_DEVICE thread_block_tile<Size, thread_block_tile<ParentSize, Parent>>
tiled_partition(const thread_block_tile<ParentSize, Parent>& parent) {
    static_assert(Size <= ParentSize, "a tile cannot be larger than its parent tile");
    return thread_block_tile<Size, thread_block_tile<ParentSize, Parent>>(parent);
}

/* Some threads of a warp. Ranks are in the order of the lanes. */
class coalesced_group {
  public:
    static constexpr unsigned int __hmm_lanes = 32;

    HMM_CUDA_MEMBER explicit coalesced_group(unsigned int mask) : mask_(mask) {}

    HMM_CUDA_MEMBER unsigned int __hmm_mask() const { return mask_; }
    HMM_CUDA_MEMBER unsigned int size() const { return __popc(mask_); }
    HMM_CUDA_MEMBER unsigned int num_threads() const { return size(); }
    HMM_CUDA_MEMBER unsigned int thread_rank() const {
        return __popc(mask_ & ((1U << __hmm_lane()) - 1));
    }
    HMM_CUDA_DEVICE unsigned int meta_group_rank() { return 0; }
    HMM_CUDA_DEVICE unsigned int meta_group_size() { return 1; }
    HMM_CUDA_MEMBER void sync() const { __syncwarp(mask_); }
    template <class T>
    HMM_CUDA_MEMBER T shfl(T value, unsigned int rank) const {
        return __hmm_shuffle_object(mask_, value, lane_of(rank % size()));
    }
    template <class T>
    HMM_CUDA_MEMBER T shfl_up(T value, unsigned int delta) const {
        const unsigned int rank = thread_rank();
        return shfl(value, rank >= delta ? rank - delta : rank);
    }
    template <class T>
    HMM_CUDA_MEMBER T shfl_down(T value, unsigned int delta) const {
        const unsigned int rank = thread_rank();
        return shfl(value, delta < size() - rank ? rank + delta : rank);
    }
    HMM_CUDA_MEMBER unsigned int ballot(int condition) const {
        return to_ranks(__ballot_sync(mask_, condition));
    }
    HMM_CUDA_MEMBER int any(int condition) const { return __any_sync(mask_, condition); }
    HMM_CUDA_MEMBER int all(int condition) const { return __all_sync(mask_, condition); }
    template <class T>
    HMM_CUDA_MEMBER unsigned int match_any(T value) const {
        return to_ranks(__match_any_sync(mask_, value));
    }
    template <class T>
    HMM_CUDA_MEMBER unsigned int match_all(T value, int& same) const {
        const unsigned int present = ballot(1);
        const unsigned int found = match_any(value);
        same = found == present;
        return same != 0 ? found : 0;
    }

  private:
    HMM_CUDA_MEMBER unsigned int lane_of(unsigned int rank) const {
        unsigned int lane = 0;
        for (unsigned int half = 16; half > 0; half /= 2) {
            const unsigned int below = __popc(mask_ >> lane & ((1U << half) - 1));
            if (rank < below) continue;
            rank -= below;
            lane += half;
        }
        return lane;
    }
    HMM_CUDA_MEMBER unsigned int to_ranks(unsigned int lanes) const {
        unsigned int ranks = 0;
        unsigned int bit = 1;
        for (unsigned int left = mask_; left != 0; left &= left - 1, bit *= 2)
            if ((lanes & left & -left) != 0) ranks |= bit;
        return ranks;
    }

    unsigned int mask_;
};

HMM_CUDA_DEVICE coalesced_group coalesced_threads() {
    return coalesced_group(__activemask());
}

/* The threads of the group with the same value. */
template <class Group, class T>
HMM_CUDA_DEVICE coalesced_group labeled_partition(const Group& group, T label) {
    return coalesced_group(__match_any_sync(group.__hmm_mask(), label));
}
/* Those for which the condition holds, or the others. */
template <class Group>
HMM_CUDA_DEVICE coalesced_group binary_partition(const Group& group, bool condition) {
    return labeled_partition(group, static_cast<unsigned int>(condition));
}

/* A group of a kind that is known when the kernel runs. */
class thread_group {
  public:
    HMM_CUDA_MEMBER thread_group(const thread_block&) : kind_(of_block) {}
    HMM_CUDA_MEMBER thread_group(const grid_group&) : kind_(of_grid) {}
    template <unsigned int Size, class Parent>
    HMM_CUDA_MEMBER thread_group(const thread_block_tile<Size, Parent>& tile)
        : kind_(of_lanes), mask_(tile.__hmm_mask()) {}
    HMM_CUDA_MEMBER thread_group(const coalesced_group& group)
        : kind_(of_lanes), mask_(group.__hmm_mask()) {}

    HMM_CUDA_MEMBER unsigned long long size() const {
        if (kind_ == of_block) return thread_block::num_threads();
        return kind_ == of_grid ? grid_group::num_threads() : lanes().size();
    }
    HMM_CUDA_MEMBER unsigned long long num_threads() const { return size(); }
    HMM_CUDA_MEMBER unsigned long long thread_rank() const {
        if (kind_ == of_block) return thread_block::thread_rank();
        return kind_ == of_grid ? grid_group::thread_rank() : lanes().thread_rank();
    }
    HMM_CUDA_MEMBER bool is_valid() const { return kind_ != of_grid || grid_group::is_valid(); }
    HMM_CUDA_MEMBER void sync() const {
        if (kind_ == of_block)
            thread_block::sync();
        else if (kind_ == of_grid)
            grid_group::sync();
        else
            lanes().sync();
    }

    /* The part with this thread, of 1 to 32 threads in the order of their ranks. */
    HMM_CUDA_MEMBER coalesced_group __hmm_part(unsigned int size) const {
        if (kind_ != of_lanes) {
            const unsigned int ones = 0xffffffffU >> (32 - size);
            return coalesced_group(ones << (__hmm_lane() & ~(size - 1)));
        }
        const unsigned int first = lanes().thread_rank() / size * size;
        unsigned int mask = mask_;
        for (unsigned int rank = 0; rank < first; rank++)
            mask &= mask - 1;
        unsigned int behind = mask;
        for (unsigned int rank = 0; rank < size; rank++)
            behind &= behind - 1;
        return coalesced_group(mask & ~behind);
    }

  private:
    enum kind { of_block, of_grid, of_lanes };
    HMM_CUDA_MEMBER coalesced_group lanes() const { return coalesced_group(mask_); }

    kind kind_;
    unsigned int mask_ = 0;
};

/* @size is a power of two, up to 32. */
HMM_CUDA_DEVICE thread_group tiled_partition(const thread_group& parent, unsigned int size) {
    return parent.__hmm_part(size);
}

template <class Group>
HMM_CUDA_DEVICE void sync(const Group& group) {
    group.sync();
}
template <class Group>
HMM_CUDA_DEVICE auto thread_rank(const Group& group) {
    return group.thread_rank();
}
template <class Group>
HMM_CUDA_DEVICE auto group_size(const Group& group) {
    return group.size();
}

} // namespace cooperative_groups

#endif /* __CUDA__ */

#endif /* HMM_CUDA_COOPERATIVE_GROUPS_H */
