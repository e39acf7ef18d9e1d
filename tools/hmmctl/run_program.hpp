// SPDX-License-Identifier: MIT
// Programs that work for hmmctl.
#pragma once

#include <string>
#include <vector>

namespace hmmctl {

/// Runs a program to its end, and returns what it printed. It reads @input, and shares standard
/// error: there it says why it fails. Throws failure with @if_failed if it ends with another
/// status than 0, with @if_missing if it cannot be started, and if a signal ends it.
std::string output_of(const std::vector<std::string>& command, const std::string& input,
                      const std::string& if_failed, const std::string& if_missing);

} // namespace hmmctl
