// SPDX-License-Identifier: MIT
#include "device_module.hpp"

#include "callers.hpp"
#include "cuda/device_code.hpp"
#include "failures.hpp"
#include "intrinsics.hpp"
#include "kernel.hpp"
#include "names.hpp"
#include "separate_functions.hpp"
#include "shared_variables.hpp"
#include "source_kernels.hpp"

#include <llvm/IR/Constants.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Verifier.h>

namespace hmmcc {
namespace {

/// Instructions before optimization.
constexpr unsigned most_of_small_function = 80;

/// Functions with synchronization points, and their callers.
function_set functions_that_wait(llvm::Module& module) {
    llvm::SmallVector<llvm::Function*, 32> open;
    for (llvm::Function& function : module)
        if (function.isDeclaration() && is_sync_point(intrinsic_named(function.getName())))
            add_users(function, open);
    return with_callers(open);
}

/// Functions that use threadIdx and the like, synchronization points or __shared__ variables, and
/// their callers.
function_set functions_of_threads(llvm::Module& module) {
    llvm::SmallVector<llvm::Function*, 32> open;
    for (llvm::Function& function : module)
        if (function.isDeclaration() && intrinsic_named(function.getName()) != intrinsic::none)
            add_users(function, open);
    for (llvm::GlobalVariable& variable : module.globals())
        if (is_shared_variable(variable)) add_users(variable, open);
    return with_callers(open);
}

/// Internalizes the device half: other code only refers to its kernels and variables.
void make_local(llvm::Module& module, const function_set& kernels) {
    for (llvm::Function& function : module) {
        if (function.isDeclaration() || function.hasAvailableExternallyLinkage()) continue;
        if (function.hasFnAttribute(llvm::Attribute::OptimizeNone)) {
            function.removeFnAttr(llvm::Attribute::OptimizeNone);
            function.removeFnAttr(llvm::Attribute::NoInline);
        }
        if (kernels.contains(&function)) continue;
        function.setLinkage(llvm::GlobalValue::InternalLinkage);
        function.setComdat(nullptr);
    }
    // constructors may have a second name, which is an alias
    for (llvm::GlobalAlias& alias : llvm::make_early_inc_range(module.aliases())) {
        auto* const aliased = llvm::dyn_cast<llvm::Function>(alias.getAliasee());
        if (aliased == nullptr) continue;
        alias.replaceAllUsesWith(aliased);
        alias.eraseFromParent();
    }
    for (llvm::GlobalVariable& variable : module.globals()) {
        // must stay unique: type_info objects are compared by address
        if (variable.getName().starts_with("_ZTI") || variable.getName().starts_with("_ZTS"))
            continue;
        if (!variable.hasLinkOnceLinkage() && !variable.hasWeakLinkage()) continue;
        variable.setLinkage(llvm::GlobalValue::InternalLinkage);
        variable.setComdat(nullptr);
    }
}

const llvm::Instruction& any_instruction(const llvm::Function& function) {
    for (const llvm::Instruction& instruction : llvm::instructions(function))
        if (instruction.getDebugLoc()) return instruction;
    return function.front().front();
}

void make_part_of_callers(llvm::Module& module, const function_set& kernels) {
    const function_set of_threads = functions_of_threads(module);
    const function_set waiting = functions_that_wait(module);
    for (llvm::Function* const function : of_threads) {
        if (kernels.contains(function)) continue;
        const char* const reason = calls_itself(*function, of_threads) ? "calls itself"
                                   : !is_called_only(*function) ? "is called through a pointer"
                                                                : nullptr;
        if (reason != nullptr) {
            if (waiting.contains(function))
                report_error(
                    any_instruction(*function),
                    llvm::Twine(
                        "hmmcc does not support barriers and warp operations in a function that ") +
                        reason);
            continue;
        }
        function->removeFnAttr(llvm::Attribute::NoInline);
        function->addFnAttr(llvm::Attribute::AlwaysInline);
    }
}

/// Inlines helpers before we split their callers, so that we know which values are uniform and
/// which depend on threadIdx.
void inline_small_functions(llvm::Module& module, const function_set& kernels) {
    function_set small;
    for (llvm::Function& function : module)
        if (!function.isDeclaration() && !kernels.contains(&function) &&
            !function.hasFnAttribute(llvm::Attribute::NoInline) &&
            function.getInstructionCount() <= most_of_small_function)
            small.insert(&function);
    for (llvm::Function* const function : small)
        if (!calls_itself(*function, small)) function->addFnAttr(llvm::Attribute::AlwaysInline);
}

/// Inlines functions with assertions and traps if possible, because kernels know the thread that
/// the message names.
void make_failing_part_of_callers(llvm::Module& module, const function_set& kernels) {
    llvm::SmallVector<llvm::Function*, 32> open;
    for (llvm::Function& function : module)
        if (is_failure(function)) add_users(function, open);
    const function_set failing = with_callers(open);
    for (llvm::Function* const function : failing) {
        if (kernels.contains(function) || function->hasFnAttribute(llvm::Attribute::NoInline) ||
            !is_called_only(*function) || calls_itself(*function, failing))
            continue;
        function->addFnAttr(llvm::Attribute::AlwaysInline);
    }
}

// ---- descriptions ----------------------------------------------------------

/// Builds the constants of kernel_code.
class describer {
  public:
    explicit describer(llvm::Module& module)
        : module_(module),
          context_(module.getContext()),
          number_(llvm::Type::getInt32Ty(context_)),
          pointer_(llvm::PointerType::getUnqual(context_)) {}

