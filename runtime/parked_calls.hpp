// SPDX-License-Identifier: MIT
// Executing one forwarded call, on a thread whose TLS is in use by its lane.
#pragma once

#include "parked_thread.hpp"

namespace hmmrt {

/// @self is the calling thread's lane; returns the result for it.
std::int64_t execute_forwarded_call(parked_context& context, control& ctl, std::uint32_t self);

} // namespace hmmrt
