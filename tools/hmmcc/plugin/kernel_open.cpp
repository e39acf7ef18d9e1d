// SPDX-License-Identifier: MIT
// The first step: a kernel becomes a function that takes a block_run, and loads its own parameters
// from memory.
#include "block_member.hpp"
#include "failures.hpp"
#include "intrinsics.hpp"
#include "kernel.hpp"
#include "separate_functions.hpp"
#include "shared_variables.hpp"

#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/MDBuilder.h>

#include <algorithm>
#include <cstddef>

namespace hmmcc {
namespace {

using hmmcuda::block_run;

/// Alignment of the launch's copy of the arguments: malloc()'s.
constexpr std::uint32_t copy_alignment = alignof(std::max_align_t);

/// Loads members of the block_run in the function's entry, and creates variables there.
class entry_values {
  public:
    explicit entry_values(kernel_body& body)
        : body_(body), context_(body.function->getContext()), builder_(body.entry) {}

    void load() {
        body_.run = body_.function->getArg(0);
        const std::uint32_t most = hmmcuda::most_threads;
        for (unsigned i = 0; i < 3; i++) {
            const std::size_t at = i * sizeof(std::uint32_t);
            body_.block_index[i] = number(offsetof(block_run, index) + at, 0, 0);
            body_.block_size[i] = number(offsetof(block_run, block) + at, 1, most + 1);
            body_.grid_size[i] = number(offsetof(block_run, grid) + at, 0, 0);
        }
        body_.threads = number(offsetof(block_run, threads), 1, most + 1);
        body_.cooperative = number(offsetof(block_run, cooperative), 0, 0);
        body_.shared = member(offsetof(block_run, shared), builder_.getPtrTy());
        for (auto& index : body_.thread_index)
            index = variable("thread_index");
        body_.rank = variable("rank");
        body_.group_rank = variable("group_rank");
        body_.count = variable("count");
        body_.last_count = variable("last_count");
        body_.given_place =
            place("given_place", offsetof(block_run, exchanged[0]) + hmmcuda::middle_of_wide);
        body_.taken_place =
            place("taken_place", offsetof(block_run, exchanged[1]) + hmmcuda::middle_of_wide);
    }

    llvm::Value* arguments() { return member(offsetof(block_run, arguments), builder_.getPtrTy()); }
    llvm::IRBuilder<>& builder() { return builder_; }

  private:
    llvm::AllocaInst* variable(const char* name) {
        return builder_.CreateAlloca(builder_.getInt32Ty(), nullptr, name);
    }
    /// A variable that holds the address of a member of the block_run.
    llvm::AllocaInst* place(const char* name, std::size_t offset) {
        auto* const variable = builder_.CreateAlloca(builder_.getPtrTy(), nullptr, name);
        builder_.CreateStore(address_of_member(body_, builder_, offset), variable);
        return variable;
    }
    llvm::LoadInst* member(std::size_t offset, llvm::Type* type) {
        auto* const load = builder_.CreateLoad(type, address_of_member(body_, builder_, offset));
        load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context_, {}));
        return load;
    }
    llvm::Value* number(std::size_t offset, std::uint32_t low, std::uint32_t high) {
        llvm::LoadInst* const load = member(offset, builder_.getInt32Ty());
        if (high > 0)
            load->setMetadata(
                llvm::LLVMContext::MD_range,
                llvm::MDBuilder(context_).createRange(llvm::APInt(32, low), llvm::APInt(32, high)));
        return load;
    }

    kernel_body& body_;
    llvm::LLVMContext& context_;
    llvm::IRBuilder<> builder_;
};

/// True if the pointer is only used to read: nothing writes through it, and it doesn't escape.
bool is_only_read(const llvm::Value& pointer) {
    for (const llvm::User* const user : pointer.users()) {
        if (llvm::isa<llvm::LoadInst>(user)) continue;
        if (const auto* const copy = llvm::dyn_cast<llvm::MemTransferInst>(user))
            if (copy->getRawSource() == &pointer && copy->getRawDest() != &pointer) continue;
        if (!llvm::isa<llvm::GetElementPtrInst>(user) || !is_only_read(*user)) return false;
    }
    return true;
}

