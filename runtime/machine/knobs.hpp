// SPDX-License-Identifier: MIT
// The knobs of the cpu device. It remembers their values, but they have no
// effect: nothing faults and nothing migrates.
#pragma once

#include <linux/hmmrt.h>

#include <array>
#include <cstdint>

namespace hmmrt {

struct knob_description {
    const char* name;
    std::uint32_t minimum;
    std::uint32_t maximum;
    std::uint32_t standard;
    std::uint32_t scopes; ///< mask of enum hmmrt_knob_scope
};

inline constexpr std::uint32_t knob_of_device = HMMRT_SCOPE_DEVICE;
inline constexpr std::uint32_t knob_of_process = HMMRT_SCOPE_DEVICE | HMMRT_SCOPE_SPACE;
inline constexpr std::uint32_t knob_of_range = knob_of_process | HMMRT_SCOPE_RANGE;

/// Indexed by enum hmmrt_knob_id. A test compares this table with the modules.
inline constexpr std::array<knob_description, HMMRT_KNOBS> knob_descriptions = {{
    {"migration_policy", HMMRT_MIGRATE_ON_TOUCH, HMMRT_MIGRATE_NEVER, HMMRT_MIGRATE_ON_TOUCH,
     knob_of_range},
    {"prefetch_enable", 0, 1, 1, knob_of_range},
    {"prefetch_threshold", 1, 100, 51, knob_of_range},
    {"prefetch_min_faults", 1, 20, 1, knob_of_range},
    {"prefetch_across_blocks", 0, 1, 1, knob_of_range},
    {"cpu_fault_max_pages", 1, 512, 512, knob_of_range},
    {"thrashing_enable", 0, 1, 1, knob_of_range},
    {"access_counter_threshold", 1, 65535, 256, knob_of_range},
    {"access_counter_migration_enable", 0, 1, 0, knob_of_process},
    {"thrashing_threshold", 1, 255, 3, knob_of_process},
    {"thrashing_pin_threshold", 1, 255, 10, knob_of_process},
    {"thrashing_lapse_usec", 5, 500000, 500, knob_of_process},
    {"thrashing_nap", 1, 100, 1, knob_of_process},
    {"thrashing_pin", 1, 100000, 300, knob_of_process},
    {"thrashing_epoch", 1, 100000, 2000, knob_of_process},
    {"thrashing_max_resets", 0, 255, 4, knob_of_process},
    {"fault_batch_count", 1, 1024, 256, knob_of_process},
    {"fault_replay_policy", HMMRT_REPLAY_BLOCK, HMMRT_REPLAY_BATCH_FLUSH, HMMRT_REPLAY_BATCH_FLUSH,
     knob_of_process},
    {"fault_coalesce", 0, 1, 1, knob_of_process},
    {"fault_workers", 0, 1024, 0, knob_of_process},
    {"oversubscription", 0, 2, 2, knob_of_device},
    {"evict_by_access", 0, 1, 1, knob_of_device},
    {"evict_low_watermark", 0, 50, 0, knob_of_device},
    {"evict_high_watermark", 0, 50, 0, knob_of_device},
    {"fault_wait_timeout_msec", 1, 3600000, 1000, knob_of_process},
    {"read_duplication", 0, 1, 0, knob_of_range},
}};

} // namespace hmmrt
