// SPDX-License-Identifier: MIT
// How values follow from the thread's number, before the kernel is cut.
#pragma once

#include "kernel.hpp"

namespace hmmcc {

/// How a value differs between neighbours in a row of threads.
enum class along_row {
    same,      ///< it does not
    next,      ///< that of the next thread is larger by one
    scattered, ///< in another way
};

/// True if the value is computed from the thread's number.
bool follows_thread(const kernel_body& body, const llvm::Value& value);
/// True if the value is computed from values of the launch.
bool is_of_launch(const kernel_body& body, const llvm::Value& value);
/// Of whole numbers and addresses; for addresses, of the elements that they are of. @common: values
/// that are the same for all threads.
along_row value_along_row(const kernel_body& body, const llvm::Value& value,
                          const llvm::DenseSet<const llvm::Value*>& common);

} // namespace hmmcc
