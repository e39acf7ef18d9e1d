// SPDX-License-Identifier: MIT
// A program that needs one kind of advice of hmmctl, in a process of its own. `ADVISED CASE
// CALL...` works on memory at the same address each time, and makes the calls that a profile
// suggests: a CALL is what hmmctl prints. The cases are those of the list in advised_program.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

constexpr std::uint64_t advised_memory = 0x200000000000;
constexpr const char* advised_name = "advised memory";
constexpr std::size_t advised_block = 2u << 20;
