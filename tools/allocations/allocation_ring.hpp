// SPDX-License-Identifier: MIT
// The file through which observed processes report their allocations to hmmctl: a ring of records,
// which all of them map. They write records without locks, and hmmctl consumes them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace hmmctl {

/// The environment variable with the name of the file.
constexpr const char* allocations_variable = "HMMRT_ALLOCATIONS";

enum class allocation_kind : std::uint32_t {
    none,
    program,   ///< exec: the process runs a new program, and its old memory is gone
    fork,      ///< the process is a copy of the process with the id @addr
    allocated, ///< a heap block
    freed,     ///< the block that begins at @addr
    mapped,    ///< a mapping, which replaces older ones there
    unmapped,  ///< pages that are no longer mapped
};

constexpr std::size_t allocation_frames = 12;

/// hmmctl's files contain this struct, too.
struct allocation_record {
    std::uint64_t time = 0; ///< nanoseconds of CLOCK_MONOTONIC
    std::uint64_t addr = 0;
    std::uint64_t bytes = 0;
    std::int32_t pid = 0;
    allocation_kind kind = allocation_kind::none;
    /// The backtrace, innermost call first, terminated by 0 if it doesn't fill the array.
    std::uint64_t frames[allocation_frames] = {};

    bool operator==(const allocation_record&) const = default;
};
static_assert(sizeof(allocation_record) == 32 + 8 * allocation_frames);

struct allocation_slot {
    std::atomic<std::uint64_t> written; ///< number of the record in this slot, from 1
    allocation_record record;
};

/// The first page of the file, followed by the slots.
struct allocation_ring {
    std::uint64_t format;
    std::uint64_t slots;       ///< a power of two
    std::uint64_t least_bytes; ///< smaller allocations aren't recorded
    std::atomic<std::uint64_t> head, tail, dropped;
};

/// Increment when a structure above changes.
constexpr std::uint64_t allocation_ring_format = 0x686d6d7274000001;
constexpr std::size_t allocation_ring_head = 4096; // bytes
static_assert(sizeof(allocation_ring) <= allocation_ring_head);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

constexpr std::size_t allocation_ring_bytes(std::uint64_t slots) {
    return allocation_ring_head + slots * sizeof(allocation_slot);
}

inline allocation_slot& slot_of(allocation_ring& ring, std::uint64_t slots, std::uint64_t number) {
    char* const first = reinterpret_cast<char*>(&ring) + allocation_ring_head;
    return reinterpret_cast<allocation_slot*>(first)[number & (slots - 1)];
}

} // namespace hmmctl
