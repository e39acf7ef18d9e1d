// SPDX-License-Identifier: MIT
// The end of the program.
#pragma once

namespace hmmrt {

/// For the process, once: an exit of the program notes failures at which it has
/// not looked.
void guard_exit_of_process();

} // namespace hmmrt
