// SPDX-License-Identifier: MIT
// A program on the device that hmmctl looks at, in a process of its own.
#pragma once

#include <hmm/hmm.hpp>

#include <cstdint>
#include <sys/types.h>

/// What the program says about itself.
struct own_words {
    hmmStats stats[2]; ///< of devices 0 and 1
    std::uint64_t used_bytes[2];
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

  private:
    own_words send(char wish) const;

    pid_t pid_ = -1;
    int to_ = -1, from_ = -1;
};

/// The program itself: it answers each byte of standard input, until that ends.
int run_observed();

/// Another program: it uses the devices, writes own_words to standard output, and ends at once, so
/// that what it says is all that it did.
int run_counted();