    /// @shared_owner: NULL if no separate functions use the block's memory.
    void describe(const source_kernel& kernel, const kernel_body& body,
                  llvm::Constant* shared_owner) {
        const std::string name = body.function->getName().str();
        auto* const parameters = constant(parameter_table(kernel));
        auto* const sync_points = constant(sync_point_table(body));
        llvm::Constant* const value = llvm::ConstantStruct::getAnon(
            {body.function, text(name), parameters, sync_points,
             number(static_cast<std::uint32_t>(kernel.parameters.size())),
             number(kernel.argument_bytes), number(body.static_shared), number(body.thread_bytes),
             number(body.array_count), number(body.states()),
             shared_owner == nullptr ? llvm::ConstantPointerNull::get(pointer_) : shared_owner});
        llvm::GlobalVariable* const code = constant(value, device_symbol + name);
        code->setLinkage(llvm::GlobalValue::ExternalLinkage);
        code->setAlignment(llvm::Align(8));
    }

  private:
    llvm::Constant* number(std::uint32_t value) { return llvm::ConstantInt::get(number_, value); }
    llvm::GlobalVariable* constant(llvm::Constant* value, llvm::StringRef name = "") {
        auto* const variable =
            llvm::cast<llvm::GlobalVariable>(module_.getOrInsertGlobal(name, value->getType()));
        variable->setInitializer(value);
        variable->setConstant(true);
        variable->setLinkage(llvm::GlobalValue::PrivateLinkage);
        return variable;
    }
    llvm::Constant* text(llvm::StringRef value) {
        return constant(llvm::ConstantDataArray::getString(context_, value));
    }
    llvm::Constant* table(llvm::ArrayRef<llvm::Constant*> rows) {
        return llvm::ConstantArray::get(llvm::ArrayType::get(rows[0]->getType(), rows.size()),
                                        rows);
    }
    llvm::Constant* parameter_table(const source_kernel& kernel) {
        llvm::SmallVector<llvm::Constant*, 8> rows;
        for (const source_parameter& parameter : kernel.parameters)
            rows.push_back(
                llvm::ConstantStruct::getAnon({number(parameter.offset), number(parameter.size)}));
        if (rows.empty()) rows.push_back(llvm::ConstantStruct::getAnon({number(0), number(0)}));
        return table(rows);
    }
    llvm::Constant* sync_point_row(hmmcuda::sync_kind kind, std::uint32_t line,
                                   llvm::StringRef file) {
        return llvm::ConstantStruct::getAnon(
            {number(static_cast<std::uint32_t>(kind)), number(line), text(file)});
    }
    llvm::Constant* sync_point_table(const kernel_body& body) {
        llvm::SmallVector<llvm::Constant*, 8> rows;
        for (std::uint32_t state = 0; state < 2; state++)
            rows.push_back(sync_point_row(hmmcuda::sync_kind::start, 0, ""));
        for (const sync_point& point : body.sync_points)
            rows.push_back(sync_point_row(point.kind, point.line, point.file));
        return table(rows);
    }

