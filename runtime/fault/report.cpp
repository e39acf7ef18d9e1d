// SPDX-License-Identifier: MIT
#include "fault/report.hpp"

#include "fault/code_place.hpp"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <cxxabi.h>
#include <string_view>
#include <sys/syscall.h>

namespace hmmrt {
namespace {

struct named_call {
    int number;
    const char* name;
};

constexpr named_call named_calls[] = {
#include "syscall_names.inc"
};

void add_signal(message& out, int signal) {
    const char* abbreviation = sigabbrev_np(signal);
    if (abbreviation != nullptr)
        out.add("SIG%s", abbreviation);
    else
        out.add("signal %d", signal);
}

const char* access_name(std::uint32_t access) {
    if ((access & HMM_ACCESS_EXEC) != 0) return "execution";
    return (access & HMM_ACCESS_WRITE) != 0 ? "write" : "read";
}

const char* reason_text(int error_number) {
    switch (error_number) {
    case EFAULT:
        return "nothing is mapped there";
    case EACCES:
        return "the mapping does not allow it";
    case EOPNOTSUPP:
        return "devices cannot access this memory";
    case ENOMEM:
        return "out of memory";
    default:
        return "the access failed";
    }
}

void describe_signal(message& out, const fault_record& fault) {
    if (fault.signal != SIGSEGV && fault.signal != SIGBUS) return add_signal(out, fault.signal);
    if (overflows_stack(fault)) {
        out.add("stack overflow in lane %u (", fault.lane);
        out.add_size(fault.stack_bytes);
        out.add("), ");
    }
    if (fault.access == 0) {
        add_signal(out, fault.signal);
        return out.add(", not a page fault (a non-canonical address or a privileged instruction)");
    }
    out.add("%s at address 0x%llx: %s", access_name(fault.access),
            static_cast<unsigned long long>(fault.address), reason_text(fault.error_number));
}

bool ends_the_program(int system_call) {
    return system_call == SYS_exit_group || system_call == SYS_exit;
}

void describe_cause(message& out, const fault_record& fault, const char* exception) {
    switch (fault.cause) {
    case fault_cause::signal:
        return describe_signal(out, fault);
    case fault_cause::system_call:
        out.add("system call ");
        add_system_call(out, fault.system_call);
        return out.add(ends_the_program(fault.system_call)
                           ? " is not allowed in device code, which cannot end the program"
                           : " is not allowed in device code");
    case fault_cause::raised_signal:
        add_signal(out, fault.signal);
        out.add(" raised by ");
        return add_system_call(out, fault.system_call);
    case fault_cause::foreign_call:
        return out.add("system call %d through int 0x80 or the x32 ABI", fault.system_call);
    case fault_cause::exception:
        return out.add("uncaught exception in the kernel: %s", exception);
    case fault_cause::time_limit:
        return out.add("the launch took longer than %llu s (HMMRT_LAUNCH_TIMEOUT)",
                       static_cast<unsigned long long>(fault.milliseconds / 1000));
    }
    out.add("unknown cause");
}

} // namespace

void add_system_call(message& out, int number) {
    for (const named_call& call : named_calls)
        if (call.number == number) return out.add("%s", call.name);
    out.add("number %d", number);
}

std::string system_call_name(int number) {
    message name;
    add_system_call(name, number);
    return name.text();
}

bool has_place(const fault_record& fault) {
    return fault.cause != fault_cause::exception && fault.cause != fault_cause::time_limit;
}

bool overflows_stack(const fault_record& fault) {
    constexpr std::uint64_t guard = 64 << 10;
    // A large frame may skip the guard pages.
    constexpr std::uint64_t reach = 16 << 20;
    const auto is_below = [&](std::uint64_t address, std::uint64_t distance) {
        return address < fault.stack_low && fault.stack_low - address <= distance;
    };
    if (fault.cause != fault_cause::signal || fault.stack_low == 0) return false;
    return is_below(fault.address, guard) || is_below(fault.stack_pointer, reach);
}

hmmError_t error_of(const fault_record& fault) {
    switch (fault.cause) {
    case fault_cause::system_call:
    case fault_cause::foreign_call:
        return hmmErrorSystemCall;
    case fault_cause::raised_signal:
    case fault_cause::exception:
        return hmmErrorAssert;
    case fault_cause::time_limit:
        return hmmErrorLaunchTimeout;
    case fault_cause::signal:
        break;
    }
    switch (fault.signal) {
    case SIGSEGV:
    case SIGBUS:
        return hmmErrorIllegalAddress;
    case SIGILL:
        return hmmErrorIllegalInstruction;
    default:
        return hmmErrorLaunchFailure;
    }
}

hmmFaultRecord record_of(const fault_record& fault, int device) {
    hmmFaultRecord record = {};
    record.error = error_of(fault);
    record.device = device;
    record.lane = static_cast<int>(fault.lane);
    record.signal = fault.signal;
    record.access = static_cast<int>(fault.access);
    record.error_number = fault.error_number;
    record.system_call = fault.system_call;
    record.address = fault.address;
    record.instruction = fault.instruction;
    record.first_item = fault.first_item;
    record.item_count = fault.item_count;
    record.thread = fault.thread;
    return record;
}

void describe(message& out, const fault_record& fault, int device, const char* exception) {
    const auto number = [](std::uint64_t value) { return static_cast<unsigned long long>(value); };
    out.add("device %d, lane %u, items %llu to %llu: ", device, fault.lane,
            number(fault.first_item), number(fault.first_item + fault.item_count - 1));
    describe_cause(out, fault, exception);
}

std::string describe(const fault_record& fault, int device, const char* place,
                     const char* exception) {
    message out;
    describe(out, fault, device, exception);
    if (has_place(fault))
        out.add("; instruction at 0x%llx", static_cast<unsigned long long>(fault.instruction));
    if (*place != '\0') out.add("%s%s", has_place(fault) ? " " : "; ", place);
    return out.text();
}

// ---- the report

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

void add_frames(message& out, const fault_record& fault, names how) {
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

void add_fault_place(message& out, const fault_record& fault, names how) {
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

void add_report(message& out, const fault_record& fault, int device, const char* exception,
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
