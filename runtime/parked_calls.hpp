// SPDX-License-Identifier: MIT
// Executes one forwarded call, on a thread whose lane is using its TLS.
#pragma once

#include "parked_thread.hpp"

namespace hmmrt {

/// @self is the lane of the calling thread. Returns the result for the lane.
std::int64_t execute_forwarded_call(parked_context& context, control& ctl, std::uint32_t self);

} // namespace hmmrt
