// SPDX-License-Identifier: MIT
#pragma once

#include <stdexcept>

namespace hmmctl {

/// A command failed. Its text is for the user; the exit status is 1.
class failure : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

} // namespace hmmctl
