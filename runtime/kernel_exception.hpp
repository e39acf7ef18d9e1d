// SPDX-License-Identifier: MIT
/*
 * Exceptions that leave a kernel.
 *
 * The lane keeps the exception in a table of this library, by its thread, and
 * ends the launch. The program takes it from there and gets it with the error.
 * Both processes have the same memory, so the exception stays where it is. The
 * record of the fault has no pointer to it: the program does not follow
 * pointers in the control block, which any device code can write.
 */
#pragma once

#include <cstdint>
#include <exception>

namespace hmmrt {

/// Takes the exception that a lane has kept; empty if there is none. @thread is
/// the lane's FS base. @text gets type and text.
std::exception_ptr take_kernel_exception(std::uint64_t thread, char (&text)[512]);

/// Remembers the exception behind the last failed call of this thread; empty:
/// forgets it.
void remember_exception(const std::exception_ptr& original);

} // namespace hmmrt
