// SPDX-License-Identifier: MIT
// Derives the UUID of a device from its name, so that both libraries agree on
// it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace hmmrt {

/// The first four bytes are a hash of the name, so that a few digits identify a
/// device.
inline std::array<unsigned char, 16> uuid_of(std::string_view name) {
    constexpr std::string_view rest = "hmmrt device";
    std::uint32_t hash = 2166136261; // FNV-1a
    for (const char each : name)
        hash = (hash ^ static_cast<unsigned char>(each)) * 16777619;
    std::array<unsigned char, 16> made = {};
    for (std::size_t i = 0; i < 4; i++)
        made[i] = static_cast<unsigned char>(hash >> (24 - 8 * i));
    for (std::size_t i = 0; i < rest.size(); i++)
        made[4 + i] = static_cast<unsigned char>(rest[i]);
    return made;
}

/// The format of CUDA_VISIBLE_DEVICES and similar variables: "GPU-" and the
/// digits.
inline std::string uuid_text(std::string_view name) {
    constexpr const char* digits = "0123456789abcdef";
    std::string text = "GPU-";
    const auto bytes = uuid_of(name);
    for (std::size_t i = 0; i < bytes.size(); i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
        text += digits[bytes[i] >> 4];
        text += digits[bytes[i] & 15];
    }
    return text;
}

} // namespace hmmrt
