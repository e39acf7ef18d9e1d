// SPDX-License-Identifier: MIT
// What hmmcc does with the files of its command line.
#pragma once

#include "options.hpp"
#include "paths.hpp"

namespace hmmcc {

/// Returns the exit status.
int build(const options& wanted, const tool_paths& paths);

} // namespace hmmcc
