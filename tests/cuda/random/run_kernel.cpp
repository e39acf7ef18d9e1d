// SPDX-License-Identifier: MIT
/*
 * The interpreter. A statement at which threads meet is taken by all of them
 * together; any other one by one thread after the other.
 */
#include "kernel.hpp"

#include <algorithm>
#include <bit>

namespace random_kernel {
namespace {

struct thread {
    unsigned position = 0;
    std::array<unsigned, variable_count> variables = {};
    std::vector<unsigned> loops;
    bool left = false;
    bool skips = false; ///< the rest of this turn of its loop
    bool ends_loop = false;
};

using threads = std::vector<thread*>;

unsigned reverse_bits(unsigned value) {
    unsigned reversed = 0;
    for (unsigned bit = 0; bit < 32; bit++)
        reversed |= ((value >> bit) & 1U) << (31 - bit);
    return reversed;
}

class block_run {
  public:
    block_run(const kernel& of, unsigned block, result& to)
        : kernel_(of), block_(block), to_(to), shared_(of.threads()) {}

    void run() {
        std::vector<thread> all(kernel_.threads());
        threads active;
        for (unsigned i = 0; i < all.size(); i++) {
            all[i].position = i;
            for (unsigned v = 0; v < variable_count; v++)
                all[i].variables[v] = i * (v + 1) + v;
            shared_[i] = i ^ 5U;
            active.push_back(&all[i]);
        }
        run(kernel_.body, active);
        for (const thread& each : all) {
            const auto at = 2 * (block_ * all.size() + each.position);
            unsigned mix = 0;
            for (const unsigned value : each.variables)
                mix = mix * 31 + value;
            to_.out[at] = each.left ? 1 : mix;
            to_.out[at + 1] = each.left ? 0 : shared_[each.position];
        }
    }

  private:
    unsigned value(const expression& of, const thread& self) const {
        const auto at = [&](unsigned i) { return value(of.of[i], self); };
        switch (of.what) {
        case op::constant:
            return of.value;
        case op::variable:
            return self.variables[of.value];
        case op::loop:
            return self.loops[of.value];
        case op::thread:
            return self.position;
        case op::block:
            return block_;
        case op::rounds:
            return kernel_.rounds;
        case op::input:
            return input_at(at(0) % input_count);
        case op::table:
            return table_at(at(0) % table_count);
        case op::own_shared:
            return shared_[self.position];
        case op::neighbour:
            return shared_[at(0) % shared_.size()];
        case op::select:
            return at(0) != 0 ? at(1) : at(2);
        case op::remainder:
            return at(0) % of.value;
        default:
            if (of.what == op::turned) return turned(at(0), block_, self.position);
            return of.of.size() == 1 ? unary(of.what, at(0)) : binary(of.what, at(0), at(1), self);
        }
    }

    static unsigned unary(op what, unsigned a) {
        switch (what) {
        case op::set_bits:
            return static_cast<unsigned>(std::popcount(a));
        case op::leading_zeros:
            return static_cast<unsigned>(std::countl_zero(a));
        case op::reversed:
            return reverse_bits(a);
        default:
            return a & 0xffU;
        }
    }

    static unsigned binary(op what, unsigned a, unsigned b, const thread& self) {
        switch (what) {
        case op::add:
            return a + b;
        case op::subtract:
            return a - b;
        case op::multiply:
            return a * b;
        case op::bit_and:
            return a & b;
        case op::bit_or:
            return a | b;
        case op::bit_xor:
            return a ^ b;
        case op::shift_left:
            return a << (b & 31U);
        case op::shift_right:
            return a >> (b & 31U);
        case op::signed_shift:
            return static_cast<unsigned>(static_cast<int>(a) >> (b & 31U));
        case op::less:
            return a < b;
        case op::equal:
            return a == b;
        case op::minimum:
            return std::min(a, b);
        case op::maximum:
            return std::max(a, b);
        case op::high_half:
            return static_cast<unsigned>((std::uint64_t{a} * b) >> 32);
        default:
            return mixed(a, b, self.position);
        }
    }

    void run(const std::vector<statement>& body, const threads& active) {
        for (const statement& each : body) {
            threads here;
            std::copy_if(active.begin(), active.end(), std::back_inserter(here),
                         [](const thread* one) { return !one->left && !one->skips; });
            if (!here.empty()) run(each, here);
        }
    }

    /// The statements at which threads do not meet; others are left to meet().
    void run(const statement& what, const threads& active) {
        switch (what.what) {
        case action::assign:
            for (thread* each : active)
                each->variables[what.target] = value(what.value, *each);
            return;
        case action::store_shared:
            for (thread* each : active)
                shared_[each->position] = value(what.value, *each);
            return;
        case action::add_to_sum:
            for (const thread* each : active)
                add(what.target, value(what.value, *each));
            return;
        case action::next_turn:
        case action::end_loop:
            for (thread* each : active)
                if (value(what.value, *each) != 0) {
                    each->skips = true;
                    each->ends_loop = what.what == action::end_loop;
                }
            return;
        case action::sync_warp:
            return;
        case action::leave:
            for (thread* each : active)
                each->left = value(what.value, *each) != 0;
            return;
        case action::branch:
            branch(what, active, [&](const thread& each) { return value(what.value, each) != 0; });
            return;
        case action::half_warp:
            branch(what, active, [&](const thread& each) {
                return ((what.mask >> (each.position % lanes_per_warp)) & 1U) != 0;
            });
            return;
        case action::loop:
        case action::divergent_loop:
            loop(what, active);
            return;
        default:
            meet(what, active);
        }
    }