    llvm::Module& module_;
    llvm::LLVMContext& context_;
    llvm::Type* number_;
    llvm::PointerType* pointer_;
};

/// The host half refers to variables by their names with the prefix device_symbol.
void rename_variables(llvm::Module& module) {
    for (llvm::GlobalVariable& variable : module.globals()) {
        const bool has_name = variable.hasExternalLinkage() || variable.hasInternalLinkage();
        if (variable.isDeclaration() || !has_name || is_shared_variable(variable) ||
            variable.getName().starts_with("llvm.") ||
            variable.getName().starts_with(device_symbol))
            continue;
        variable.setName(device_symbol + variable.getName());
        variable.setLinkage(llvm::GlobalValue::ExternalLinkage);
        variable.setVisibility(llvm::GlobalValue::DefaultVisibility);
    }
}

void remove_annotations(llvm::Module& module) {
    if (auto* const list = module.getGlobalVariable("llvm.global.annotations"))
        list->eraseFromParent();
}

/// Removes unused functions and __shared__ variables before the code generator sees them.
void remove_unused(llvm::Module& module) {
    for (llvm::GlobalVariable& variable : llvm::make_early_inc_range(module.globals()))
        if (is_shared_variable(variable)) {
            variable.removeDeadConstantUsers();
            if (variable.use_empty()) variable.eraseFromParent();
        }
    for (bool changed = true; changed;) {
        changed = false;
        for (llvm::Function& function : llvm::make_early_inc_range(module)) {
            function.removeDeadConstantUsers();
            if (!function.use_empty()) continue;
            const bool intrinsic =
                function.isDeclaration() && intrinsic_named(function.getName()) != intrinsic::none;
            if (!intrinsic && !function.hasLocalLinkage() &&
                !function.getName().ends_with(".kernel"))
                continue;
            function.eraseFromParent();
            changed = true;
        }
    }
}

void mark_loads(llvm::Module& module) {
    llvm::MDNode* const mark = llvm::MDNode::get(module.getContext(), {});
    for (llvm::Function& function : module)
        for (llvm::BasicBlock& block : function)
            for (llvm::Instruction& instruction : block)
                if (llvm::isa<llvm::LoadInst>(instruction))
                    instruction.setMetadata(source_load, mark);
}

/// Rejects constant data with the address of a __shared__ variable, which differs between blocks.
void refuse_shared_addresses(llvm::Module& module) {
    for (llvm::GlobalVariable& variable : module.globals()) {
        if (!is_shared_variable(variable)) continue;
        variable.removeDeadConstantUsers();
        if (!variable.use_empty())
            module.getContext().emitError(
                "hmmcc does not support arrays and structs that are "
                "initialized with the address of a __shared__ variable: " +
                variable.getName());
    }
}

} // namespace

llvm::PreservedAnalyses prepare_device_half::run(llvm::Module& module,
                                                 llvm::ModuleAnalysisManager&) {
    function_set kernels;
    for (const source_kernel& kernel : find_kernels(module))
        kernels.insert(kernel.function);
    mark_loads(module);
    make_local(module, kernels);
    make_part_of_callers(module, kernels);
    make_failing_part_of_callers(module, kernels);
    if (optimizes_) inline_small_functions(module, kernels);
    return llvm::PreservedAnalyses::none();
}

llvm::PreservedAnalyses finish_device_half::run(llvm::Module& module,
                                                llvm::ModuleAnalysisManager&) {
    const std::vector<source_kernel> kernels = find_kernels(module);
    remove_annotations(module);
    for (llvm::GlobalVariable& variable : module.globals())
        if (is_shared_variable(variable)) expand_constants(variable);
    rename_variables(module);
    function_set kernel_functions;
    for (const source_kernel& kernel : kernels)
        kernel_functions.insert(kernel.function);
    separate_functions separate(module, kernel_functions);
    if (!separate.open()) return llvm::PreservedAnalyses::none();
    describer descriptions(module);
    for (const source_kernel& kernel : kernels) {
        kernel_body body;
        body.optimizes = optimizes_;
        if (!open_kernel(kernel, body, separate)) continue;
        lower_shared_atomics(body);
        unroll_short_loops(body);
        lockstep_loops(body);
        split_kernel(body);
        close_kernel(body);
        descriptions.describe(kernel, body,
                              body.shares_with_separate ? separate.shared_owner() : nullptr);
        kernel.function->removeDeadConstantUsers();
        if (!kernel.function->use_empty())
            report_error(
                any_instruction(*body.function),
                "hmmcc does not support calls to kernels from device code (dynamic parallelism)");
        if (llvm::verifyFunction(*body.function, &llvm::errs()))
            report_error(
                any_instruction(*body.function),
                "internal error: hmmcc generated invalid code for this kernel; please report this");
    }
    remove_unused(module);
    refuse_shared_addresses(module);
    return llvm::PreservedAnalyses::none();
}

} // namespace hmmcc
