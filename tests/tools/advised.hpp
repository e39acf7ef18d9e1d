// SPDX-License-Identifier: MIT
// A program that needs one kind of hmmctl's advice. `ADVISED CASE CALL...` works on memory at the
// same address each time, and makes the calls that a profile suggests, in the form in which hmmctl
// prints them. advised_program.cpp has the list of cases.
#pragma once

#include <cstddef>
#include <cstdint>

constexpr std::uint64_t advised_memory = 0x200000000000;
constexpr const char* advised_name = "advised memory";
constexpr std::size_t advised_block = 2u << 20;
