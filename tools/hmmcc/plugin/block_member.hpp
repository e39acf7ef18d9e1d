// SPDX-License-Identifier: MIT
// Addresses of members of the block_run, and of other objects of the runtime.
#pragma once

#include "kernel.hpp"

#include <cstddef>

namespace hmmcc {

inline llvm::Value* address_of_member(llvm::IRBuilder<>& builder, llvm::Value* object,
                                      std::size_t offset) {
    return builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), object, offset);
}
inline llvm::Value* address_of_member(const kernel_body& body, llvm::IRBuilder<>& builder,
                                      std::size_t offset) {
    return address_of_member(builder, body.run, offset);
}

} // namespace hmmcc
