// SPDX-License-Identifier: MIT
// The names of options.
#pragma once

#include <string>
#include <string_view>

namespace hmmcc {

/// The short form of one of nvcc's long option names; otherwise the name itself.
std::string short_name(const std::string& name);

/// Options that hmmcc accepts and ignores.
enum class ignored { no, flag, with_value };
ignored is_ignored(const std::string& name);

/// Why hmmcc rejects this option, which may include '=' and a value; empty if it doesn't.
std::string_view refusal_of(const std::string& option);

/// True for an option for clang with a value in the next argument.
bool is_compiler_option_with_value(const std::string& name);
bool is_linker_option_with_value(const std::string& name);
/// True for an option that only the linker gets, without a value in the next argument.
bool is_linker_option(const std::string& option);

/// True if hmmrt's libraries replace -lNAME.
bool is_own_library(const std::string& name);
bool is_missing_library(const std::string& name);

} // namespace hmmcc
