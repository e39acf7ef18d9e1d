// SPDX-License-Identifier: MIT
#include "report.hpp"

#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace hmmrt {
namespace {

struct named_call {
    int number;
    const char* name;
};

constexpr named_call named_calls[] = {
#include "syscall_names.inc"
};

[[gnu::format(printf, 1, 2)]] std::string format(const char* pattern, ...) {
    char buffer[256];
    va_list arguments;
    va_start(arguments, pattern);
    std::vsnprintf(buffer, sizeof(buffer), pattern, arguments);
    va_end(arguments);
    return buffer;
}

std::string signal_name(int signal) {
    const char* abbreviation = sigabbrev_np(signal);
    return abbreviation != nullptr ? format("SIG%s", abbreviation) : format("signal %d", signal);
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
        return "the mapping does not permit it";
    case EOPNOTSUPP:
        return "memory that a device cannot reach";
    case ENOMEM:
        return "out of memory";
    default:
        return "the access failed";
    }
}

std::string describe_signal(const fault_block& fault) {
    if (fault.signal != SIGSEGV && fault.signal != SIGBUS) return signal_name(fault.signal);
    if (fault.access == 0)
        return signal_name(fault.signal) + ", not a page fault (an address no pointer can have, or "
                                           "an instruction that programs may not use)";
    return format("%s of address 0x%llx, %s", access_name(fault.access),
                  static_cast<unsigned long long>(fault.address), reason_text(fault.error_number));
}

std::string describe_cause(const fault_block& fault) {
    switch (fault.cause) {
    case fault_cause::signal:
        return describe_signal(fault);
    case fault_cause::system_call:
        return "system call " + system_call_name(fault.system_call) + " is not allowed here";
    case fault_cause::raised_signal:
        return "raised " + signal_name(fault.signal) + " by " + system_call_name(fault.system_call);
    case fault_cause::foreign_call:
        return format("system call %d of another architecture", fault.system_call);
    }
    return "unknown cause";
}

} // namespace

std::string system_call_name(int number) {
    for (const named_call& call : named_calls)
        if (call.number == number) return call.name;
    return format("number %d", number);
}

hmmError_t error_of(const fault_block& fault) {
    switch (fault.cause) {
    case fault_cause::system_call:
    case fault_cause::foreign_call:
        return hmmErrorSystemCall;
    case fault_cause::raised_signal:
        return hmmErrorAssert;
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
    return record;
}

std::string describe(const fault_block& fault, int device) {
    const auto number = [](std::uint64_t value) { return static_cast<unsigned long long>(value); };
    return format("device %d, lane %u, items %llu to %llu: ", device, fault.lane,
                  number(fault.first_item), number(fault.first_item + fault.item_count - 1)) +
           describe_cause(fault) + format("; instruction at 0x%llx", number(fault.instruction));
}

} // namespace hmmrt
