// SPDX-License-Identifier: MIT
// Registers our passes at the start of clang's pipeline.
#include "device_module.hpp"
#include "frontend.hpp"

#include <llvm/Passes/PassBuilder.h>
#if __has_include(<llvm/Plugins/PassPlugin.h>) // LLVM 22
#include <llvm/Plugins/PassPlugin.h>
#else
#include <llvm/Passes/PassPlugin.h>
#endif
#include <llvm/Transforms/IPO/AlwaysInliner.h>
#include <llvm/Transforms/IPO/GlobalDCE.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

namespace {

void add_device_passes(llvm::ModulePassManager& passes, bool optimizes) {
    passes.addPass(hmmcc::prepare_device_half(optimizes));
    passes.addPass(llvm::AlwaysInlinerPass(false));
    llvm::FunctionPassManager of_function;
    of_function.addPass(llvm::SROAPass(llvm::SROAOptions::PreserveCFG));
    of_function.addPass(llvm::EarlyCSEPass(true));
    of_function.addPass(llvm::SimplifyCFGPass());
    of_function.addPass(llvm::InstCombinePass());
    of_function.addPass(llvm::SimplifyCFGPass());
    passes.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(of_function)));
    passes.addPass(hmmcc::finish_device_half(optimizes));
}

void register_passes(llvm::PassBuilder& builder) {
    builder.registerPipelineStartEPCallback(
        [](llvm::ModulePassManager& passes, llvm::OptimizationLevel level) {
            if (hmmcc::compiles_device_half())
                add_device_passes(passes, level != llvm::OptimizationLevel::O0);
            else
                passes.addPass(hmmcc::connect_host_half());
        });
}

} // namespace

extern "C" LLVM_ATTRIBUTE_WEAK llvm::PassPluginLibraryInfo llvmGetPassPluginInfo() {
    return {LLVM_PLUGIN_API_VERSION, "hmmcc", "1", register_passes};
}
