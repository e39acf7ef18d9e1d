// SPDX-License-Identifier: MIT
#include "source_kernels.hpp"

#include "names.hpp"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/GlobalVariable.h>
#include <llvm/Support/MathExtras.h>

namespace hmmcc {
namespace {

source_parameter parse_parameter(llvm::StringRef text) {
    source_parameter parameter;
    text.consumeInteger(10, parameter.size);
    text.consume_front(".");
    text.consumeInteger(10, parameter.alignment);
    parameter.pointer = text == "p";
    return parameter;
}

source_kernel parse_kernel(llvm::Function& function, llvm::StringRef text) {
    source_kernel kernel;
    kernel.function = &function;
    llvm::SmallVector<llvm::StringRef, 8> parts;
    text.split(parts, ',', -1, false);
    for (const llvm::StringRef part : parts) {
        source_parameter parameter = parse_parameter(part);
        parameter.offset =
            static_cast<std::uint32_t>(llvm::alignTo(kernel.argument_bytes, parameter.alignment));
        kernel.argument_bytes = parameter.offset + parameter.size;
        kernel.parameters.push_back(parameter);
    }
    return kernel;
}

} // namespace

std::vector<source_kernel> find_kernels(llvm::Module& module) {
    std::vector<source_kernel> found;
    const llvm::GlobalVariable* const list = module.getGlobalVariable("llvm.global.annotations");
    if (list == nullptr) return found;
    const auto* const entries = llvm::dyn_cast<llvm::ConstantArray>(list->getInitializer());
    if (entries == nullptr) return found;
    llvm::SmallPtrSet<const llvm::Function*, 8> seen; // a prototype has the same annotation
    for (const llvm::Use& entry : entries->operands()) {
        const auto* const row = llvm::cast<llvm::ConstantStruct>(entry);
        auto* const function =
            llvm::dyn_cast<llvm::Function>(row->getOperand(0)->stripPointerCasts());
        const auto* const name =
            llvm::dyn_cast<llvm::GlobalVariable>(row->getOperand(1)->stripPointerCasts());
        if (function == nullptr || name == nullptr || function->isDeclaration()) continue;
        llvm::StringRef text =
            llvm::cast<llvm::ConstantDataArray>(name->getInitializer())->getAsCString();
        if (text.consume_front(kernel_annotation) && seen.insert(function).second)
            found.push_back(parse_kernel(*function, text));
    }
    return found;
}

} // namespace hmmcc
