// SPDX-License-Identifier: MIT
/*
 * Signals raised by instructions, on the cpu device. Those of device code end
 * the launch, and the program's own are delivered as the kernel would without
 * this library.
 *
 * The library's handler must be installed while device code runs, but the program may install its
 * own at any time. So lanes check before they run device code, and replace what they find. A
 * handler of the program may call the one that it replaced, or install it again; by then that is
 * the library's. So for each action that it replaces, the library has a separate function, which
 * passes signals on to that action. If signal() installs such a function again, flags are missing
 * until lanes check again.
 */
#pragma once

#include <csignal>

namespace hmmrt {

/// Called first in the handler; doesn't return if the signal belongs to device code. A handler of
/// the program that calls the library's may pass anything for @info and @context, since a handler
/// installed by signal() has neither.
using device_signal_handler = void (*)(int signal, siginfo_t* info, void* context);

/// True if @info is valid for @signal.
bool has_info(int signal, const siginfo_t* info);

/// Installs the handlers, again if the program has replaced them. They block @stop_signal.
void take_program_signals(device_signal_handler first, int stop_signal);

} // namespace hmmrt
