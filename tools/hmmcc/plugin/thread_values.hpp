// SPDX-License-Identifier: MIT
// How values depend on the thread's number, before the kernel is split.
#pragma once

#include "kernel.hpp"

namespace hmmcc {

/// How a value changes along a row of threads.
enum class along_row {
    same,      ///< the same for the whole row
    next,      ///< larger by one for the next thread
    scattered, ///< in any other way
};

/// True if the value depends on threadIdx or the thread's number.
bool follows_thread(const kernel_body& body, const llvm::Value& value);
/// True if the value depends on nothing but values that are fixed for the launch or block.
bool is_of_launch(const kernel_body& body, const llvm::Value& value);
/// For integers and addresses. An address counts in elements of its type. @uniform: values that are
/// known to be uniform.
along_row value_along_row(const kernel_body& body, const llvm::Value& value,
                          const llvm::DenseSet<const llvm::Value*>& uniform);

} // namespace hmmcc
