// SPDX-License-Identifier: MIT
#include "separate_functions.hpp"

#include "block_member.hpp"
#include "failures.hpp"
#include "intrinsics.hpp"
#include "names.hpp"
#include "shared_variables.hpp"

#include <llvm/ADT/MapVector.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Verifier.h>

#include <cstddef>

namespace hmmcc {
namespace {

using hmmcuda::block_run;
using hmmcuda::current_thread;
using hmmcuda::kernel_code;

bool has_sync_point(llvm::Function& function) {
    return llvm::any_of(llvm::instructions(function), [](const llvm::Instruction& instruction) {
        const auto* const call = llvm::dyn_cast<llvm::CallBase>(&instruction);
        return call != nullptr && is_sync_point(intrinsic_of(*call));
    });
}

bool uses_shared_variable(const llvm::Instruction& instruction) {
    return llvm::any_of(instruction.operands(), [](const llvm::Use& operand) {
        const auto* const variable = llvm::dyn_cast<llvm::GlobalVariable>(operand.get());
        return variable != nullptr && is_shared_variable(*variable);
    });
}

bool uses_place(const llvm::Instruction& instruction) {
    const auto* const call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    if (call != nullptr && intrinsic_of(*call) != intrinsic::none) return true;
    if (call != nullptr && call->getCalledFunction() != nullptr &&
        is_failure(*call->getCalledFunction()))
        return true;
    return uses_shared_variable(instruction);
}

const llvm::Function* called_function(const llvm::CallBase& call) {
    return llvm::dyn_cast<llvm::Function>(call.getCalledOperand()->stripPointerCasts());
}

/// True for functions of the C library and of hmmrt that don't call back into the program.
bool calls_nothing(llvm::StringRef name) {
    static constexpr const char* names[] = {"printf", "vprintf", "puts",    "putchar", "free",
                                            "memcpy", "memmove", "memset",  "memcmp",  "realloc",
                                            "strlen", "strcmp",  "strncmp", "strcpy"};
    return llvm::is_contained(names, name) || name.starts_with("__hmm_");
}

/// True if the call may run a function that this file doesn't call directly: one called through a
/// pointer, or a callback from another library.
bool leads_out(const llvm::CallBase& call) {
    if (call.isInlineAsm()) return false;
    const llvm::Function* const called = called_function(call);
    if (called == nullptr) return true;
    if (!called->isDeclaration() || called->isIntrinsic() || calls_nothing(called->getName()))
        return false;
    return llvm::any_of(
        call.args(), [](const llvm::Use& argument) { return argument->getType()->isPointerTy(); });
}

/// A function of the runtime that returns a current_thread.
llvm::FunctionCallee of_place(llvm::Module& module, const char* name,
                              llvm::ArrayRef<llvm::Type*> parameters) {
    llvm::FunctionCallee found = module.getOrInsertFunction(
        name, llvm::FunctionType::get(llvm::PointerType::getUnqual(module.getContext()), parameters,
                                      false));
    if (auto* const function = llvm::dyn_cast<llvm::Function>(found.getCallee())) {
        function->setDoesNotThrow();
        function->setWillReturn();
    }
    return found;
}

/// Emits code that reads the current_thread of the current lane.
class place_reader {
  public:
    explicit place_reader(llvm::Instruction& before) : builder_(&before) {
        llvm::FunctionCallee get = of_place(*before.getModule(), "__hmm_current_thread", {});
        // the pointer that it returns lives in the runtime, and stays the same for an OS thread
        auto* const function = llvm::cast<llvm::Function>(get.getCallee());
        function->setOnlyReadsMemory();
        function->setOnlyAccessesInaccessibleMemory();
        place_ = builder_.CreateCall(get);
    }

    llvm::IRBuilder<>& builder() { return builder_; }
    llvm::Value* number(std::size_t offset) { return load(place_, offset, builder_.getInt32Ty()); }
    llvm::Value* run() { return pointer(place_, offsetof(current_thread, run)); }
    llvm::Value* of_block(std::size_t offset) { return load(run(), offset, builder_.getInt32Ty()); }
    llvm::Value* shared() { return pointer(run(), offsetof(block_run, shared)); }
    /// The start of the block's dynamic shared memory.
    llvm::Value* dynamic_shared() {
        llvm::Value* const kernel = pointer(run(), offsetof(block_run, kernel));
        llvm::Value* const bytes =
            load(kernel, offsetof(kernel_code, static_shared), builder_.getInt32Ty());
        return builder_.CreateInBoundsGEP(builder_.getInt8Ty(), shared(),
                                          builder_.CreateZExt(bytes, builder_.getInt64Ty()));
    }

