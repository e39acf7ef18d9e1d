// SPDX-License-Identifier: MIT
#include "work_item_loops.hpp"

#include <string>
#include <vector>

namespace hmmcc {
namespace {

constexpr std::size_t most_variants = 2; ///< guards of which each combination gets a loop

} // namespace

struct work_item_loops::work_item_loop {
    llvm::BasicBlock* before;  ///< runs once, before the loop
    llvm::BasicBlock* row;     ///< for each row of threads
    llvm::BasicBlock* row_end; ///< for each row
    llvm::BasicBlock* after;   ///< runs once, after the loop
    region_run region;
    llvm::Value* first = nullptr; ///< the first thread of the group
};

llvm::BasicBlock* work_item_loops::make(std::uint32_t state, bool masked, llvm::BasicBlock* then) {
    const std::string name = (masked ? "masked" : "threads") + std::to_string(state);
    work_item_loop loop{new_basic_block(body_, name),
                        new_basic_block(body_, name + ".row"),
                        new_basic_block(body_, name + ".row_end"),
                        new_basic_block(body_, name + ".after"),
                        {state, masked, {}, {}}};
    begin_loop(loop);
    make_rows(loop);
    end_loop(loop, then);
    return loop.before;
}

void work_item_loops::begin_loop(work_item_loop& loop) {
    llvm::IRBuilder<> builder(loop.before);
    builder.CreateStore(builder.getInt32(0), group_.any);
    builder.CreateStore(builder.getInt32(~0U), group_.all);
    for (llvm::AllocaInst* const value : body_.uniform_variables)
        loop.region.uniform_values.push_back(builder.CreateLoad(value->getAllocatedType(), value));
    for (unsigned i = 0; i < group_.left.size(); i++)
        builder.CreateStore(loop.region.uniform_values[i], group_.left[i]);
    loop.first = load_number(builder, group_.first);
}

/// The loop over rows. Rows are complete if the group is a block. The first and last row of a warp
/// may be incomplete.
void work_item_loops::make_rows(work_item_loop& loop) {
    llvm::IRBuilder<> before(loop.before);
    llvm::Value* const size = body_.block_size[0];
    llvm::Value* const end = load_number(before, group_.end);
    llvm::Value *first_x = before.getInt32(0), *first_y = first_x, *first_z = first_x;
    if (body_.warps) {
        first_x = load_number(before, group_.first_index[0]);
        first_y = load_number(before, group_.first_index[1]);
        first_z = load_number(before, group_.first_index[2]);
    }
    before.CreateBr(loop.row);

    llvm::IRBuilder<> row(loop.row);
    const auto of_row = [&](llvm::Value* first) {
        auto* const phi = row.CreatePHI(row.getInt32Ty(), 2);
        phi->addIncoming(first, loop.before);
        return phi;
    };
    auto *const at = of_row(loop.first), *const y = of_row(first_y), *const z = of_row(first_z);
    llvm::Value *from = first_x, *to = size;
    if (body_.warps) {
        auto* const x = of_row(first_x);
        x->addIncoming(row.getInt32(0), loop.row_end);
        from = x;
        llvm::Value* const rest =
            row.CreateAdd(from, row.CreateSub(end, at, "", true, true), "", true, true);
        to = row.CreateSelect(row.CreateICmpULT(rest, size), rest, size);
    }
    row.CreateStore(y, body_.thread_index[1]);
    row.CreateStore(z, body_.thread_index[2]);
    const row_piece all{from, to, at, row.CreateSub(at, loop.first, "", true, true)};
    run_row(loop, row, all, y, z);

    llvm::IRBuilder<> row_end(loop.row_end);
    llvm::Value* const next_row =
        row_end.CreateAdd(at, row_end.CreateSub(to, from, "", true, true), "", true, true);
    llvm::Value* const next_y = row_end.CreateAdd(y, row_end.getInt32(1), "", true, true);
    llvm::Value* const plane_ends = row_end.CreateICmpEQ(next_y, body_.block_size[1]);
    at->addIncoming(next_row, loop.row_end);
    y->addIncoming(row_end.CreateSelect(plane_ends, row_end.getInt32(0), next_y), loop.row_end);
    z->addIncoming(
        row_end.CreateAdd(z, row_end.CreateZExt(plane_ends, row_end.getInt32Ty()), "", true, true),
        loop.row_end);
    row_end.CreateCondBr(row_end.CreateICmpULT(next_row, end), loop.row, loop.after);
}

/// Runs the threads of a row in one loop, or in pieces if there are guards.
void work_item_loops::run_row(work_item_loop& loop, llvm::IRBuilder<>& row, const row_piece& all,
                              llvm::Value* y, llvm::Value* z) {
    llvm::BasicBlock* const start = start_of(body_, loop.region.state);
    const block_set region = region_from(body_, start);
    const row_guards guards(body_, region, start);
    if (!loop.region.masked && body_.optimizes && !guards.all().empty())
        return run_pieces(loop, row, all, values_of_row(loop, row, all, y, z), guards);
    const auto make = [&](const row_piece& threads) {
        return rows_.make(loop.region, threads, row.GetInsertBlock(), loop.row_end, guards, {});
    };
    if (body_.warps && !loop.region.masked && body_.optimizes)
        if_full_warp(row, all, row.getTrue(), make);
    row.CreateBr(make(all));
}

row_values work_item_loops::values_of_row(const work_item_loop& loop, llvm::IRBuilder<>& row,
                                          const row_piece& all, llvm::Value* y,
                                          llvm::Value* z) const {
    row_values values;
    values.x = all.from;
    values.rank = all.rank;
    values.group_rank = all.group_rank;
    values.y = y;
    values.z = z;
    values.length = row.CreateSub(all.to, all.from, "", true, true);
    for (unsigned i = 0; i < loop.region.uniform_values.size(); i++)
        values.uniform_variables[body_.uniform_variables[i]] = loop.region.uniform_values[i];
    return values;
}

/// Splits a row where its guards change. Each piece has a loop for the values of its guards.
void work_item_loops::run_pieces(work_item_loop& loop, llvm::IRBuilder<>& row, const row_piece& all,
                                 const row_values& values, const row_guards& guards) {
    const std::vector<guard_place> places = guards.places(row, values);
    llvm::BasicBlock* const piece = new_basic_block(body_, "piece");
    llvm::BasicBlock* const piece_end = new_basic_block(body_, "piece.end");
    row.CreateBr(piece);
    llvm::IRBuilder<> builder(piece);
    auto* const done = builder.CreatePHI(builder.getInt32Ty(), 2);
    done->addIncoming(builder.getInt32(0), loop.row);
    llvm::Value* next = values.length;
    llvm::Value* unusual = builder.getInt32(0); // a bit for each guard with `counts`
    std::vector<unsigned> counting;
    for (unsigned i = 0; i < places.size(); i++) {
        const row_guard& guard = guards.all()[i];
        if (!guard.counts) continue;
        next = places[i].next_change(builder, done, next);
        llvm::Value* const differs =
            builder.CreateICmpNE(places[i].value_at(builder, done), builder.getInt1(guard.usual));
        llvm::Value* const bit =
            builder.CreateShl(builder.CreateZExt(differs, builder.getInt32Ty()),
                              static_cast<unsigned>(counting.size()));
        unusual = builder.CreateOr(unusual, bit);
        counting.push_back(i);
    }
    const row_piece here{builder.CreateAdd(all.from, done, "", true, true),
                         builder.CreateAdd(all.from, next, "", true, true),
                         builder.CreateAdd(all.rank, done, "", true, true),
                         builder.CreateAdd(all.group_rank, done, "", true, true)};
    choose_loop(loop, builder, here, piece_end, guards, counting, unusual);
    llvm::IRBuilder<> at_end(piece_end);
    done->addIncoming(next, piece_end);
    at_end.CreateCondBr(at_end.CreateICmpULT(next, values.length), piece, loop.row_end);
}

/// Branches to the loop for a piece's guards. Bit i of @unusual: guard @counting[i] is unusual.
void work_item_loops::choose_loop(work_item_loop& loop, llvm::IRBuilder<>& builder,
                                  const row_piece& here, llvm::BasicBlock* then,
                                  const row_guards& guards, llvm::ArrayRef<unsigned> counting,
                                  llvm::Value* unusual) {
    const auto make = [&](const row_piece& threads, const constant_guards& constants,
                          bool vectorized = true) {
        return rows_.make(loop.region, threads, builder.GetInsertBlock(), then, guards, constants,
                          vectorized);
    };
    constant_guards as_usual;
    for (const row_guard& guard : guards.all())
        as_usual.push_back(guard.usual ? 1 : 0);
    if (body_.warps)
        if_full_warp(builder, here, builder.CreateICmpEQ(unusual, builder.getInt32(0)),
                     [&](const row_piece& threads) { return make(threads, as_usual); });
    llvm::BasicBlock* const usual_loop = make(here, as_usual);
    if (counting.size() > most_variants) {
        // One loop without vectorization for the rest, because few threads run it.
        builder.CreateCondBr(builder.CreateICmpEQ(unusual, builder.getInt32(0)), usual_loop,
                             make(here, {}, false));
        return;
    }
    auto* const which = builder.CreateSwitch(unusual, usual_loop);
    for (std::uint32_t bits = 1; bits < 1U << counting.size(); bits++) {
        constant_guards constants(as_usual.size(), -1);
        for (unsigned i = 0; i < counting.size(); i++)
            constants[counting[i]] = as_usual[counting[i]] ^ static_cast<int>(bits >> i & 1);
        which->addCase(builder.getInt32(bits), make(here, constants));
    }
}

/// If @condition is true and the piece is a whole warp, branches to a loop whose length LLVM knows.
/// The builder continues with the other case.
template <class Make>
void work_item_loops::if_full_warp(llvm::IRBuilder<>& builder, const row_piece& threads,
                                   llvm::Value* condition, Make make) {
    row_piece whole = threads;
    whole.is_warp = true;
    whole.group_rank = builder.getInt32(0);
    llvm::Value* const length = builder.CreateSub(threads.to, threads.from);
    llvm::Value* const is_whole = builder.CreateAnd(
        condition, builder.CreateICmpEQ(length, builder.getInt32(hmmcuda::warp_size)));
    llvm::BasicBlock* const others = new_basic_block(body_, "part_of_warp");
    builder.CreateCondBr(is_whole, make(whole), others);
    builder.SetInsertPoint(others);
}

/// Sets the state of the group: the common state of its threads, or mixed.
void work_item_loops::end_loop(work_item_loop& loop, llvm::BasicBlock* then) {
    llvm::IRBuilder<> builder(loop.after);
    copy_values(builder, group_.left, body_.uniform_variables);
    if (loop.region.exits.size() == 1) {
        builder.CreateStore(builder.getInt32(*loop.region.exits.begin()), group_.current);
    } else if (!body_.can_mix) {
        builder.CreateStore(load_number(builder, group_.next), group_.current);
    } else {
        llvm::Value* const any = load_number(builder, group_.any);
        llvm::Value* const same = builder.CreateICmpEQ(any, load_number(builder, group_.all));
        builder.CreateStore(builder.CreateSelect(same, any, builder.getInt32(hmmcuda::state_mixed)),
                            group_.current);
    }
    builder.CreateBr(then);
}

} // namespace hmmcc
