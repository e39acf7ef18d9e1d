// SPDX-License-Identifier: MIT
// A program on the device that hmmctl looks at, in a process of its own. `OBSERVED --counted` is
// another: it uses the devices, writes own_words to standard output, and ends.
#pragma once

#include <hmm/hmm.hpp>

#include <cstdint>
#include <sys/types.h>

/// What the program says about itself.
struct own_words {
    hmmStats stats[2]; ///< of devices 0 and 1
    std::uint64_t used_bytes[2];
    std::uint64_t laid_out; ///< address of what lay_out() made, 0 before
};

class observed {
  public:
    /// Starts the program, and waits until it is idle.
    observed();
    observed(const observed&) = delete;
    observed& operator=(const observed&) = delete;
    ~observed();

    pid_t pid() const { return pid_; }
    /// Asks the program.
    own_words ask() const { return send('?'); }
    /// Lets it use the devices again. Returns what it says afterwards.
    own_words use() const { return send('u'); }
    /// Lets it map three times 2 MiB in a row: on device 0 by a prefetch, written by the CPU, and
    /// untouched with device 1 as the preferred location. Returns what it says afterwards.
    own_words lay_out() const { return send('l'); }

  private:
    own_words send(char wish) const;

    pid_t pid_ = -1;
    int to_ = -1, from_ = -1;
};
