// SPDX-License-Identifier: MIT
// Programs and libraries that hmmctl needs.
#pragma once

#include <string>
#include <vector>

namespace hmmctl {

/// Returns the path of a program or library that belongs to hmmctl, in hmmctl's folder or in the
/// folder where such files are installed. Throws failure if neither has it.
std::string helper_file(const char* name);

/// Runs a program with @input as its standard input, waits for it, and returns its standard output.
/// It inherits our standard error, where it reports its own errors. Throws failure with @if_failed
/// if its exit status isn't 0, with @if_missing if it can't be started, and if a signal kills it.
std::string output_of(const std::vector<std::string>& command, const std::string& input,
                      const std::string& if_failed, const std::string& if_missing);

} // namespace hmmctl