    void add(unsigned target, unsigned amount) {
        unsigned& sum = to_.sums[target];
        switch (target) {
        case 0:
            sum += amount;
            break;
        case 1:
            sum = std::max(sum, amount);
            break;
        case 2:
            sum ^= amount;
            break;
        default:
            sum |= amount & 0x11111111U;
        }
    }

    template <typename Condition>
    void branch(const statement& what, const threads& active, Condition is_true) {
        threads yes;
        threads no;
        for (thread* each : active)
            (is_true(*each) ? yes : no).push_back(each);
        run(what.body, yes);
        run(what.other, no);
    }

    void loop(const statement& what, const threads& active) {
        std::vector<unsigned> ends;
        for (thread* each : active) {
            ends.push_back(what.what == action::divergent_loop ? value(what.value, *each) & 7U
                           : what.count                        ? what.count
                                                               : kernel_.rounds);
            each->loops.push_back(0);
        }
        for (unsigned turn = 0;; turn++) {
            threads running;
            for (std::size_t i = 0; i < active.size(); i++) {
                active[i]->loops.back() = turn;
                if (turn < ends[i]) running.push_back(active[i]);
            }
            if (running.empty()) break;
            run(what.body, running);
            for (std::size_t i = 0; i < active.size(); i++) {
                if (active[i]->ends_loop) ends[i] = 0;
                active[i]->skips = active[i]->ends_loop = false;
            }
        }
        for (thread* each : active)
            each->loops.pop_back();
    }

    void meet(const statement& what, const threads& active) {
        std::vector<unsigned> values;
        for (const thread* each : active)
            values.push_back(value(what.value, *each));
        const auto count = static_cast<unsigned>(
            std::count_if(values.begin(), values.end(), [](unsigned each) { return each != 0; }));
        if (what.what == action::branch_on_count) {
            branch(what, active, [&](const thread&) { return count > what.count; });
            return;
        }
        std::vector<unsigned> results;
        for (std::size_t i = 0; i < active.size(); i++)
            results.push_back(met(what, active, values, i, count));
        for (std::size_t i = 0; i < active.size(); i++)
            active[i]->variables[what.target] = results[i];
    }

    unsigned met(const statement& what, const threads& active, const std::vector<unsigned>& values,
                 std::size_t self, unsigned count) const {
        switch (what.what) {
        case action::exchange:
            return values[self];
        case action::barrier_count:
            return count;
        case action::barrier_and:
            return count == active.size();
        case action::barrier_or:
            return count != 0;
        default:
            return met_in_warp(what, active, values, self);
        }
    }

    unsigned met_in_warp(const statement& what, const threads& active,
                         const std::vector<unsigned>& values, std::size_t self) const {
        std::array<unsigned, lanes_per_warp> of_lane = {};
        unsigned votes = 0;
        unsigned present = 0;
        const unsigned warp = active[self]->position / lanes_per_warp;
        for (std::size_t i = 0; i < active.size(); i++) {
            if (active[i]->position / lanes_per_warp != warp) continue;
            const unsigned lane = active[i]->position % lanes_per_warp;
            of_lane[lane] = values[i];
            present |= 1U << lane;
            votes |= (values[i] != 0 ? 1U : 0U) << lane;
        }
        switch (what.what) {
        case action::ballot:
            return votes;
        case action::match: {
            unsigned same = 0;
            for (unsigned lane = 0; lane < lanes_per_warp; lane++)
                if ((present >> lane) & 1U && of_lane[lane] == values[self]) same |= 1U << lane;
            return same;
        }
        case action::any:
            return votes != 0;
        case action::all:
            return votes == present;
        default:
            return of_lane[source_lane(what, *active[self])];
        }
    }

    unsigned source_lane(const statement& what, const thread& self) const {
        const unsigned lane = self.position % lanes_per_warp;
        const unsigned first = lane / what.width * what.width;
        const unsigned within = lane - first;
        switch (what.what) {
        case action::shuffle:
            return first + value(what.second, self) % what.width;
        case action::shuffle_up:
            return within < what.count ? lane : lane - what.count;
        case action::shuffle_down:
            return within + what.count < what.width ? lane + what.count : lane;
        default:
            return first + (within ^ what.count) % what.width;
        }
    }

    const kernel& kernel_;
    unsigned block_;
    result& to_;
    std::vector<unsigned> shared_;
};

} // namespace

result run_kernel(const kernel& of) {
    result made;
    made.out.resize(std::size_t{2} * of.blocks * of.threads());
    for (unsigned block = 0; block < of.blocks; block++)
        block_run(of, block, made).run();
    return made;
}

} // namespace random_kernel
