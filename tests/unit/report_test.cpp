// SPDX-License-Identifier: MIT
#include "fault/report.hpp"

#include "fault/sanitizer.hpp"
#include "messages.hpp"

#include <cerrno>
#include <csignal>
#include <sys/syscall.h>

using namespace hmmrt;

namespace {

#ifdef __SANITIZE_ADDRESS__
constexpr bool has_sanitizer = true;
#else
constexpr bool has_sanitizer = false;
#endif

fault_block memory_fault() {
    fault_block fault = {};
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

TEST(Report, DescribesAMemoryFaultInWords) {
    const std::string text = describe(memory_fault(), 1);
    EXPECT_TRUE(text.starts_with("device 1, lane 3, items 10 to 14: write at address 0x1000: "))
        << text;
    EXPECT_TRUE(mentions(text, {"the mapping does not "}));
    EXPECT_TRUE(text.ends_with("; instruction at 0x2000")) << text;
}

TEST(Report, AddsThePlaceOfTheInstruction) {
    EXPECT_TRUE(
        mentions(describe(memory_fault(), 1, "f()+0x1, a.cpp:2"), {"at 0x2000 f()+0x1, a.cpp:2"}));
}

TEST(Report, SaysThatAStackOverflowed) {
    fault_block fault = memory_fault();
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

TEST(Report, NamesTheRefusedCall) {
    fault_block fault = memory_fault();
    fault.cause = fault_cause::system_call;
    fault.system_call = SYS_exit_group;
    EXPECT_EQ(error_of(fault), hmmErrorSystemCall);
    EXPECT_TRUE(mentions(describe(fault, 0), {"system call exit_group "}));
}

TEST(Report, AnExitUnderASanitizerIsOneOfTheProgram) {
    fault_block fault = memory_fault();
    fault.exit_status = 7;
    EXPECT_EQ(status_of_sanitizer(fault), 0) << "the fault is another one";
    fault.cause = fault_cause::system_call;
    fault.system_call = SYS_exit_group;
    EXPECT_EQ(status_of_sanitizer(fault), has_sanitizer ? 7 : 0);
    fault.exit_status = 0;
    EXPECT_EQ(status_of_sanitizer(fault), 0) << "exit(), which ends the launch";
}

TEST(Report, CallsWithoutANameAreNumbered) {
    EXPECT_EQ(system_call_name(SYS_read), "read");
    EXPECT_EQ(system_call_name(9999), "number 9999");
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
        fault_block fault = memory_fault();
        fault.cause = each.cause;
        fault.signal = each.signal;
        EXPECT_EQ(error_of(fault), each.error) << describe(fault, 0);
    }
}

} // namespace
