// SPDX-License-Identifier: MIT
// Settings from the environment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace hmmrt {

/// HMMRT_LANES=@text, or one lane per CPU. Throws failure if @text is not a
/// valid count.
std::uint32_t choose_lane_count(const char* text, int cpus);

/// HMMRT_STRICT=@text. If it isn't set, strict mode is on if the program runs
/// under seccomp.
bool choose_strict(const char* text, int seccomp_mode);

/// HMMRT_LAUNCH_TIMEOUT=@text, converted from seconds to milliseconds; 0 if
/// there is no limit. Throws failure if @text is not a valid number of seconds.
std::uint64_t choose_launch_limit(const char* text);

/// HMMRT_DEVICE=@text.
enum class machine_choice { whatever_there_is, simulated, cpu };
machine_choice choose_kind(const char* text);

/// CUDA_VISIBLE_DEVICES=@text, or a similar @variable. Returns the numbers of the visible devices,
/// in the variable's order, or of all devices if it isn't set. @uuids are the UUIDs of all devices.
/// The list ends at the first entry that matches no device. Throws failure if an entry is repeated.
std::vector<std::size_t> choose_visible(const char* variable, const char* text,
                                        std::span<const std::string> uuids);

/// CUDA_LAUNCH_BLOCKING=@text: true for a number other than 0.
bool choose_blocking(const char* text);

/// HMMRT_DEVICES=@text: number of cpu devices, 1 if not set; throws failure.
std::uint32_t choose_device_count(const char* text);

/// HMMRT_DEVICE_MEMORY=@text: memory size of a cpu device in bytes, optionally
/// with a suffix K, M, G or T; @standard if not set. A multiple of the page
/// size. Throws failure.
std::uint64_t choose_device_memory(const char* text, std::uint64_t standard);

/// HMMRT_STACK_SIZE=@text: stack size of a lane, in the same format, but at
/// least smallest_stack_bytes; @standard if not set. Throws failure.
std::size_t choose_stack_bytes(const char* text, std::size_t standard);

/// The runtime and the program's TLS use part of a lane's stack.
inline constexpr std::size_t smallest_stack_bytes = 256 << 10;

/// A launch in @pieces of @items each; the last may be shorter.
struct partition {
    std::uint32_t pieces;
    std::uint64_t items;
};
partition cut_launch(std::uint64_t items, std::uint32_t lanes);

} // namespace hmmrt
