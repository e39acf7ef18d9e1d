// SPDX-License-Identifier: MIT
/*
 * What a fork()ed child must not do with our state.
 *
 * The child has neither the lanes' threads nor the control block, and the kernel
 * refuses its ioctls; every call of the interface returns an error there. Our
 * descriptors are closed in the child, for a binding ends with its last one.
 */
#pragma once

namespace hmmrt::fork_guard {

/// From now on, children are told apart. Throws failure.
void arm();
bool is_child();

/// Descriptors to close in children.
void add(int fd);
void remove(int fd);

} // namespace hmmrt::fork_guard
