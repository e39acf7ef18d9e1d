// SPDX-License-Identifier: MIT
// A program that uses the devices while hmmctl observes it, in a process of its own. `OBSERVED
// --counted` is different: it uses the devices, writes own_words to standard output, and exits.
#pragma once

#include <hmm/hmm.hpp>

#include <cstdint>
#include <sys/types.h>

/// The program's report about itself.
struct own_words {
    hmmStats stats[2]; ///< of devices 0 and 1
    std::uint64_t used_bytes[2];
    std::uint64_t laid_out; ///< address of lay_out()'s memory, 0 before the call
};

class observed {
  public:
    /// Starts the program, and waits until it is idle.
    observed();
    observed(const observed&) = delete;
    observed& operator=(const observed&) = delete;
    ~observed();

    pid_t pid() const { return pid_; }
    /// Asks the program for its report.
    own_words ask() const { return send('?'); }
    /// Lets it use the devices again. Returns its report afterwards.
    own_words use() const { return send('u'); }
    /// Lets it map three contiguous parts of 2 MiB: prefetched to device 0, written by the CPU, and
    /// untouched with device 1 as the preferred location. Returns its report afterwards.
    own_words lay_out() const { return send('l'); }

  private:
    own_words send(char wish) const;

    pid_t pid_ = -1;
    int to_ = -1, from_ = -1;
};
