// SPDX-License-Identifier: MIT
/*
 * Signals that device code sends.
 *
 * A signal that would end the program ends the launch instead: abort() in a kernel
 * is an error of the device. One for the calling thread itself could never be
 * delivered, since the borrowed thread blocks all, and ends the launch likewise.
 */
#pragma once

#include <cstdint>

namespace hmmrt {

/// Whom a signal call could hit; asked of the parked thread, without any lock.
class signal_view {
  public:
    virtual ~signal_view() = default;
    virtual std::int32_t process() const = 0;
    virtual std::int32_t process_group() const = 0;
    virtual bool is_own_thread(std::int32_t tid) const = 0;
    virtual bool is_parked_thread(std::int32_t tid) const = 0;
    /// True if the program neither handles nor ignores @signal.
    virtual bool is_default(int signal) const = 0;
    /// The signal that breaks forwarded calls.
    virtual int break_signal() const = 0;
};

/// True if the call must not be executed: the launch ends instead.
bool signal_ends_launch(std::int64_t number, const std::uint64_t (&args)[6],
                        const signal_view& view);

} // namespace hmmrt