  private:
    llvm::Value* load(llvm::Value* object, std::size_t offset, llvm::Type* type) {
        return builder_.CreateLoad(type, address_of_member(builder_, object, offset));
    }
    llvm::Value* pointer(llvm::Value* object, std::size_t offset) {
        return load(object, offset, builder_.getPtrTy());
    }

    llvm::IRBuilder<> builder_;
    llvm::Value* place_;
};

/// The value of an intrinsic for threadIdx, blockDim and the like.
llvm::Value* position(llvm::CallBase& call, intrinsic what) {
    place_reader reader(call);
    const auto at = [&](std::size_t first) {
        const auto* const number = llvm::dyn_cast<llvm::ConstantInt>(call.getArgOperand(0));
        const std::uint64_t i = number == nullptr ? 0 : number->getZExtValue() % 3;
        return first + i * sizeof(std::uint32_t);
    };
    switch (what) {
    case intrinsic::thread_index:
        return reader.number(at(offsetof(current_thread, thread_index)));
    case intrinsic::thread_rank:
        return reader.number(offsetof(current_thread, rank));
    case intrinsic::block_index:
        return reader.of_block(at(offsetof(block_run, index)));
    case intrinsic::block_size:
        return reader.of_block(at(offsetof(block_run, block)));
    case intrinsic::grid_size:
        return reader.of_block(at(offsetof(block_run, grid)));
    default:
        return reader.of_block(offsetof(block_run, cooperative));
    }
}

void replace_positions(llvm::Function& function) {
    for (llvm::Instruction& instruction :
         llvm::make_early_inc_range(llvm::instructions(function))) {
        auto* const call = llvm::dyn_cast<llvm::CallBase>(&instruction);
        const intrinsic what = call == nullptr ? intrinsic::none : intrinsic_of(*call);
        if (what == intrinsic::none) continue;
        call->replaceAllUsesWith(position(*call, what));
        call->eraseFromParent();
    }
}

} // namespace

separate_functions::separate_functions(llvm::Module& module, const function_set& kernels)
    : module_(module) {
    for (llvm::Function& function : module) {
        if (function.isDeclaration() || kernels.contains(&function) || function.use_empty() ||
            has_sync_point(function))
            continue;
        if (llvm::any_of(llvm::instructions(function), uses_place))
            readers_.functions.push_back(&function);
        if (llvm::any_of(llvm::instructions(function), uses_shared_variable))
            sharing_.functions.push_back(&function);
    }
    readers_.by_pointer = true; // by functions of other files, too
    find_callers(readers_, kernels);
    find_callers(sharing_, kernels);
}

void separate_functions::find_callers(reached& of, const function_set& kernels) {
    llvm::SmallVector<llvm::Function*, 16> open = of.functions;
    for (llvm::Function* const each : with_callers(open))
        if (!kernels.contains(each) && !is_called_only(*each)) of.by_pointer = true;
    open = of.functions;
    for (llvm::Function& function : module_)
        for (const llvm::Instruction& instruction : llvm::instructions(function))
            if (const auto* const call = llvm::dyn_cast<llvm::CallBase>(&instruction))
                if (of.by_pointer && leads_out(*call)) open.push_back(&function);
    of.reaching = with_callers(open);
}

bool separate_functions::may_run_in(const llvm::CallBase& call) const {
    return leads_out(call) || readers_.reaching.contains(called_function(call));
}

bool separate_functions::may_share_in(const llvm::CallBase& call) const {
    return (sharing_.by_pointer && leads_out(call)) ||
           sharing_.reaching.contains(called_function(call));
}

const std::uint64_t* separate_functions::shared_offset(const llvm::GlobalVariable& variable) const {
    const auto found = shared_.find(&variable);
    return found == shared_.end() ? nullptr : &found->second;
}

llvm::Constant* separate_functions::shared_owner() {
    constexpr const char* name = "__hmm_shared_owner";
    auto* const owner = llvm::cast<llvm::GlobalVariable>(
        module_.getOrInsertGlobal(name, llvm::Type::getInt8Ty(module_.getContext())));
    owner->setInitializer(llvm::ConstantInt::get(owner->getValueType(), 0));
    owner->setLinkage(llvm::GlobalValue::PrivateLinkage);
    return owner;
}

/// Emits the variable's address in the entry of the function. A check there ends kernels that have
/// not reserved memory for it.
llvm::Value* separate_functions::shared_place(llvm::GlobalVariable& variable,
                                              llvm::Function& function) {
    place_reader reader(*function.getEntryBlock().getFirstInsertionPt());
    llvm::IRBuilder<>& builder = reader.builder();
    llvm::Value* place = nullptr;
    if (has_open_length(variable)) {
        place = reader.dynamic_shared();
    } else {
        llvm::FunctionCallee check =
            module_.getOrInsertFunction("__hmm_check_shared_owner", builder.getVoidTy(),
                                        builder.getPtrTy(), builder.getPtrTy());
        builder.CreateCall(check, {reader.run(), shared_owner()});
        place = builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), reader.shared(),
                                                   shared_[&variable]);
    }
    return place;
}

