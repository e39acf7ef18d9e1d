// SPDX-License-Identifier: MIT
#include "kernel.hpp"

#include <fmt/format.h>

namespace random_kernel {
namespace {

class printer {
  public:
    explicit printer(const kernel& of) : kernel_(of) {}

    std::string print() {
        line("__global__ void kernel_{}(const unsigned* in, unsigned* out, unsigned* sums, "
             "unsigned rounds) {{",
             kernel_.seed);
        depth_ = 1;
        if (kernel_.dynamic)
            line("extern __shared__ unsigned shared[];");
        else
            line("__shared__ unsigned shared[{}];", kernel_.threads());
        line("const unsigned self = threadIdx.y * blockDim.x + threadIdx.x;");
        line("const unsigned at = 2 * (blockIdx.x * blockDim.x * blockDim.y + self);");
        for (unsigned v = 0; v < variable_count; v++)
            line("unsigned v{} = self * {} + {};", v, v + 1, v);
        line("shared[self] = self ^ 5;");
        print(kernel_.body);
        std::string mix = "0u";
        for (unsigned v = 0; v < variable_count; v++)
            mix = fmt::format("({}) * 31 + v{}", mix, v);
        line("out[at] = {};", mix);
        line("out[at + 1] = shared[self];");
        depth_ = 0;
        line("}}");
        return std::move(text_);
    }

  private:
    template <typename... Parts>
    void line(fmt::format_string<Parts...> format, Parts&&... parts) {
        text_.append(std::size_t{4} * depth_, ' ');
        text_ += fmt::format(format, std::forward<Parts>(parts)...);
        text_ += '\n';
    }

    static std::string text(const expression& of) {
        const auto at = [&](unsigned i) { return text(of.of[i]); };
        const auto infix = [&](const char* sign) {
            return fmt::format("({} {} {})", at(0), sign, at(1));
        };
        switch (of.what) {
        case op::constant:
            return fmt::format("{}u", of.value);
        case op::variable:
            return fmt::format("v{}", of.value);
        case op::loop:
            return fmt::format("i{}", of.value);
        case op::thread:
            return "self";
        case op::block:
            return "blockIdx.x";
        case op::rounds:
            return "rounds";
        case op::input:
            return fmt::format("in[{} % {}]", at(0), input_count);
        case op::table:
            return fmt::format("table[{} % {}]", at(0), table_count);
        case op::own_shared:
            return "shared[self]";
        case op::neighbour:
            return fmt::format("shared[{} % (blockDim.x * blockDim.y)]", at(0));
        case op::add:
            return infix("+");
        case op::subtract:
            return infix("-");
        case op::multiply:
            return infix("*");
        case op::bit_and:
            return infix("&");
        case op::bit_or:
            return infix("|");
        case op::bit_xor:
            return infix("^");
        case op::less:
            return fmt::format("unsigned{}", infix("<"));
        case op::equal:
            return fmt::format("unsigned{}", infix("=="));
        case op::shift_left:
            return fmt::format("({} << ({} & 31))", at(0), at(1));
        case op::shift_right:
            return fmt::format("({} >> ({} & 31))", at(0), at(1));
        case op::signed_shift:
            return fmt::format("unsigned(int({}) >> ({} & 31))", at(0), at(1));
        case op::remainder:
            return fmt::format("({} % {}u)", at(0), of.value);
        case op::select:
            return fmt::format("({} != 0 ? {} : {})", at(0), at(1), at(2));
        case op::set_bits:
        case op::leading_zeros: // as the other values, not signed
            return fmt::format("unsigned({}({}))", function(of.what), at(0));
        default:
            return fmt::format("{}({})", function(of.what), arguments(of));
        }
    }

    static const char* function(op what) {
        switch (what) {
        case op::minimum:
            return "min";
        case op::maximum:
            return "max";
        case op::set_bits:
            return "__popc";
        case op::leading_zeros:
            return "__clz";
        case op::reversed:
            return "__brev";
        case op::high_half:
            return "__umulhi";
        case op::byte:
            return "(unsigned)(unsigned char)";
        case op::turned:
            return "turned";
        default:
            return "mixed";
        }
    }

    static std::string arguments(const expression& of) {
        std::string all = text(of.of[0]);
        if (of.of.size() > 1) all += ", " + text(of.of[1]);
        if (of.what == op::mixed) all += ", self";
        return all;
    }

    void print(const std::vector<statement>& body) {
        for (const statement& each : body)
            print(each);
    }

    void print_nested(const std::vector<statement>& body) {
        depth_++;
        print(body);
        depth_--;
    }

