// SPDX-License-Identifier: MIT
// Runs helper programs.
#pragma once

#include <string>
#include <vector>

namespace hmmctl {

/// Runs a program with @input as its standard input, waits for it, and returns its standard output.
/// It inherits our standard error, where it reports its own errors. Throws failure with @if_failed
/// if its exit status isn't 0, with @if_missing if it can't be started, and if a signal kills it.
std::string output_of(const std::vector<std::string>& command, const std::string& input,
                      const std::string& if_failed, const std::string& if_missing);

} // namespace hmmctl