/// Creates a copy of a parameter that is passed indirectly, or a copy for each thread if it may be
/// modified. A variable of the function has another address after a grid barrier, so in kernels
/// with such barriers, threads read the launch's copy of the arguments if its alignment suffices.
llvm::Value* indirect_argument(kernel_body& body, llvm::IRBuilder<>& builder,
                               const llvm::Argument& argument, const source_parameter& parameter,
                               llvm::Value* place) {
    const llvm::Align alignment(parameter.alignment);
    const llvm::Align of_copy(std::min(parameter.alignment, copy_alignment));
    llvm::Type* const type = llvm::ArrayType::get(builder.getInt8Ty(), parameter.size);
    const bool only_read = is_only_read(argument);
    const bool stays = !body.grid_barriers || parameter.alignment <= copy_alignment;
    if (body.grid_barriers && only_read && stays) return place;
    auto* const copy = builder.CreateAlloca(type);
    copy->setAlignment(alignment);
    body.parameters.push_back(copy);
    builder.CreateMemCpy(copy, alignment, place, of_copy, parameter.size);
    if (only_read && stays) return copy;
    llvm::IRBuilder<> in_thread(body.start, body.start->getFirstInsertionPt());
    auto* const own = in_thread.CreateAlloca(type);
    own->setAlignment(alignment);
    in_thread.CreateMemCpy(own, alignment, copy, alignment, parameter.size);
    return own;
}

void read_parameters(const source_kernel& kernel, kernel_body& body, entry_values& values) {
    llvm::IRBuilder<>& builder = values.builder();
    llvm::Value* const arguments = values.arguments();
    for (llvm::Argument& argument : kernel.function->args()) {
        const source_parameter& parameter = kernel.parameters[argument.getArgNo()];
        llvm::Type* const type = argument.getType();
        llvm::Value* const place =
            builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), arguments, parameter.offset);
        llvm::Value* value = nullptr;
        if (type->isPointerTy() && !parameter.pointer) {
            value = indirect_argument(body, builder, argument, parameter, place);
        } else {
            auto* const load = builder.CreateAlignedLoad(
                type, place, llvm::Align(std::min(parameter.alignment, copy_alignment)));
            load->setMetadata(llvm::LLVMContext::MD_invariant_load,
                              llvm::MDNode::get(builder.getContext(), {}));
            value = load;
        }
        argument.replaceAllUsesWith(value);
    }
}

bool has_grid_barrier(const llvm::Function& function) {
    for (const llvm::BasicBlock& block : function)
        for (const llvm::Instruction& instruction : block)
            if (const auto* const call = llvm::dyn_cast<llvm::CallInst>(&instruction))
                if (intrinsic_of(*call) == intrinsic::grid_barrier) return true;
    return false;
}

/// The value of an intrinsic for threadIdx, blockDim and the like; NULL for other calls.
llvm::Value* position(const kernel_body& body, llvm::CallInst& call, intrinsic what) {
    llvm::IRBuilder<> builder(&call);
    const auto load = [&](llvm::AllocaInst* variable) {
        return builder.CreateLoad(builder.getInt32Ty(), variable);
    };
    if (what == intrinsic::thread_rank) return load(body.rank);
    if (what == intrinsic::grid_is_valid) return body.cooperative;
    if (what != intrinsic::thread_index && what != intrinsic::block_index &&
        what != intrinsic::block_size && what != intrinsic::grid_size)
        return nullptr;
    const auto* const number = llvm::dyn_cast<llvm::ConstantInt>(call.getArgOperand(0));
    const std::uint64_t i = number == nullptr ? 0 : number->getZExtValue() % 3;
    switch (what) {
    case intrinsic::thread_index:
        return load(body.thread_index[i]);
    case intrinsic::block_index:
        return body.block_index[i];
    case intrinsic::block_size:
        return body.block_size[i];
    default:
        return body.grid_size[i];
    }
}

void replace_positions(kernel_body& body) {
    for (llvm::BasicBlock& block : *body.function)
        for (llvm::Instruction& instruction : llvm::make_early_inc_range(block)) {
            auto* const call = llvm::dyn_cast<llvm::CallInst>(&instruction);
            if (call == nullptr) continue;
            llvm::Value* const value = position(body, *call, intrinsic_of(*call));
            if (value == nullptr) continue;
            call->replaceAllUsesWith(value);
            call->eraseFromParent();
        }
}

