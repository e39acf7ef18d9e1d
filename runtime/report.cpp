// SPDX-License-Identifier: MIT
#include "report.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>
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

void describe_signal(message& out, const fault_block& fault) {
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

void describe_cause(message& out, const fault_block& fault, const char* exception) {
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

bool has_place(const fault_block& fault) {
    return fault.cause != fault_cause::exception && fault.cause != fault_cause::time_limit;
}

bool overflows_stack(const fault_block& fault) {
    constexpr std::uint64_t guard = 64 << 10;
    // A large frame may skip the guard pages.
    constexpr std::uint64_t reach = 16 << 20;
    const auto is_below = [&](std::uint64_t address, std::uint64_t distance) {
        return address < fault.stack_low && fault.stack_low - address <= distance;
    };
    if (fault.cause != fault_cause::signal || fault.stack_low == 0) return false;
    return is_below(fault.address, guard) || is_below(fault.stack_pointer, reach);
}

hmmError_t error_of(const fault_block& fault) {
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

hmmFaultRecord record_of(const fault_block& fault, int device) {
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

void describe(message& out, const fault_block& fault, int device, const char* exception) {
    const auto number = [](std::uint64_t value) { return static_cast<unsigned long long>(value); };
    out.add("device %d, lane %u, items %llu to %llu: ", device, fault.lane,
            number(fault.first_item), number(fault.first_item + fault.item_count - 1));
    describe_cause(out, fault, exception);
}

std::string describe(const fault_block& fault, int device, const char* place,
                     const char* exception) {
    message out;
    describe(out, fault, device, exception);
    if (has_place(fault))
        out.add("; instruction at 0x%llx", static_cast<unsigned long long>(fault.instruction));
    if (*place != '\0') out.add("%s%s", has_place(fault) ? " " : "; ", place);
    return out.text();
}

} // namespace hmmrt
