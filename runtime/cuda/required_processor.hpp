// SPDX-License-Identifier: MIT
// Checks that the processor has the instructions that device code uses.
#pragma once

#include <string_view>

namespace hmmcuda {

/// The first feature of this -march= that the processor lacks. NULL if it has all, or if the name
/// isn't one of x86-64-v2 to x86-64-v4.
const char* missing_feature(std::string_view architecture);
/// Ends the program with a message if the processor lacks a feature.
void require_processor(const char* architecture);

} // namespace hmmcuda
