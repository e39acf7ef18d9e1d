// SPDX-License-Identifier: MIT
#include "base/settings.hpp"

#include "agent/control.h"
#include "base/failure.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <optional>
#include <system_error>

#include <linux/hmmrt.h>

namespace hmmrt {

namespace {

bool is_set(const char* text) {
    return text != nullptr && *text != '\0';
}

[[noreturn]] void throw_setting(const char* variable, const char* text, const std::string& what) {
    throw failure(hmmErrorInitializationError, std::string(variable) + "=" + text + ": " + what);
}

std::uint32_t count_of(const char* variable, const char* text, std::uint32_t most) {
    std::uint32_t count = 0;
    const char* const end = text + std::strlen(text);
    const auto [rest, error] = std::from_chars(text, end, count);
    if (error != std::errc() || rest != end || count < 1 || count > most)
        throw_setting(variable, text, "not a number from 1 to " + std::to_string(most));
    return count;
}

/// Parses a size in bytes, or with a suffix K, M, G or T. Returns 0 if @text
/// isn't a size or not a multiple of the page size.
std::uint64_t size_of(const char* text) {
    constexpr const char* letters = "KMGT";
    std::uint64_t number = 0;
    const char* const end = text + std::strlen(text);
    const auto [rest, error] = std::from_chars(text, end, number);
    const char* const letter = rest + 1 == end ? std::strchr(letters, *rest) : nullptr;
    const int shift = letter != nullptr ? static_cast<int>(10 * (letter - letters + 1)) : 0;
    const bool whole = error == std::errc() && (rest == end || letter != nullptr);
    if (!whole || number > user_space_end >> shift) return 0;
    const std::uint64_t bytes = number << shift;
    return bytes % page_size == 0 ? bytes : 0;
}

constexpr const char* uuid_start = "GPU-";

/// Like CUDA, ignores anything after the number.
std::optional<std::size_t> device_with_number(const std::string& entry) {
    char* rest = nullptr;
    const long number = std::strtol(entry.c_str(), &rest, 10);
    if (rest == entry.c_str() || number < 0) return std::nullopt;
    return static_cast<std::size_t>(number);
}

/// Finds the only device whose UUID starts with @entry.
std::optional<std::size_t> device_with_uuid(const std::string& entry,
                                            std::span<const std::string> uuids) {
    const auto fits = [&](const std::string& uuid) { return uuid.starts_with(entry); };
    if (entry.size() <= std::strlen(uuid_start) ||
        std::count_if(uuids.begin(), uuids.end(), fits) != 1)
        return std::nullopt;
    return static_cast<std::size_t>(std::find_if(uuids.begin(), uuids.end(), fits) - uuids.begin());
}

} // namespace

std::uint32_t choose_lane_count(const char* text, int cpus) {
    if (is_set(text)) return count_of("HMMRT_LANES", text, max_lanes);
    if (cpus < 1) return 1;
    return cpus > static_cast<int>(max_lanes) ? max_lanes : static_cast<std::uint32_t>(cpus);
}

machine_choice choose_kind(const char* text) {
    if (!is_set(text)) return machine_choice::whatever_there_is;
    if (std::strcmp(text, "cpu") == 0) return machine_choice::cpu;
    if (std::strcmp(text, "simulated") == 0) return machine_choice::simulated;
    throw_setting("HMMRT_DEVICE", text, "must be cpu or simulated");
}

std::vector<std::size_t> choose_visible(const char* variable, const char* text,
                                        std::span<const std::string> uuids) {
    std::vector<std::size_t> visible;
    if (text == nullptr) {
        visible.resize(uuids.size());
        std::iota(visible.begin(), visible.end(), std::size_t{0});
        return visible;
    }
    const bool by_uuid = std::strncmp(text, uuid_start, std::strlen(uuid_start)) == 0;
    for (const char* at = text; at != nullptr;) {
        const char* const comma = std::strchr(at, ',');
        const std::string entry = comma != nullptr ? std::string(at, comma) : at;
        const auto found = by_uuid ? device_with_uuid(entry, uuids) : device_with_number(entry);
        if (!found || *found >= uuids.size()) break;
        if (std::find(visible.begin(), visible.end(), *found) != visible.end())
            throw failure(hmmErrorInvalidDevice,
                          std::string(variable) + "=" + text + ": a device is listed twice");
        visible.push_back(*found);
        at = comma != nullptr ? comma + 1 : nullptr;
    }
    return visible;
}

bool choose_blocking(const char* text) {
    return text != nullptr && std::strtol(text, nullptr, 10) != 0;
}

std::uint32_t choose_device_count(const char* text) {
    return is_set(text) ? count_of("HMMRT_DEVICES", text, HMMRT_MAX_DEVICES) : 1;
}

std::uint64_t choose_device_memory(const char* text, std::uint64_t standard) {
    if (!is_set(text)) return standard;
    const std::uint64_t bytes = size_of(text);
    if (bytes == 0)
        throw_setting("HMMRT_DEVICE_MEMORY", text, "must be a multiple of 4K, such as 256M");
    return bytes;
}

std::size_t choose_stack_bytes(const char* text, std::size_t standard) {
    if (!is_set(text)) return standard;
    const std::uint64_t bytes = size_of(text);
    if (bytes < smallest_stack_bytes)
        throw_setting("HMMRT_STACK_SIZE", text,
                      "must be a multiple of 4K and at least 256K, such as 64M");
    return bytes;
}

bool choose_strict(const char* text, int seccomp_mode) {
    if (text == nullptr || *text == '\0') return seccomp_mode > 0;
    return std::strcmp(text, "0") != 0;
}

std::uint64_t choose_launch_limit(const char* text) {
    constexpr std::uint64_t most_seconds = 1000000;
    if (text == nullptr || *text == '\0') return 0;
    std::uint64_t seconds = 0;
    const char* const end = text + std::strlen(text);
    const auto [rest, error] = std::from_chars(text, end, seconds);
    if (error != std::errc() || rest != end || seconds > most_seconds)
        throw failure(hmmErrorInitializationError, std::string("HMMRT_LAUNCH_TIMEOUT=") + text +
                                                       ": not a number of seconds from 0 to " +
                                                       std::to_string(most_seconds));
    return seconds * 1000;
}

partition cut_launch(std::uint64_t items, std::uint32_t lanes) {
    constexpr std::uint64_t pieces_per_lane = 16;
    // Avoid that lanes writing neighbouring items share a cache line.
    constexpr std::uint64_t granule = 64;

    const std::uint64_t wanted = pieces_per_lane * lanes;
    std::uint64_t each = items / wanted + (items % wanted != 0 ? 1 : 0);
    if (each > granule) each += granule - 1 - (each - 1) % granule;
    if (each == 0) each = 1;
    const std::uint64_t pieces = items / each + (items % each != 0 ? 1 : 0);
    return {static_cast<std::uint32_t>(pieces), each};
}

} // namespace hmmrt
