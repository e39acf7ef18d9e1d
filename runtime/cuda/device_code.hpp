// SPDX-License-Identifier: MIT
/*
 * The interface between hmmcc's passes and the launch: a kernel as a function
 * that runs one block, and the state of a running block.
 *
 * The threads of a block run one after the other, in a loop. The kernel is split
 * at its synchronization points: each thread runs to its next one, and then the
 * loop starts again after it. The number of the point is the thread's state.
 * Threads that wait for each other are a *group*: a block, or a warp if the kernel
 * has warp operations. As long as all threads of a group are at the same point, the
 * kernel itself continues. Otherwise it calls __hmm_resolve_group(), and runs the
 * threads that are marked as ready.
 *
 * Grid barriers are synchronization points, too. There the function returns, and
 * everything that the block needs to continue is in its memory.
 */
#pragma once

#include <cstddef>
#include <cstdint>

namespace hmmcuda {

inline constexpr std::uint32_t warp_size = 32;
inline constexpr std::uint32_t most_threads = 1024;
inline constexpr std::uint32_t most_static_shared = 48u << 10;
/// Alignment of a block's memory.
inline constexpr std::uint32_t memory_alignment = 64;

enum class sync_kind : std::uint32_t {
    start = 0,
    block_barrier,
    block_count,  ///< a barrier that counts a condition
    grid_barrier, ///< of all blocks: the block's function returns, and is called again
    lockstep,     ///< threads proceed side by side, without waiting
    warp_barrier,
    warp_exchange,   ///< shuffles of 64 bits
    warp_exchange32, ///< shuffles of 32 bits
    warp_ballot,
    warp_match,
    warp_active,
};

/// Constant data of each kernel: its states. The first two are the end and the start.
struct sync_point {
    sync_kind kind;
    std::uint32_t line;
    const char* file;
};

/// State of a thread, or of all threads of a group.
inline constexpr std::uint32_t state_end = 0;
inline constexpr std::uint32_t state_start = 1;
inline constexpr std::uint32_t state_mask = 0xffff;
/// Added to the state of a thread that may continue.
inline constexpr std::uint32_t state_ready = 0x10000;
/// Added to the result of __hmm_resolve_group() if all threads of the group are ready.
inline constexpr std::uint32_t state_together = 0x20000;
/// The threads of a group have different states.
inline constexpr std::uint32_t state_mixed = 0xfffe;

struct block_run;

struct parameter {
    std::uint32_t offset;
    std::uint32_t size;
};

/// A kernel, as described in the device half of a file.
struct kernel_code {
    void (*run)(block_run*);
    const char* name; ///< mangled
    const parameter* parameters;
    const sync_point* sync_points;
    std::uint32_t parameter_count;
    std::uint32_t argument_bytes;
    std::uint32_t static_shared;
    std::uint32_t thread_bytes; ///< for arrays with an element per thread
    std::uint32_t array_count;
    std::uint32_t states; ///< 2: no synchronization points
    /// Identifies the file whose functions use the first part of the block's memory; NULL if none
    /// do.
    const void* shared_owner = nullptr;
};

/// Values that threads of a warp exchange, in the middle of each part: elements of warp lanes
/// beyond the warp may be read, but are ignored. Each width has its own part, because warp lanes at
/// different shuffles may store values at the same time.
struct exchange_area {
    alignas(memory_alignment) std::uint64_t wide[3 * warp_size];
    std::uint32_t narrow[3 * warp_size];
};
inline constexpr std::size_t middle_of_wide = warp_size * sizeof(std::uint64_t);
/// Distance from the middle of the wide part to the middle of the other.
inline constexpr std::size_t to_narrow =
    sizeof(exchange_area::wide) - middle_of_wide + warp_size * sizeof(std::uint32_t);

/// A running block. The passes know the offsets of the members.
struct block_run {
    const char* arguments;
    char* shared;
    char* arrays;
    const kernel_code* kernel;
    std::uint32_t* thread_states;
    std::uint32_t* group_states;
    std::uint32_t index[3];
    std::uint32_t block[3];
    std::uint32_t grid[3];
    std::uint32_t threads;
    std::uint32_t dynamic_shared;
    std::uint32_t cooperative; ///< 1 for a cooperative launch
    /// After the function returned: the state of the grid barrier at which the block waits, or
    /// state_end if it has ended. The next call continues after the barrier.
    std::uint32_t waits_at;
    /// For shuffles: the middle of the wide part of the area where threads of a warp store values,
    /// and of the area where they load those stored before.
    char *given_place, *taken_place;
    exchange_area exchanged[2];
    /// Operands and results of the threads of a warp for other operations.
    alignas(memory_alignment) std::uint64_t given[warp_size];
    std::uint64_t got[warp_size];
    std::uint32_t mask[warp_size];
};

/// The block and the thread that a lane runs, for functions outside of the kernel and for messages
/// about failures. The passes know the offsets of the members.
struct current_thread {
    const block_run* run;
    /// The kernel, if each thread sets the members below before it runs; otherwise NULL. Then
    /// threads only set them when they call a function outside of the kernel.
    const kernel_code* named;
    std::uint32_t thread_index[3];
    std::uint32_t rank;
    std::uint32_t index[3]; ///< of the block
};

} // namespace hmmcuda
