// SPDX-License-Identifier: MIT
// Replays a trace on a device with one process and one lane. It does with memory what the kernel
// module does, and asks a policy where the module asks its own.
//
// It leaves out what a trace doesn't have or one lane doesn't need: advice, quotas, other processes
// and devices, memory objects, duplicates, batches of faults, and memory that isn't populated.
#pragma once

#include "device_memory.hpp"
#include "policy.hpp"
#include "prices.hpp"
#include "trace.hpp"

#include <cstdint>
#include <vector>

namespace replay {

struct counts {
    std::uint64_t faults = 0, cpu_faults = 0;
    std::uint64_t pages_in = 0, pages_out = 0; ///< moved to and from the device
    std::uint64_t evictions = 0;               ///< chunks
    std::uint64_t pages_remote = 0;            ///< entries for pages in system memory
    std::uint64_t local_accesses = 0, remote_accesses = 0;
    std::uint64_t visits = 0, remote_visits = 0; ///< of pages, by steps
    std::uint64_t looks = 0, exchanges = 0, naps = 0, pins = 0;

    bool operator==(const counts&) const = default;
};

struct costs {
    double faults = 0, moves = 0, accesses = 0, looks = 0;

    double total() const { return faults + moves + accesses + looks; }
    bool operator==(const costs&) const = default;
};

class simulator {
  public:
    /// All references must outlive the simulator. @device_bytes is a multiple of block_bytes.
    simulator(const trace& of, policy& decides, const prices& costs, std::uint64_t device_bytes);

    void run(const step& next);

    const counts& counted() const { return counts_; }
    const costs& cost() const { return costs_; }
    const block& block_at(std::uint64_t number) const { return blocks_[number]; }
    const device_memory& memory() const { return memory_; }

  private:
    static constexpr std::uint64_t never = ~std::uint64_t{0};

    // simulator.cpp
    std::uint64_t now() const { return static_cast<std::uint64_t>(time_ / 1000); }
    void pay(double& kind, double price);
    const machine& state();
    page_set existing(std::uint64_t number, page_set pages) const;
    page_set clamped(std::uint64_t number, hmmrt_policy_window win) const;
    void catch_up();
    void wait(std::uint64_t us);
    void device_access(std::uint64_t page, const step& by);
    void cpu_access(std::uint64_t page);
    void serve(std::uint64_t number, unsigned page, bool write);
    void count_neighbours(fault& of, std::uint64_t number) const;
    page_set window_of(fault& of, std::uint64_t number);
    bool move_faulted(fault& of, std::uint64_t number, page_set& pages);
    void map(std::uint64_t number, const page_set& pages);
    void unmap(std::uint64_t number, page_set pages);
    void forget(std::uint64_t page, std::uint64_t count);
    void prefetch(std::uint64_t page, std::uint64_t count);
    void prefetch_block(std::uint64_t number, const page_set& pages, std::uint64_t given);
    void prefetch_back(std::uint64_t page, std::uint64_t count);
    void move_back(std::uint64_t number, const page_set& pages);
    bool move_in(std::uint64_t number, const page_set& pages, int reserved, bool partly);
    void note_moved_in(std::uint64_t number, const page_set& pages);
    bool is_pinned(const block& at) const;
    void end_pin(std::uint64_t number);
    int victim(std::uint64_t given_before);
    void evict(int number);
    void release(int& reserved);
    void note_pin(std::uint64_t number);
    void release_pins();

    // looks.cpp
    void ask(std::uint64_t number);
    void age();
    void stays(std::uint64_t number);
    void look_work();
    void look_at(std::uint64_t number);
    void move_looked_at(std::uint64_t number, bool exchanges);
    bool evict_unused(std::uint64_t since, int& reserved);

    policy& policy_;
    const prices& prices_;
    device_memory memory_;
    std::vector<block> blocks_;
    std::uint64_t pages_;
    const std::vector<bool>& absent_;
    machine machine_;
    counts counts_;
    costs costs_;
    double time_ = 0; ///< nanoseconds, with waits
    std::uint64_t migration_us_ = 0;
    std::vector<std::uint64_t> pinned_; ///< blocks
    std::uint64_t next_release_ = never;
    // the work that looks, and the clock hand that ages
    std::uint64_t next_look_ = never, look_hand_ = 0, round_next_ = 0, age_since_ = 0;
    bool has_stayed_ = false;
    std::uint64_t age_hand_ = 0, round_began_ = 0;
    double moving_ = 0; ///< time that moves took during the work
};

struct outcome {
    counts counted;
    costs cost;
};

outcome simulate(const trace& of, policy& decides, const prices& costs, std::uint64_t device_bytes);

} // namespace replay
