// SPDX-License-Identifier: MIT
#include "cooperative.hpp"

#include "block_name.hpp"

#include <atomic>
#include <immintrin.h>
#include <new>
#include <sched.h>

namespace hmmcuda {

/// The shared state of a launch's workers. The blocks follow it in memory.
struct alignas(memory_alignment) grid_run {
    /// Phase number << 32 | blocks of the phase that were requested; `over` after the last phase.
    std::atomic<std::uint64_t> cursor{0};
    std::atomic<std::uint32_t> arrived{0}; ///< blocks that ran in this phase
    std::atomic<std::uint32_t> ended{0};   ///< and have ended
    std::atomic<std::uint32_t> left{0};    ///< workers that no longer use this
};

namespace {

constexpr std::uint64_t over = std::uint64_t(1) << 63;
constexpr std::uint32_t last_phase = (1u << 31) - 1;

/// Waits until ready(). After a while, yields the processor.
template <class Ready>
void wait_until(Ready ready) {
    constexpr unsigned most_pauses = 200;
    for (unsigned i = 0; !ready(); i++) {
        if (i < most_pauses)
            _mm_pause();
        else
            sched_yield();
    }
}

class worker {
  public:
    worker(launch_data& launch, const hmmDim3& size)
        : launch_(launch), size_(size), blocks_(size.x * size.y * size.z), grid_(shared_grid()) {}

    void run() {
        for (;;) {
            const std::uint64_t taken = grid_.cursor.fetch_add(1, std::memory_order_acquire);
            if ((taken & over) != 0) break;
            const auto phase = static_cast<std::uint32_t>(taken >> 32);
            const auto number = static_cast<std::uint32_t>(taken);
            if (number < blocks_)
                run_part(phase, number);
            else
                wait_until(
                    [&] { return grid_.cursor.load(std::memory_order_acquire) >> 32 != phase; });
        }
        if (grid_.left.fetch_add(1, std::memory_order_acq_rel) + 1 == blocks_)
            launch_.memory->give(reinterpret_cast<std::byte*>(&grid_));
    }

  private:
    /// Created by the first worker.
    grid_run& shared_grid() {
        const std::atomic_ref<grid_run*> grid(launch_.grid);
        if (std::atomic_ref(launch_.grid_is_made).exchange(1) == 0)
            grid.store(new (launch_.take_area()) grid_run, std::memory_order_release);
        wait_until([&] { return grid.load(std::memory_order_acquire) != nullptr; });
        return *grid.load(std::memory_order_acquire);
    }

    std::byte* memory_of(std::uint32_t number) {
        return reinterpret_cast<std::byte*>(&grid_ + 1) + number * launch_.area_bytes();
    }
    block_run& block(std::uint32_t number) {
        return *std::launder(reinterpret_cast<block_run*>(memory_of(number)));
    }
    block_run& make_block(std::uint32_t number) {
        hmmThreadIndex index = {};
        index.gridDim = size_;
        index.blockIdx = {number % size_.x, number / size_.x % size_.y, number / size_.x / size_.y};
        return launch_.make_block(memory_of(number), index);
    }

    void run_part(std::uint32_t phase, std::uint32_t number) {
        block_run& run = phase == 0 ? make_block(number) : block(number);
        launch_.run_to_barrier(run);
        if (run.waits_at == state_end) grid_.ended.fetch_add(1, std::memory_order_relaxed);
        if (grid_.arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == blocks_) end_phase(phase);
    }

    void end_phase(std::uint32_t phase) {
        const std::uint32_t ended = grid_.ended.load(std::memory_order_relaxed);
        if (ended != 0 && ended != blocks_) report_ended();
        const std::uint64_t next = phase == last_phase ? 1 : phase + 1; // 0 creates the blocks
        grid_.arrived.store(0, std::memory_order_relaxed);
        grid_.cursor.store(ended != 0 ? over : next << 32, std::memory_order_release);
    }

    /// Returns the first block that has ended, or that is waiting. There must
    /// be one.
    const block_run& first_block(bool has_ended) {
        std::uint32_t number = 0;
        while ((block(number).waits_at == state_end) != has_ended)
            number++;
        return block(number);
    }
    [[noreturn]] void report_ended() {
        const block_run &waiting = first_block(false), &ended = first_block(true);
        const sync_point& place = launch_.kernel->sync_points[waiting.waits_at];
        fail_block(
            waiting,
            "grid_group::sync() (%s:%u) waits for block (%u, %u, %u), which has already exited",
            place.file, place.line, ended.index[0], ended.index[1], ended.index[2]);
    }

    launch_data& launch_;
    const hmmDim3 size_;
    const std::uint32_t blocks_;
    grid_run& grid_;
};

} // namespace

std::size_t bytes_of_grid(const launch_data& launch, std::uint64_t blocks) {
    return sizeof(grid_run) + blocks * launch.area_bytes();
}

void run_in_grid(const hmmThreadIndex* index, void* arguments) {
    worker(*static_cast<launch_data*>(arguments), index->gridDim).run();
}

} // namespace hmmcuda
