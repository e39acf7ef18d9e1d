// SPDX-License-Identifier: MIT
/*
 * Signals that instructions raise, on the cpu device: those of device code end
 * the launch, and the program's own are delivered as the kernel delivers them
 * without this library.
 *
 * The library's handler has to be installed when device code runs, and the
 * program may install one of its own at any time, so lanes look before they run
 * device code. What they find is kept and replaced. A handler of the program may
 * call the one that it replaced, or install it again. That one is the library's
 * at that time: for each action that it replaces it has another function, which
 * passes signals on to that action. Installed again by signal(), it lacks flags
 * until lanes look again.
 */
#pragma once

#include <csignal>

namespace hmmrt {

/// Called first, in the handler; does not return if the signal is device code's.
/// A handler of the program that calls the library's may pass anything for
/// @info and @context: one that signal() installed has neither.
using device_signal_handler = void (*)(int signal, siginfo_t* info, void* context);

/// True if @info is that of a signal.
bool has_info(int signal, const siginfo_t* info);

/// Installs handlers, or installs them again if the program has installed others.
/// They block @stop_signal.
void take_program_signals(device_signal_handler first, int stop_signal);

} // namespace hmmrt
