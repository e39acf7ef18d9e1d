// SPDX-License-Identifier: MIT
// Compiles and links the files of hmmcc's command line.
#pragma once

#include "options.hpp"
#include "paths.hpp"

namespace hmmcc {

/// Returns the exit status.
int build(const options& wanted, const tool_paths& paths);

} // namespace hmmcc
