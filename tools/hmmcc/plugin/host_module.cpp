// SPDX-License-Identifier: MIT
/*
 * The host half of a file registers its kernels and variables with the runtime.
 *
 * clang passes their names. We pass the kernel_code instead of a kernel's name, and
 * make the host's shadow of a device variable the variable itself, because there is
 * one address space.
 */
#include "device_module.hpp"
#include "names.hpp"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

namespace hmmcc {
namespace {

llvm::StringRef text_of(const llvm::Value* pointer) {
    const auto* const variable =
        llvm::dyn_cast<llvm::GlobalVariable>(pointer->stripInBoundsConstantOffsets());
    if (variable == nullptr || !variable->hasInitializer()) return {};
    const auto* const text = llvm::dyn_cast<llvm::ConstantDataArray>(variable->getInitializer());
    return text == nullptr ? llvm::StringRef() : text->getAsCString();
}

llvm::SmallVector<llvm::CallInst*, 8> calls_of(llvm::Module& module, llvm::StringRef name) {
    llvm::SmallVector<llvm::CallInst*, 8> found;
    if (llvm::Function* const function = module.getFunction(name))
        for (llvm::User* const user : function->users())
            if (auto* const call = llvm::dyn_cast<llvm::CallInst>(user)) found.push_back(call);
    return found;
}

/// __cudaRegisterFunction(handle, stub, name, name, ...): the third argument becomes the code.
void connect_kernel(llvm::Module& module, llvm::CallInst& call) {
    const std::string name = (device_symbol + text_of(call.getArgOperand(3))).str();
    llvm::Type* const byte = llvm::Type::getInt8Ty(module.getContext());
    llvm::Constant* const code = module.getOrInsertGlobal(name, byte);
    call.setArgOperand(2, code);
}

/// Variables that are declared as __managed__.
llvm::SmallPtrSet<const llvm::Value*, 8> managed_variables(const llvm::Module& module) {
    llvm::SmallPtrSet<const llvm::Value*, 8> found;
    const llvm::GlobalVariable* const list = module.getGlobalVariable("llvm.global.annotations");
    if (list == nullptr || !list->hasInitializer()) return found;
    for (const llvm::Use& entry : list->getInitializer()->operands()) {
        const auto* const row = llvm::cast<llvm::ConstantStruct>(entry);
        if (text_of(row->getOperand(1)) == managed_annotation)
            found.insert(row->getOperand(0)->stripPointerCasts());
    }
    return found;
}

/// __cudaRegisterVar(handle, variable, name, name, ..., managed)
void connect_variable(llvm::CallInst& call, bool managed) {
    auto* const shadow =
        llvm::dyn_cast<llvm::GlobalVariable>(call.getArgOperand(1)->stripPointerCasts());
    if (shadow == nullptr) return;
    const unsigned last = call.arg_size() - 1;
    call.setArgOperand(last, llvm::ConstantInt::get(call.getArgOperand(last)->getType(), managed));
    shadow->setName(device_symbol + text_of(call.getArgOperand(3)));
    shadow->setInitializer(nullptr);
    shadow->setLinkage(llvm::GlobalValue::ExternalLinkage);
    shadow->setConstant(false);
    shadow->setExternallyInitialized(false);
    shadow->setVisibility(llvm::GlobalValue::DefaultVisibility);
    shadow->setComdat(nullptr);
    shadow->setDSOLocal(true);
    shadow->eraseMetadata(llvm::LLVMContext::MD_dbg);
}

/// Static initializers may launch kernels, so register this file's kernels before they run.
void register_first(llvm::Module& module) {
    constexpr std::uint64_t first = 101; // lower priorities are reserved
    auto* const list = module.getGlobalVariable("llvm.global_ctors");
    if (list == nullptr || !list->hasInitializer()) return;
    auto* const constructors = llvm::dyn_cast<llvm::ConstantArray>(list->getInitializer());
    if (constructors == nullptr) return;
    llvm::SmallVector<llvm::Constant*, 8> changed;
    for (llvm::Value* const each : constructors->operands()) {
        auto* const constructor = llvm::cast<llvm::Constant>(each);
        llvm::Constant* const function = constructor->getAggregateElement(1U);
        if (function->stripPointerCasts()->getName() == "__cuda_module_ctor")
            changed.push_back(llvm::ConstantStruct::get(
                llvm::cast<llvm::StructType>(constructor->getType()),
                {llvm::ConstantInt::get(constructor->getAggregateElement(0U)->getType(), first),
                 function, constructor->getAggregateElement(2U)}));
        else
            changed.push_back(constructor);
    }
    list->setInitializer(llvm::ConstantArray::get(constructors->getType(), changed));
}

} // namespace

llvm::PreservedAnalyses connect_host_half::run(llvm::Module& module, llvm::ModuleAnalysisManager&) {
    for (llvm::CallInst* const call : calls_of(module, "__cudaRegisterFunction"))
        connect_kernel(module, *call);
    const auto managed = managed_variables(module);
    for (llvm::CallInst* const call : calls_of(module, "__cudaRegisterVar"))
        connect_variable(*call, managed.contains(call->getArgOperand(1)->stripPointerCasts()));
    register_first(module);
    return llvm::PreservedAnalyses::none();
}

} // namespace hmmcc
