// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace hmmctl {

/// Returns the path of a program or library that belongs to hmmctl, in hmmctl's folder or in the
/// folder where such files are installed. Throws failure if neither has it.
std::string helper_file(const char* name);

} // namespace hmmctl