bool separate_functions::place_shared(llvm::GlobalVariable& variable) {
    llvm::MapVector<llvm::Function*, llvm::SmallVector<llvm::Use*, 8>> uses;
    for (llvm::Use& use : variable.uses())
        if (auto* const user = llvm::dyn_cast<llvm::Instruction>(use.getUser()))
            if (llvm::is_contained(sharing_.functions, user->getFunction()))
                uses[user->getFunction()].push_back(&use);
    if (uses.empty()) return true;
    if (!has_open_length(variable)) {
        const llvm::Align alignment = module_.getDataLayout().getPreferredAlign(&variable);
        const auto& first = *llvm::cast<llvm::Instruction>(uses.front().second[0]->getUser());
        if (!check_shared_alignment(first, alignment)) return false;
        const std::uint64_t at = llvm::alignTo(shared_bytes_, alignment);
        shared_[&variable] = at;
        shared_bytes_ = at + module_.getDataLayout().getTypeAllocSize(variable.getValueType());
    }
    for (const auto& [function, of_function] : uses) {
        llvm::Value* const place = shared_place(variable, *function);
        for (llvm::Use* const use : of_function)
            use->set(place);
    }
    return true;
}

bool separate_functions::open() {
    // They will read the current_thread, so drop attributes that promise otherwise, even if the
    // source has them.
    for (llvm::Function* const function : readers_.reaching)
        function->removeFnAttr(llvm::Attribute::Memory);
    for (llvm::Function& function : module_)
        for (llvm::Instruction& instruction : llvm::instructions(function))
            if (auto* const call = llvm::dyn_cast<llvm::CallBase>(&instruction))
                if (may_run_in(*call)) call->removeFnAttr(llvm::Attribute::Memory);
    for (llvm::GlobalVariable& variable : module_.globals())
        if (is_shared_variable(variable) && !place_shared(variable)) return false;
    for (llvm::Function* const function : readers_.functions) {
        replace_positions(*function);
        name_threads_of_failures(*function, [](llvm::Instruction& before) {
            place_reader reader(before);
            return thread_of_failure{reader.run(), reader.number(offsetof(current_thread, rank))};
        });
        if (llvm::verifyFunction(*function, &llvm::errs())) {
            report_error(function->front().front(), "internal error: hmmcc generated invalid code "
                                                    "for this function; please report this");
            return false;
        }
    }
    return true;
}

void leave_place(const kernel_body& body, llvm::IRBuilder<>& builder) {
    llvm::Type* const number = builder.getInt32Ty();
    const auto leave = [&](std::size_t offset, llvm::AllocaInst* variable) {
        llvm::StoreInst* const store = builder.CreateStore(
            builder.CreateLoad(number, variable), address_of_member(builder, body.place, offset));
        // all threads of the lane share the current_thread
        store->setMetadata(of_other_threads, llvm::MDNode::get(builder.getContext(), {}));
    };
    for (unsigned i = 0; i < 3; i++)
        leave(offsetof(current_thread, thread_index) + i * sizeof(std::uint32_t),
              body.thread_index[i]);
    leave(offsetof(current_thread, rank), body.rank);
}

void enter_place(kernel_body& body, const separate_functions& separate) {
    llvm::SmallVector<llvm::CallBase*, 16> calls;
    for (llvm::Instruction& instruction : llvm::instructions(*body.function))
        if (auto* const call = llvm::dyn_cast<llvm::CallBase>(&instruction))
            if (separate.may_run_in(*call)) calls.push_back(call);
    body.shares_with_separate = llvm::any_of(
        calls, [&](const llvm::CallBase* call) { return separate.may_share_in(*call); });
    if (calls.empty() && body.optimizes) return;
    llvm::IRBuilder<> builder(body.entry->getTerminator());
    body.place = builder.CreateCall(of_place(*body.function->getParent(), "__hmm_enter_block",
                                             {body.run->getType(), builder.getInt32Ty()}),
                                    {body.run, builder.getInt32(body.optimizes ? 0 : 1)});
    for (llvm::CallBase* const call : calls) {
        llvm::IRBuilder<> before(call);
        leave_place(body, before);
    }
}

} // namespace hmmcc
