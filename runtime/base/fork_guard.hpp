// SPDX-License-Identifier: MIT
/*
 * Protects the runtime's state in fork()ed children.
 *
 * A child has neither the lanes' threads nor the control block, and the kernel
 * refuses its ioctls. So every call of the interface returns an error in a
 * child. We close the runtime's descriptors there, because a binding only ends
 * when its last descriptor is closed.
 */
#pragma once

namespace hmmrt::fork_guard {

/// Starts the detection of children. Throws failure.
void arm();
bool is_child();

/// Descriptors to close in children. Throws std::bad_alloc.
void add(int fd);
void remove(int fd);

} // namespace hmmrt::fork_guard
