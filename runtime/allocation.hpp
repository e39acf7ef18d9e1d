// SPDX-License-Identifier: MIT
// What the files that give out memory share.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hmmrt {

class device;

/// Advises whole pages to be on the device, which is started. Throws failure.
void prefer_device(std::uint64_t begin, std::size_t whole, device& where);

} // namespace hmmrt
