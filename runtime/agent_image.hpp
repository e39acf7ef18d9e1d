// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

extern "C" const char hmmrt_agent_image[], hmmrt_agent_image_end[];

namespace hmmrt {

inline std::size_t agent_image_bytes() {
    return static_cast<std::size_t>(hmmrt_agent_image_end - hmmrt_agent_image);
}

} // namespace hmmrt
