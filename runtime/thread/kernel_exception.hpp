// SPDX-License-Identifier: MIT
/*
 * Exceptions that leave a kernel.
 *
 * The lane stores the exception in a table of this library, indexed by its
 * thread, and ends the launch. The program takes it from there and gets it with
 * the error. Both processes share the memory, so the exception doesn't move.
 * The fault record has no pointer to it, because we don't follow pointers in
 * the control block, which device code can overwrite.
 */
#pragma once

#include <cstdint>
#include <exception>

namespace hmmrt {

/// Takes the exception that a lane stored; empty if there is none. @thread is
/// the lane's FS base. @text receives the exception's type and message.
std::exception_ptr take_kernel_exception(std::uint64_t thread, char (&text)[512]);

} // namespace hmmrt
