// SPDX-License-Identifier: MIT
// Shared by the files that allocate memory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hmmrt {

class device;

/// Sets the device as the preferred location of whole pages. The device must be
/// started. Throws failure.
void prefer_device(std::uint64_t begin, std::size_t whole, device& where);

} // namespace hmmrt
