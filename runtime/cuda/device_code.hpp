// SPDX-License-Identifier: MIT
/*
 * What hmmcc's passes and the launch agree on: a kernel as a function that runs
 * one block, and the state of a block that runs.
 *
 * The threads of a block run one after the other, as a loop. Where they wait
 * for each other, the kernel is cut: each thread runs to the next *cut*, and
 * the loop starts again behind it. The number of the cut is the thread's state.
 * Threads that wait for each other are a *group*: a block, or a warp where the
 * kernel has operations of warps. As long as all threads of a group are at the
 * same cut, the kernel itself goes on. If they are not, it calls
 * __hmm_resolve_group(), and runs those threads that are marked as ready.
 *
 * Barriers of a grid are cuts, too. There the function returns, and all that
 * the block goes on with is in its memory.
 */
#pragma once

#include <cstddef>
#include <cstdint>

namespace hmmcuda {

inline constexpr std::uint32_t warp_size = 32;
inline constexpr std::uint32_t most_threads = 1024;
inline constexpr std::uint32_t most_static_shared = 48u << 10;
/// Memory of a block starts at multiples of this.
inline constexpr std::uint32_t memory_alignment = 64;

enum class cut_kind : std::uint32_t {
    start = 0,
    block_barrier,
    block_count,  ///< the barrier that counts a condition
    grid_barrier, ///< of all blocks: the function of the block returns, and is called again
    pace,         ///< threads go on side by side, and do not wait
    warp_barrier,
    warp_exchange,   ///< shuffles of 64 bits
    warp_exchange32, ///< shuffles of 32 bits
    warp_ballot,
    warp_match,
    warp_active,
};

/// Constant data of each kernel: its states, the first two of which are the end and the start.
struct cut {
    cut_kind kind;
    std::uint32_t line;
    const char* file;
};

/// State of a thread, or of all threads of a group.
inline constexpr std::uint32_t state_end = 0;
inline constexpr std::uint32_t state_start = 1;
inline constexpr std::uint32_t state_mask = 0xffff;
/// Added to the state of a thread that may go on.
inline constexpr std::uint32_t state_ready = 0x10000;
/// Added to what __hmm_resolve_group() returns: all threads of the group are ready.
inline constexpr std::uint32_t state_together = 0x20000;
/// The threads of a group have several states.
inline constexpr std::uint32_t state_mixed = 0xfffe;

struct block_run;

struct parameter {
    std::uint32_t offset;
    std::uint32_t size;
};

/// A kernel, as the device half of a file has it.
struct kernel_code {
    void (*run)(block_run*);
    const char* name; ///< mangled
    const parameter* parameters;
    const cut* cuts;
    std::uint32_t parameter_count;
    std::uint32_t argument_bytes;
    std::uint32_t static_shared;
    std::uint32_t thread_bytes; ///< of arrays with an element for each thread
    std::uint32_t array_count;
    std::uint32_t states; ///< 2: no cuts
    /// Of the file with functions that use the first part of the block's memory; NULL: none do.
    const void* shared_owner = nullptr;
};

/// What threads of a warp give each other, in the middle of each part: elements of lanes that a
/// warp does not have are read, and not used. Each width has its own part, because lanes at
/// different shuffles give at the same time.
struct exchange_area {
    alignas(memory_alignment) std::uint64_t wide[3 * warp_size];
    std::uint32_t narrow[3 * warp_size];
};
inline constexpr std::size_t middle_of_wide = warp_size * sizeof(std::uint64_t);
/// From the middle of the wide part to that of the other.
inline constexpr std::size_t to_narrow =
    sizeof(exchange_area::wide) - middle_of_wide + warp_size * sizeof(std::uint32_t);

/// A block that runs. The passes have the offsets of the members.
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
    std::uint32_t cooperative; ///< 1: of a cooperative launch
    /// When the function has returned: the barrier of the grid at which the block waits, as its
    /// state; state_end if the block has ended. The next call goes on behind the barrier.
    std::uint32_t waits_at;
    /// Shuffles: the middle of the wide part of the area where threads of a warp give values, and
    /// of that where they take those that were given.
    char *given_place, *taken_place;
    exchange_area exchanged[2];
    /// What the threads of a warp give another operation, and what they get.
    alignas(memory_alignment) std::uint64_t given[warp_size];
    std::uint64_t got[warp_size];
    std::uint32_t mask[warp_size];
};

/// The block and the thread that a lane runs: for functions that are no part of the kernel, and for
/// messages about failures. The passes have the offsets of the members.
struct lane_place {
    const block_run* run;
    /// The kernel, if each thread has its place here before it runs; otherwise NULL. Then threads
    /// have it when they call a function that is no part of the kernel.
    const kernel_code* named;
    std::uint32_t thread_index[3];
    std::uint32_t rank;
    std::uint32_t index[3]; ///< of the block
};

} // namespace hmmcuda
