// SPDX-License-Identifier: MIT
#include "failure_report.hpp"

#include "code_place.hpp"
#include "report.hpp"

#include <cstdlib>
#include <cstring>
#include <cxxabi.h>
#include <string_view>

namespace hmmrt {
namespace {

constexpr unsigned most_callers = 3;

/// The name of a function, demangled if requested and possible.
class function_name {
  public:
    function_name(const char* symbol, names how) : symbol_(symbol) {
        int status = 0;
        if (how == names::demangled)
            demangled_ = abi::__cxa_demangle(symbol, nullptr, nullptr, &status);
    }
    function_name(const function_name&) = delete;
    function_name& operator=(const function_name&) = delete;
    ~function_name() { std::free(demangled_); }

    std::string_view text() const { return demangled_ != nullptr ? demangled_ : symbol_; }

  private:
    const char* symbol_;
    char* demangled_ = nullptr;
};

/// hmm::launch() launches a template instance that has the kernel as its
/// argument. Returns the kernel's name.
std::string_view without_wrapper(std::string_view name) {
    constexpr std::string_view before = "void hmm::detail::run_range<";
    constexpr std::string_view after = ">(void*, unsigned long, unsigned long)";
    if (!name.starts_with(before) || !name.ends_with(after)) return name;
    name.remove_prefix(before.size());
    name.remove_suffix(after.size());
    return name;
}

void add_name(message& out, const code_place& place, names how) {
    constexpr std::size_t longest = 200;
    const function_name name(place.function, how);
    const std::string_view text = without_wrapper(name.text());
    const bool cut = text.size() > longest;
    out.add("%.*s%s", static_cast<int>(cut ? longest : text.size()), text.data(), cut ? "..." : "");
}

void add_place(message& out, const code_place& place, names how) {
    if (place.object[0] == '\0') return;
    if (place.function[0] != '\0') add_name(out, place, how);
    out.add("+0x%llx, ", static_cast<unsigned long long>(place.offset));
    if (place.source.line != 0)
        out.add("%s:%u", place.source.file, place.source.line);
    else
        out.add("%s", place.object);
}

void add_frame(message& out, const char* relation, std::uint64_t address, const code_place& place,
               names how) {
    out.add("hmmrt:   %s 0x%llx ", relation, static_cast<unsigned long long>(address));
    add_place(out, place, how);
    out.add("\n");
}

void add_frames(message& out, const fault_block& fault, names how) {
    const code_place first = find_code(fault.instruction);
    add_frame(out, "at", fault.instruction, first, how);
    // If the failure is in libc, such as in abort(), its first frame is enough.
    bool in_system = is_system_object(first.object);
    unsigned callers = 0;
    for (std::uint32_t i = 1; i < fault.frame_count && i < max_frames; i++) {
        // The call may be the last instruction of its function, so that the
        // return address is in the next one.
        const code_place place = find_code(fault.frames[i] - 1);
        in_system = in_system && is_system_object(place.object);
        if (in_system || place.object[0] == '\0') continue;
        add_frame(out, "called from", fault.frames[i], place, how);
        if (++callers == most_callers) break;
    }
}

} // namespace

void add_place(message& out, std::uint64_t address, names how) {
    add_place(out, find_code(address), how);
}

void add_kernel(message& out, std::uint64_t function, names how) {
    const code_place place = find_code(function);
    if (place.function[0] != '\0')
        add_name(out, place, how);
    else
        out.add("the function at 0x%llx", static_cast<unsigned long long>(function));
}

void add_fault_place(message& out, const fault_block& fault, names how) {
    if (has_place(fault)) return add_place(out, fault.instruction, how);
    if (fault.function == 0) return;
    out.add("in ");
    add_kernel(out, fault.function, how);
}

void add_waiting(message& out, int device, unsigned seconds, const running_lanes& lanes,
                 names how) {
    constexpr std::uint32_t most = 4;
    out.add("hmmrt: device %d: a thread has been waiting for %u s", device, seconds);
    if (lanes.count == 0) out.add("; no lane is running device code");
    for (std::uint32_t i = 0; i < lanes.count && i < most; i++) {
        const running_lane& each = lanes.lane[i];
        const auto number = [](std::uint64_t value) {
            return static_cast<unsigned long long>(value);
        };
        out.add("%s lane %u has been running ", i == 0 ? ";" : ",", each.index);
        add_kernel(out, each.function, how);
        out.add(" for %llu s (items %llu to %llu)", number(each.milliseconds / 1000),
                number(each.first_item), number(each.first_item + each.item_count - 1));
    }
    if (lanes.count > most) out.add(", and %u more lanes", lanes.count - most);
    out.add("\n");
}

void add_report(message& out, const fault_block& fault, int device, const char* exception,
                names how) {
    out.add("hmmrt: ");
    describe(out, fault, device, exception);
    out.add(" (%s)\n", hmmGetErrorName(error_of(fault)));
    if (has_place(fault)) {
        add_frames(out, fault, how);
    } else if (fault.function != 0) {
        out.add("hmmrt:   in ");
        add_kernel(out, fault.function, how);
        out.add("\n");
    }
    out.add("hmmrt: device %d is stopped; call hmmDeviceReset() to use it again\n", device);
}

} // namespace hmmrt