    void print(const statement& what) {
        switch (what.what) {
        case action::assign:
            line("v{} = {};", what.target, text(what.value));
            return;
        case action::store_shared:
            line("shared[self] = {};", text(what.value));
            return;
        case action::add_to_sum:
            print_add(what);
            return;
        case action::leave:
            line("if ({} != 0) {{", text(what.value));
            line("    out[at] = 1;");
            line("    out[at + 1] = 0;");
            line("    return;");
            line("}}");
            return;
        case action::next_turn:
            line("if ({} != 0) continue;", text(what.value));
            return;
        case action::end_loop:
            line("if ({} != 0) break;", text(what.value));
            return;
        case action::sync_warp:
            line("__syncwarp({:#x}u);", what.mask);
            return;
        case action::branch:
            print_branch(what, fmt::format("{} != 0", text(what.value)));
            return;
        case action::branch_on_count:
            print_branch(what, fmt::format("__syncthreads_count(int({} != 0)) > {}",
                                           text(what.value), what.count));
            return;
        case action::half_warp:
            print_branch(what, fmt::format("(({:#x}u >> (self % 32)) & 1) != 0", what.mask));
            return;
        case action::loop:
        case action::divergent_loop:
            print_loop(what);
            return;
        case action::exchange:
            print_exchange(what);
            return;
        default:
            line("v{} = {};", what.target, meeting(what));
        }
    }

    void print_add(const statement& what) {
        static constexpr const char* names[sum_count] = {"Add", "Max", "Xor", "Or"};
        line("atomic{}(&sums[{}], {}{});", names[what.target], what.target, text(what.value),
             what.target == 3 ? " & 0x11111111u" : "");
    }

    void print_branch(const statement& what, const std::string& condition) {
        line("if ({}) {{", condition);
        print_nested(what.body);
        if (!what.other.empty()) {
            line("}} else {{");
            print_nested(what.other);
        }
        line("}}");
    }

    void print_loop(const statement& what) {
        std::string end = what.count ? fmt::format("{}u", what.count) : "rounds";
        if (what.what == action::divergent_loop) {
            line("{{");
            line("const unsigned end{} = {} & 7;", loops_, text(what.value));
            end = fmt::format("end{}", loops_);
        }
        line("for (unsigned i{0} = 0; i{0} < {1}; ++i{0}) {{", loops_, end);
        loops_++;
        print_nested(what.body);
        loops_--;
        line("}}");
        if (what.what == action::divergent_loop) line("}}");
    }

    void print_exchange(const statement& what) {
        const char* const barrier = kernel_.cooperative ? "wait_for_grid" : "__syncthreads";
        if (what.count != 0) {
            line("v{} = exchange<{}>(shared, {});", what.target, barrier, text(what.value.of[0]));
            return;
        }
        line("{}();", barrier);
        line("v{} = {};", what.target, text(what.value));
        line("{}();", barrier);
    }

    static std::string meeting(const statement& what) {
        const auto all = [&](const char* name) {
            return fmt::format("{}(int({} != 0))", name, text(what.value));
        };
        const auto vote = [&](const char* name) {
            return fmt::format("{}({:#x}u, {} != 0)", name, what.mask, text(what.value));
        };
        const auto shuffle = [&](const char* name, const std::string& from) {
            return fmt::format("{}({:#x}u, {}, {}, {})", name, what.mask, text(what.value), from,
                               what.width);
        };
        switch (what.what) {
        case action::barrier_count:
            return all("__syncthreads_count");
        case action::barrier_and:
            return fmt::format("unsigned({} != 0)", all("__syncthreads_and"));
        case action::barrier_or:
            return fmt::format("unsigned({} != 0)", all("__syncthreads_or"));
        case action::ballot:
            return vote("__ballot_sync");
        case action::match:
            return fmt::format("__match_any_sync({:#x}u, {})", what.mask, text(what.value));
        case action::any:
            return fmt::format("unsigned({} != 0)", vote("__any_sync"));
        case action::all:
            return fmt::format("unsigned({} != 0)", vote("__all_sync"));
        case action::shuffle:
            return shuffle("__shfl_sync",
                           fmt::format("int({} % {})", text(what.second), what.width));
        case action::shuffle_up:
            return shuffle("__shfl_up_sync", std::to_string(what.count));
        case action::shuffle_down:
            return shuffle("__shfl_down_sync", std::to_string(what.count));
        default:
            return shuffle("__shfl_xor_sync", std::to_string(what.count));
        }
    }

    const kernel& kernel_;
    std::string text_;
    unsigned depth_ = 0;
    unsigned loops_ = 0;
};

} // namespace

std::string print_kernel(const kernel& of) {
    return printer(of).print();
}

} // namespace random_kernel
