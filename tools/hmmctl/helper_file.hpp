// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace hmmctl {

/// Returns a program or library that belongs to hmmctl: from the folder of hmmctl, or from where
/// such files are installed. Throws failure if there is none.
std::string helper_file(const char* name);

} // namespace hmmctl