/// Marks blockIdx * blockDim + threadIdx as not wrapping. The launch ensures that each dimension of
/// the grid has fewer than 2^31 threads.
void mark_numbers_of_threads(kernel_body& body) {
    const auto mark = [](llvm::Instruction* instruction) {
        instruction->setHasNoUnsignedWrap();
        instruction->setHasNoSignedWrap();
    };
    for (unsigned i = 0; i < 3; i++) {
        for (llvm::User* const user : body.block_size[i]->users()) {
            auto* const product = llvm::dyn_cast<llvm::BinaryOperator>(user);
            if (product == nullptr || product->getOpcode() != llvm::Instruction::Mul) continue;
            llvm::Value* const other = product->getOperand(0) == body.block_size[i]
                                           ? product->getOperand(1)
                                           : product->getOperand(0);
            if (other != body.block_index[i] && other != body.grid_size[i]) continue;
            mark(product);
            if (other != body.block_index[i]) continue;
            for (llvm::User* const next : product->users()) {
                auto* const sum = llvm::dyn_cast<llvm::BinaryOperator>(next);
                if (sum == nullptr || sum->getOpcode() != llvm::Instruction::Add) continue;
                const auto* const index = llvm::dyn_cast<llvm::LoadInst>(
                    sum->getOperand(sum->getOperand(0) == product ? 1 : 0));
                if (index != nullptr && index->getPointerOperand() == body.thread_index[i])
                    mark(sum);
            }
        }
    }
}

/// Moves variables of threads to the entry, outside of the work-item loops. Returns false after
/// reporting a variable-length array.
bool move_variables(kernel_body& body) {
    for (llvm::BasicBlock& block : *body.function)
        for (llvm::Instruction& instruction : llvm::make_early_inc_range(block)) {
            auto* const variable = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
            if (variable == nullptr || &block == body.entry) continue;
            if (!llvm::isa<llvm::ConstantInt>(variable->getArraySize())) {
                report_error(*variable, "hmmcc does not support variable-length arrays in kernels");
                return false;
            }
            variable->moveBefore(*body.entry, body.entry->getTerminator()->getIterator());
        }
    return true;
}

void drop_lifetimes(llvm::Function& function) {
    for (llvm::BasicBlock& block : function)
        for (llvm::Instruction& instruction : llvm::make_early_inc_range(block))
            if (instruction.isLifetimeStartOrEnd()) instruction.eraseFromParent();
}

} // namespace

void report_error(const llvm::Instruction& where, const llvm::Twine& text) {
    const llvm::Function& function = *where.getFunction();
    function.getContext().diagnose(
        llvm::DiagnosticInfoUnsupported(function, text, where.getDebugLoc()));
}

bool open_kernel(const source_kernel& kernel, kernel_body& body,
                 const separate_functions& separate) {
    llvm::Function& old = *kernel.function;
    llvm::LLVMContext& context = old.getContext();
    auto* const type = llvm::FunctionType::get(llvm::Type::getVoidTy(context),
                                               {llvm::PointerType::getUnqual(context)}, false);
    body.function =
        llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, "", old.getParent());
    const llvm::AttrBuilder attributes(context, old.getAttributes().getFnAttrs());
    body.function->addFnAttrs(attributes);
    body.function->addFnAttr(llvm::Attribute::NoUnwind);
    body.function->takeName(&old);
    old.setName(body.function->getName() + ".kernel");
    body.function->setSubprogram(old.getSubprogram());
    old.setSubprogram(nullptr);
    body.entry = llvm::BasicBlock::Create(context, "entry", body.function);
    body.start = &old.front();
    while (!old.empty())
        old.front().moveAfter(&body.function->back());

    body.grid_barriers = has_grid_barrier(*body.function);
    entry_values values(body);
    values.load();
    read_parameters(kernel, body, values);
    values.builder().CreateBr(body.start);
    drop_lifetimes(*body.function);
    replace_positions(body);
    name_threads_of_failures(*body.function, [&](llvm::Instruction& before) {
        llvm::IRBuilder<> builder(&before);
        return thread_of_failure{body.run, builder.CreateLoad(builder.getInt32Ty(), body.rank)};
    });
    enter_place(body, separate);
    mark_numbers_of_threads(body);
    return place_shared_variables(body, separate) && move_variables(body);
}

} // namespace hmmcc
