// SPDX-License-Identifier: MIT
// The names of options.
#pragma once

#include <string>
#include <string_view>

namespace hmmcc {

/// The short name of an option, which nvcc has a long name for; otherwise the name itself.
std::string short_name(const std::string& name);

/// What hmmcc takes and does not need.
enum class ignored { no, flag, with_value };
ignored is_ignored(const std::string& name);

/// Why hmmcc refuses this option, which may have a value behind '='; empty: it does not.
std::string_view refusal_of(const std::string& option);

/// For clang and with a value in the next argument.
bool is_compiler_option_with_value(const std::string& name);
bool is_linker_option_with_value(const std::string& name);
/// An option of the linker alone, which has its value with it or none.
bool is_linker_option(const std::string& option);

/// The library -lNAME is a part of hmmrt's.
bool is_own_library(const std::string& name);
bool is_missing_library(const std::string& name);

} // namespace hmmcc
