// SPDX-License-Identifier: MIT
// Members of the block_run that the function of a block gets.
#pragma once

#include "kernel.hpp"
#include "llvm_compat.hpp"

#include <cstddef>

namespace hmmcc {

/// The address of a member, as a pointer to @type.
inline llvm::Value* address_of_member(const kernel_body& body, llvm::IRBuilder<>& builder,
                                      std::size_t offset, llvm::Type* type) {
    llvm::Value* const place =
        builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), body.run, offset);
    return builder.CreatePointerCast(place, pointer_to(type));
}

} // namespace hmmcc
