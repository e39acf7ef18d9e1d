// SPDX-License-Identifier: MIT
// Reports of faults, the place of their code, and the names of errors.
#include "fault/report.hpp"

#include "fault/code_place.hpp"
#include "fault/sanitizer.hpp"
#include "hmm/hmm_runtime.h"
#include "messages.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>
#include <sys/syscall.h>
#include <vector>

using namespace hmmrt;

namespace {

#ifdef __SANITIZE_ADDRESS__
constexpr bool has_sanitizer = true;
#else
constexpr bool has_sanitizer = false;
#endif

fault_record memory_fault() {
    fault_record fault = {};
    fault.cause = fault_cause::signal;
    fault.signal = SIGSEGV;
    fault.lane = 3;
    fault.access = HMM_ACCESS_WRITE;
    fault.error_number = EACCES;
    fault.system_call = -1;
    fault.address = 0x1000;
    fault.instruction = 0x2000;
    fault.first_item = 10;
    fault.item_count = 5;
    fault.thread = 0x3000;
    return fault;
}

TEST(Report, RecordHoldsWhatTheLaneSaw) {
    const hmmFaultRecord record = record_of(memory_fault(), 1);
    EXPECT_EQ(record.error, hmmErrorIllegalAddress);
    EXPECT_EQ(record.device, 1);
    EXPECT_EQ(record.lane, 3);
    EXPECT_EQ(record.signal, SIGSEGV);
    EXPECT_EQ(record.access, static_cast<int>(HMM_ACCESS_WRITE));
    EXPECT_EQ(record.error_number, EACCES);
    EXPECT_EQ(record.system_call, -1);
    EXPECT_EQ(record.address, 0x1000u);
    EXPECT_EQ(record.instruction, 0x2000u);
    EXPECT_EQ(record.first_item, 10u);
    EXPECT_EQ(record.item_count, 5u);
    EXPECT_EQ(record.thread, 0x3000u);
}

TEST(Report, DescribesAMemoryFaultInWordsWithThePlaceOfTheInstruction) {
    const std::string text = describe(memory_fault(), 1);
    EXPECT_TRUE(text.starts_with("device 1, lane 3, items 10 to 14: write at address 0x1000: "))
        << text;
    EXPECT_TRUE(mentions(text, {"the mapping does not "}));
    EXPECT_TRUE(text.ends_with("; instruction at 0x2000")) << text;
    EXPECT_TRUE(
        mentions(describe(memory_fault(), 1, "f()+0x1, a.cpp:2"), {"at 0x2000 f()+0x1, a.cpp:2"}));
}

TEST(Report, SaysThatAStackOverflowed) {
    fault_record fault = memory_fault();
    fault.stack_low = 0x7f0000100000;
    fault.stack_bytes = 8 << 20;
    fault.stack_pointer = fault.stack_low + 4096;
    for (const std::uint64_t distance : {1, 4096, 64 << 10}) {
        fault.address = fault.stack_low - distance;
        EXPECT_TRUE(
            mentions(describe(fault, 0), {"stack overflow in lane 3 (8 MiB), write at address "}))
            << distance;
    }
    fault.stack_bytes = 1536 << 10;
    EXPECT_TRUE(mentions(describe(fault, 0), {"stack overflow in lane 3 (1536 KiB), "}));
    fault.address = fault.stack_low - (64 << 10) - 1;
    EXPECT_FALSE(overflows_stack(fault));
    fault.stack_pointer = fault.stack_low - (1 << 20); // a large frame
    EXPECT_TRUE(overflows_stack(fault));
    fault.cause = fault_cause::raised_signal;
    EXPECT_FALSE(overflows_stack(fault));
}

TEST(Report, NamesTheRefusedCallOrHasItsNumber) {
    fault_record fault = memory_fault();
    fault.cause = fault_cause::system_call;
    fault.system_call = SYS_exit_group;
    EXPECT_EQ(error_of(fault), hmmErrorSystemCall);
    EXPECT_TRUE(mentions(describe(fault, 0), {"system call exit_group "}));
    EXPECT_EQ(system_call_name(SYS_read), "read");
    EXPECT_EQ(system_call_name(9999), "number 9999");
}

TEST(Report, AnExitUnderASanitizerIsOneOfTheProgram) {
    fault_record fault = memory_fault();
    fault.exit_status = 7;
    EXPECT_EQ(status_of_sanitizer(fault), 0) << "the fault is another one";
    fault.cause = fault_cause::system_call;
    fault.system_call = SYS_exit_group;
    EXPECT_EQ(status_of_sanitizer(fault), has_sanitizer ? 7 : 0);
    fault.exit_status = 0;
    EXPECT_EQ(status_of_sanitizer(fault), 0) << "exit(), which ends the launch";
}

TEST(Report, EachCauseHasItsError) {
    const struct {
        fault_cause cause;
        int signal;
        hmmError_t error;
    } cases[] = {
        {fault_cause::signal, SIGBUS, hmmErrorIllegalAddress},
        {fault_cause::signal, SIGILL, hmmErrorIllegalInstruction},
        {fault_cause::signal, SIGFPE, hmmErrorLaunchFailure},
        {fault_cause::signal, SIGTRAP, hmmErrorLaunchFailure},
        {fault_cause::raised_signal, SIGABRT, hmmErrorAssert},
        {fault_cause::foreign_call, SIGSYS, hmmErrorSystemCall},
    };
    for (const auto& each : cases) {
        fault_record fault = memory_fault();
        fault.cause = each.cause;
        fault.signal = each.signal;
        EXPECT_EQ(error_of(fault), each.error) << describe(fault, 0);
    }
}

// ---- the place of code

constexpr unsigned line_of_function = __LINE__ + 1;
[[gnu::noinline]] int has_a_name(int value) {
    asm volatile("" : "+r"(value));
    return value + 1;
}

std::uint64_t address(const void* pointer) {
    return reinterpret_cast<std::uint64_t>(pointer);
}

TEST(CodePlace, AFunctionOfTheProgramHasNameFileLineAndOffset) {
    const auto* const begin = reinterpret_cast<const void*>(&has_a_name);
    const code_place place = find_code(address(begin));
    EXPECT_TRUE(mentions(place.function, {"has_a_name"}));
    EXPECT_EQ(place.offset, 0u);
    EXPECT_TRUE(mentions(place.object, {"hmmrt-unit-tests"}));
    EXPECT_TRUE(mentions(place.source.file, {"report_test.cpp"}));
    // Optimised code starts with any line of the function.
    EXPECT_GE(place.source.line, line_of_function);
    EXPECT_LE(place.source.line, line_of_function + 3);
    EXPECT_FALSE(is_system_object(place.object));
    EXPECT_EQ(find_code(address(begin) + 1).offset, 1u);
}

TEST(CodePlace, AFunctionOfALibraryHasAName) {
    const code_place place = find_code(address(reinterpret_cast<const void*>(&std::strtoull)));
    EXPECT_TRUE(mentions(place.function, {"strtoull"}));
    EXPECT_TRUE(is_system_object(place.object)) << place.object;
}

TEST(CodePlace, AddressesWithoutCodeHaveNoName) {
    int local = 0;
    for (const std::uint64_t where : {std::uint64_t{0}, std::uint64_t{0x1000}, address(&local)}) {
        const code_place place = find_code(where);
        EXPECT_STREQ(place.function, "") << where;
        EXPECT_EQ(place.source.line, 0u) << where;
    }
}

TEST(CodePlace, SystemObjectsAreKnownByTheirFileName) {
    EXPECT_TRUE(is_system_object("/lib/x86_64-linux-gnu/libc.so.6"));
    EXPECT_TRUE(is_system_object("/lib64/ld-linux-x86-64.so.2"));
    EXPECT_FALSE(is_system_object("/home/user/libcurl.so"));
    EXPECT_FALSE(is_system_object("/opt/libc.so/program"));
}

/// A unit of DWARF 4 with one file and these instructions.
std::vector<unsigned char> unit_of(const std::vector<unsigned char>& instructions) {
    std::vector<unsigned char> tables = {1, 1, 1, 0xfb, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1};
    for (const char* text : {"dir", "", "main.cpp"})
        tables.insert(tables.end(), text, text + std::strlen(text) + 1);
    tables.insert(tables.end(), {1, 0, 0, 0});
    std::vector<unsigned char> unit = {4, 0, static_cast<unsigned char>(tables.size()), 0, 0, 0};
    unit.insert(unit.end(), tables.begin(), tables.end());
    unit.insert(unit.end(), instructions.begin(), instructions.end());
    std::vector<unsigned char> all = {static_cast<unsigned char>(unit.size()), 0, 0, 0};
    all.insert(all.end(), unit.begin(), unit.end());
    return all;
}

source_line line_at(const std::vector<unsigned char>& bytes, std::uint64_t where) {
    return find_line({{bytes.data(), bytes.size()}, {}, {}}, where);
}

// set address 0x1000; line 10; copy; address +4; line +1; copy; address +4; end
const std::vector<unsigned char> two_lines = {0, 9, 2, 0, 0x10, 0, 0, 0, 0, 0, 0, 3,
                                              9, 1, 2, 4, 3,    1, 1, 2, 4, 0, 1, 1};

TEST(LineTable, ARowCoversTheAddressesUpToTheNext) {
    const auto bytes = unit_of(two_lines);
    EXPECT_EQ(line_at(bytes, 0xfff).line, 0u);
    EXPECT_EQ(line_at(bytes, 0x1000).line, 10u);
    EXPECT_EQ(line_at(bytes, 0x1003).line, 10u);
    EXPECT_EQ(line_at(bytes, 0x1004).line, 11u);
    EXPECT_EQ(line_at(bytes, 0x1007).line, 11u);
    EXPECT_EQ(line_at(bytes, 0x1008).line, 0u);
    EXPECT_STREQ(line_at(bytes, 0x1000).file, "dir/main.cpp");
}

TEST(LineTable, TablesThatAreCutOrDamagedAreReadSafely) {
    const auto whole = unit_of(two_lines);
    for (std::size_t size = 0; size < whole.size(); size++) {
        const std::vector<unsigned char> cut(whole.begin(),
                                             whole.begin() + static_cast<std::ptrdiff_t>(size));
        line_at(cut, 0x1004);
    }
    for (std::size_t i = 0; i < whole.size(); i++)
        for (const unsigned char value : {0x00, 0x7f, 0x80, 0xff}) {
            auto damaged = whole;
            damaged[i] = value;
            line_at(damaged, 0x1004);
        }
}

// ---- names of errors

constexpr hmmError_t all_errors[] = {
    hmmSuccess,
    hmmErrorInvalidValue,
    hmmErrorMemoryAllocation,
    hmmErrorInitializationError,
    hmmErrorInvalidConfiguration,
    hmmErrorInvalidMemcpyDirection,
    hmmErrorInsufficientDriver,
    hmmErrorDevicesUnavailable,
    hmmErrorNoDevice,
    hmmErrorInvalidDevice,
    hmmErrorPeerAccessUnsupported,
    hmmErrorInvalidResourceHandle,
    hmmErrorNotReady,
    hmmErrorIllegalAddress,
    hmmErrorPeerAccessAlreadyEnabled,
    hmmErrorPeerAccessNotEnabled,
    hmmErrorAssert,
    hmmErrorHostMemoryAlreadyRegistered,
    hmmErrorHostMemoryNotRegistered,
    hmmErrorIllegalInstruction,
    hmmErrorLaunchFailure,
    hmmErrorNotPermitted,
    hmmErrorNotSupported,
    hmmErrorUnknown,
    hmmErrorSystemCall,
    hmmErrorDeviceLost,
    hmmErrorForkedProcess,
};

TEST(Error, EveryCodeHasItsNameAndASentenceAndAnUnknownOneIsNotNull) {
    for (const hmmError_t code : all_errors) {
        const std::string name = hmmGetErrorName(code);
        EXPECT_EQ(name.rfind("hmm", 0), 0u) << code;
        EXPECT_FALSE(std::string(hmmGetErrorString(code)).empty()) << name;
    }
    EXPECT_STREQ(hmmGetErrorName(hmmErrorIllegalAddress), "hmmErrorIllegalAddress");
    EXPECT_STREQ(hmmGetErrorName(static_cast<hmmError_t>(4711)), "unrecognized error code");
    EXPECT_STREQ(hmmGetErrorString(static_cast<hmmError_t>(4711)), "unrecognized error code");
    const std::string text = hmmGetErrorString(hmmErrorNoDevice);
    EXPECT_TRUE(mentions(text, {"modprobe hmmrt_simgpu", "tools/vm"}));
}

} // namespace
