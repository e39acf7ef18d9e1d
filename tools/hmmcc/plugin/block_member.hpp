// SPDX-License-Identifier: MIT
// Members of the block_run that the function of a block gets, and of what else the runtime has.
#pragma once

#include "kernel.hpp"
#include "llvm_compat.hpp"

#include <cstddef>

namespace hmmcc {

/// The address of a member of an object of the runtime, as a pointer to @type.
inline llvm::Value* address_of_member(llvm::IRBuilder<>& builder, llvm::Value* object,
                                      std::size_t offset, llvm::Type* type) {
    llvm::Value* const place =
        builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), object, offset);
    return builder.CreatePointerCast(place, pointer_to(type));
}
/// Of a member of the block_run.
inline llvm::Value* address_of_member(const kernel_body& body, llvm::IRBuilder<>& builder,
                                      std::size_t offset, llvm::Type* type) {
    return address_of_member(builder, body.run, offset, type);
}

} // namespace hmmcc
