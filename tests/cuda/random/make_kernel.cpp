// SPDX-License-Identifier: MIT
#include "kernel.hpp"

#include <random>
#include <utility>

namespace random_kernel {
namespace {

class maker {
  public:
    explicit maker(std::uint64_t seed) : random_(seed) { result_.seed = seed; }

    kernel make() {
        warps_ = chance(60);
        result_.blocks = 1 + below(3);
        // Blocks of a grid would have to come to the same barriers.
        result_.cooperative = result_.blocks == 1;
        choose_threads();
        result_.rounds = 1 + below(4);
        result_.dynamic = chance(30);
        result_.separate = chance(25);
        result_.body = statements(scope::block, 3, 4 + below(5));
        return std::move(result_);
    }

  private:
    unsigned below(unsigned limit) { return static_cast<unsigned>(random_() % limit); }
    bool chance(unsigned percent) { return below(100) < percent; }

    /// Operations of warps need whole warps.
    void choose_threads() {
        if (warps_) {
            const unsigned warps = 1 + below(4);
            const bool flat = chance(70);
            result_.width = flat ? lanes_per_warp * warps : 8 << below(3);
            result_.height = flat ? 1 : lanes_per_warp * warps / result_.width;
            if (result_.height == 0) result_.height = 1;
            if (result_.threads() % lanes_per_warp != 0) result_.width = lanes_per_warp;
        } else {
            result_.width = 1 + below(50);
            result_.height = chance(70) ? 1 : 1 + below(3);
        }
    }

    expression leaf() {
        switch (below(10)) {
        case 0:
        case 1:
            return {op::constant, chance(50) ? below(8) : static_cast<unsigned>(random_()), {}};
        case 2:
            return {op::thread, 0, {}};
        case 3:
            return {op::block, 0, {}};
        case 4:
            return loops_ ? expression{op::loop, below(loops_), {}} : expression{op::rounds, 0, {}};
        case 5:
            return {op::own_shared, 0, {}};
        default:
            return {op::variable, below(variable_count), {}};
        }
    }

    expression unary(op what, unsigned depth, unsigned value = 0) {
        return {what, value, {any_expression(depth)}};
    }

    expression binary(op what, unsigned depth) {
        return {what, 0, {any_expression(depth), any_expression(depth)}};
    }

    expression any_expression(unsigned depth) {
        if (depth == 0 || chance(20)) return leaf();
        depth--;
        if (result_.separate && chance(6)) return unary(op::turned, depth);
        static constexpr op twos[] = {op::add,       op::subtract, op::multiply,    op::bit_and,
                                      op::bit_or,    op::bit_xor,  op::shift_left,  op::shift_right,
                                      op::less,      op::equal,    op::minimum,     op::maximum,
                                      op::high_half, op::mixed,    op::signed_shift};
        static constexpr op ones[] = {op::input,         op::table,    op::set_bits,
                                      op::leading_zeros, op::reversed, op::byte};
        switch (below(8)) {
        case 0:
            return {
                op::select, 0, {condition(depth), any_expression(depth), any_expression(depth)}};
        case 1:
            return unary(op::remainder, depth, 1 + below(40));
        case 2:
        case 3:
            return unary(ones[below(std::size(ones))], depth);
        default:
            return binary(twos[below(std::size(twos))], depth);
        }
    }

    /// A condition that often differs between threads.
    expression condition(unsigned depth) {
        switch (below(3)) {
        case 0:
            return {op::less, 0, {{op::thread, 0, {}}, {op::constant, below(70), {}}}};
        case 1:
            return {op::bit_and, 0, {any_expression(depth), {op::constant, 1U << below(3), {}}}};
        default:
            return binary(chance(70) ? op::less : op::equal, depth);
        }
    }

    /// A condition that is the same in all threads of the block, which are there.
    expression uniform_condition() {
        expression left = {chance(50) ? op::block : op::rounds, 0, {}};
        if (loops_ && chance(60)) left = {op::loop, below(loops_), {}};
        return {op::less, 0, {left, {op::constant, 1 + below(3), {}}}};
    }

    /// A condition that is the same in the threads of a warp.
    expression warp_condition() {
        const expression warp = {op::shift_right, 0, {{op::thread, 0, {}}, {op::constant, 5, {}}}};
        return {op::bit_and, 0, {warp, {op::constant, 1, {}}}};
    }

    std::vector<statement> statements(scope where, unsigned depth, unsigned count) {
        std::vector<statement> made;
        for (unsigned i = 0; i < count; i++)
            made.push_back(one(where, depth));
        return made;
    }

    statement one(scope where, unsigned depth) {
        const unsigned pick = below(100);
        if (where == scope::block && pick < 35) return at_block(depth);
        if (where != scope::thread && warps_ && !lanes_left_ && pick < 60) return at_warp(depth);
        if (depth > 0 && pick < 75) return nested(where, depth - 1);
        return simple(where);
    }

