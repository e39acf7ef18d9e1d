// SPDX-License-Identifier: MIT
// The file through which observed processes tell hmmctl about their allocations: a ring of records.
// All of them map it. They write records without locks, and hmmctl takes them away.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace hmmctl {

/// The environment variable with the name of the file.
constexpr const char* allocations_variable = "HMMRT_ALLOCATIONS";

enum class allocation_kind : std::uint32_t {
    none,
    program,   ///< the process runs another program now, without the memory that it had
    fork,      ///< the process is new, with the memory of the process with the id @addr
    allocated, ///< a block of a heap
    freed,     ///< the block that begins at @addr
    mapped,    ///< a mapping, which replaces what was there
    unmapped,  ///< pages that are in no mapping any more
};

constexpr std::size_t allocation_frames = 12;

/// Files of hmmctl have it, too.
struct allocation_record {
    std::uint64_t time = 0; ///< nanoseconds of CLOCK_MONOTONIC
    std::uint64_t addr = 0;
    std::uint64_t bytes = 0;
    std::int32_t pid = 0;
    allocation_kind kind = allocation_kind::none;
    /// Addresses in the calls that led there, the innermost first, 0 behind the last one.
    std::uint64_t frames[allocation_frames] = {};

    bool operator==(const allocation_record&) const = default;
};
static_assert(sizeof(allocation_record) == 32 + 8 * allocation_frames);

struct allocation_slot {
    std::atomic<std::uint64_t> written; ///< the number of its record, from 1
    allocation_record record;
};

/// The first page of the file. The slots follow.
struct allocation_ring {
    std::uint64_t format;
    std::uint64_t slots;       ///< a power of two
    std::uint64_t least_bytes; ///< smaller allocations have no record
    std::atomic<std::uint64_t> head, tail, dropped;
};

/// Goes up when a structure above changes.
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
