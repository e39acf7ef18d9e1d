// SPDX-License-Identifier: MIT
// Device code uses instructions that not every processor has.
#pragma once

#include <string_view>

namespace hmmcuda {

/// The first feature of this -march= that the processor lacks; NULL if it has all, or the name
/// is none of x86-64-v2 to x86-64-v4.
const char* missing_feature(std::string_view architecture);
/// Ends the program with a message if the processor lacks a feature.
void require_processor(const char* architecture);

} // namespace hmmcuda