    statement simple(scope where) {
        statement made;
        made.target = below(variable_count);
        made.value = any_expression(3);
        switch (below(12)) {
        case 0:
        case 1:
            made.what = action::store_shared;
            break;
        case 2:
            made.what = action::add_to_sum;
            made.target = below(sum_count);
            break;
        case 4:
            if (!in_divergent_loop_) break;
            made.what = chance(50) ? action::next_turn : action::end_loop;
            made.value = condition(1);
            break;
        case 3:
            if (where == scope::thread || !may_leave_ || loops_) break;
            made.what = action::leave;
            made.value = condition(1);
            lanes_left_ = true;
            break;
        default:
            break;
        }
        return made;
    }

    statement nested(scope where, unsigned depth) {
        statement made;
        const unsigned size = 1 + below(3);
        if (chance(60)) {
            made.what = action::branch;
            const bool same = where != scope::thread && chance(50);
            scope inside = scope::thread;
            if (same && where == scope::block && chance(60)) {
                made.value = uniform_condition();
                inside = scope::block;
            } else if (same && warps_) {
                made.value = warp_condition();
                inside = scope::warp;
            } else {
                made.value = condition(2);
            }
            made.body = branch_body(inside, depth, size);
            if (chance(50)) made.other = branch_body(inside, depth, 1 + below(2));
            return made;
        }
        const bool uniform = where != scope::thread && chance(60);
        made.what = uniform ? action::loop : action::divergent_loop;
        made.count = uniform && chance(50) ? 1 + below(4) : 0;
        if (!uniform) made.value = any_expression(2);
        const bool was = std::exchange(in_divergent_loop_, !uniform);
        loops_++;
        made.body = statements(uniform ? where : scope::thread, depth, size);
        loops_--;
        in_divergent_loop_ = was;
        return made;
    }

    /// Threads leave at the outermost level of the kernel only.
    std::vector<statement> branch_body(scope where, unsigned depth, unsigned size) {
        const bool might = may_leave_;
        may_leave_ = false;
        auto made = statements(where, depth, size);
        may_leave_ = might;
        return made;
    }

    statement at_block(unsigned depth) {
        statement made;
        made.target = below(variable_count);
        switch (below(8)) {
        case 0:
            made.what = action::barrier_count;
            made.value = condition(2);
            break;
        case 1:
            made.what = chance(50) ? action::barrier_and : action::barrier_or;
            made.value = condition(2);
            break;
        case 2:
            if (depth == 0) break;
            made.what = action::branch_on_count;
            made.value = condition(2);
            made.count = below(result_.threads());
            made.body = branch_body(scope::block, depth - 1, 1 + below(2));
            made.other = branch_body(scope::block, depth - 1, 1);
            return made;
        default:
            break;
        }
        if (made.what != action::assign) return made;
        made.what = action::exchange;
        made.value = {op::neighbour, 0, {any_expression(2)}};
        made.count = below(2);
        if (made.count == 0 && chance(40))
            made.value = {op::add, 0, {made.value, {op::neighbour, 0, {any_expression(1)}}}};
        return made;
    }

    statement at_warp(unsigned depth) {
        statement made;
        made.target = below(variable_count);
        if (depth > 0 && chance(20)) {
            static constexpr unsigned masks[] = {0xffff, 0xffff0000, 0x00ff00ff, 0xff};
            made.what = action::half_warp;
            made.mask = masks[below(std::size(masks))];
            const unsigned width = made.mask == 0xffff || made.mask == 0xffff0000 ? 16 : 8;
            for (unsigned i = 0; i <= below(2); i++)
                made.body.push_back(warp_step(made.mask, width));
            made.body.push_back(simple(scope::thread));
            return made;
        }
        return warp_step(~0U, lanes_per_warp >> below(3));
    }

    /// A lane that is out of the width or of the lanes that take part is not read.
    statement warp_step(unsigned mask, unsigned width) {
        static constexpr action kinds[] = {
            action::shuffle,     action::shuffle_up, action::shuffle_down,
            action::shuffle_xor, action::ballot,     action::match,
            action::any,         action::all,        action::sync_warp};
        statement made;
        made.what = kinds[below(std::size(kinds))];
        made.target = below(variable_count);
        made.mask = mask;
        made.width = width;
        made.value = any_expression(2);
        made.count = 1 + below(width - 1);
        if (made.what == action::shuffle) made.second = any_expression(2);
        if (made.what == action::match) made.value = {op::remainder, 3, {made.value}};
        if (made.what == action::ballot || made.what == action::any || made.what == action::all)
            made.value = condition(2);
        return made;
    }

    std::mt19937_64 random_;
    kernel result_;
    bool warps_ = false;
    bool may_leave_ = true;
    bool lanes_left_ = false; ///< warps may no longer be whole
    unsigned loops_ = 0;
    bool in_divergent_loop_ = false; ///< the innermost loop is one
};

} // namespace

kernel make_kernel(std::uint64_t seed) {
    return maker(seed).make();
}

} // namespace random_kernel
