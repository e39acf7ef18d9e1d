// SPDX-License-Identifier: MIT
/*
 * Signals that device code sends.
 *
 * A signal that would end the program ends the launch instead, so that abort()
 * in a kernel is an error of the device. A signal to the calling thread itself
 * also ends the launch: the parked thread blocks all signals, so it could never
 * be delivered.
 */
#pragma once

#include <cstdint>

namespace hmmrt {

/// Answers questions about possible targets of a signal call. The parked thread
/// asks them and must not take locks.
class signal_view {
  public:
    virtual ~signal_view() = default;
    virtual std::int32_t process() const = 0;
    virtual std::int32_t process_group() const = 0;
    virtual bool is_own_thread(std::int32_t tid) const = 0;
    virtual bool is_parked_thread(std::int32_t tid) const = 0;
    /// True if the program neither handles nor ignores @signal.
    virtual bool is_default(int signal) const = 0;
    /// The signal that interrupts forwarded calls.
    virtual int break_signal() const = 0;
};

/// True if the call must end the launch instead of being executed.
bool signal_ends_launch(std::int64_t number, const std::uint64_t (&args)[6],
                        const signal_view& view);

} // namespace hmmrt
