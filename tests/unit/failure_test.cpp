// SPDX-License-Identifier: MIT
// Device failures with a fake kernel: exceptions, time limits, messages on standard error, and
// device code that writes to the control block, which the program must survive.
#include "fault/report.hpp"

#include "api/process.hpp"
#include "runtime_checks.hpp"
#include "session/device.hpp"
#include "sys/syscalls.hpp"

#include <climits>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <sys/syscall.h>
#include <utility>

using namespace hmmrt;

namespace {

class Failure : public testing::Test {
  protected:
    Failure() { kernel.take_errors(); }
    ~Failure() override {
        hmmDeviceReset();
        kernel.environment.clear();
        forget_errors();
    }

    template <class Function>
    static void run(Function body) {
        hmm::launch(1, [&](std::size_t) { body(); });
        hmm::synchronize();
    }

    static void spin() { wait_until(fakes::fake_kernel::agent_is_gone); }
};

// ---- exceptions

TEST_F(Failure, AnExceptionOfAKernelIsNestedInTheError) {
    try {
        run([] { throw std::out_of_range("number 7"); });
        FAIL();
    } catch (const hmm::error& error) {
        EXPECT_EQ(error.code(), hmmErrorAssert);
        EXPECT_TRUE(
            mentions(error.what(), {"exception in the kernel: std::out_of_range: number 7"}));
        try {
            std::rethrow_if_nested(error);
            FAIL();
        } catch (const std::out_of_range& original) {
            EXPECT_STREQ(original.what(), "number 7");
        }
    }
    EXPECT_TRUE(
        mentions(kernel.take_errors(),
                 {"exception in the kernel: std::out_of_range: number 7 (hmmErrorAssert)"}));
}

TEST_F(Failure, AnythingThatIsThrownKeepsItsType) {
    struct own {
        int value;
    };
    bool caught = false;
    try {
        run([] { throw own{42}; });
    } catch (const hmm::error& error) {
        try {
            std::rethrow_if_nested(error);
        } catch (const own& original) {
            caught = original.value == 42;
        }
    }
    EXPECT_TRUE(caught);
    EXPECT_TRUE(mentions(kernel.take_errors(), {"::own (hmmErrorAssert)"}));
}

TEST_F(Failure, EachLaterCallHasTheExceptionUntilTheReset) {
    EXPECT_THROW(run([] { throw std::runtime_error("once"); }), hmm::error);
    for (int i = 0; i < 2; i++) {
        std::exception_ptr original;
        EXPECT_EQ(hmmDeviceSynchronize(), hmmErrorAssert);
        EXPECT_EQ(hmmGetLastErrorException(&original), hmmSuccess);
        EXPECT_THROW(std::rethrow_exception(original), std::runtime_error);
    }
    EXPECT_EQ(hmmSetDevice(77), hmmErrorInvalidDevice);
    std::exception_ptr other = std::make_exception_ptr(1);
    EXPECT_EQ(hmmGetLastErrorException(&other), hmmSuccess);
    EXPECT_FALSE(other) << "another error has no exception";
    hmm::reset();
    run([] {});
}

TEST_F(Failure, AnErrorWithoutAnExceptionHasNothingNested) {
    try {
        run([] { kernel.raise(SIGSEGV); });
        FAIL();
    } catch (const hmm::error& error) {
        EXPECT_EQ(error.code(), hmmErrorIllegalAddress);
        EXPECT_NO_THROW(std::rethrow_if_nested(error));
    }
}

TEST_F(Failure, AnExceptionOfAKernelOfTheCInterfaceIsKeptToo) {
    const hmmKernel_t kernel_that_throws = [](const hmmThreadIndex*, void*) {
        throw std::logic_error("in a grid");
    };
    ASSERT_EQ(hmmLaunchFunction(kernel_that_throws, 4, 4, nullptr, 0, 0, nullptr), hmmSuccess);
    EXPECT_EQ(hmmDeviceSynchronize(), hmmErrorAssert);
    EXPECT_TRUE(mentions(hmmGetLastErrorDetail(), {"std::logic_error: in a grid"}));
}

TEST_F(Failure, TheExceptionIsReleasedByTheReset) {
    auto owned = std::make_shared<int>(1);
    const std::weak_ptr<int> watch = owned;
    EXPECT_THROW(run([&] { throw std::exchange(owned, nullptr); }), hmm::error);
    EXPECT_FALSE(watch.expired());
    hmm::reset();
    EXPECT_EQ(hmmSetDevice(77), hmmErrorInvalidDevice); // replaces the thread's last error
    EXPECT_TRUE(watch.expired());
}

// ---- time

TEST_F(Failure, ALaunchThatTakesTooLongFailsTheDevice) {
    kernel.environment["HMMRT_LAUNCH_TIMEOUT"] = "1";
    hmm::launch(1, [](std::size_t) { spin(); });
    EXPECT_EQ(hmm::synchronize(std::nothrow), hmmErrorLaunchTimeout);
    EXPECT_TRUE(mentions(hmmGetLastErrorDetail(), {"the launch took longer than 1 s "
                                                   "(HMMRT_LAUNCH_TIMEOUT); in "}));
    const std::string written = kernel.take_errors();
    EXPECT_TRUE(mentions(written, {"device 0, lane ",
                                   "the launch took longer than 1 s (HMMRT_LAUNCH_TIMEOUT) "
                                   "(hmmErrorLaunchTimeout)\nhmmrt:   in ",
                                   "ALaunchThatTakesTooLongFailsTheDevice"}));
    hmm::reset();
    run([] {});
}

TEST_F(Failure, LaunchesThatAreQuickTogetherMayTakeLongerThanTheLimit) {
    kernel.environment["HMMRT_LAUNCH_TIMEOUT"] = "1";
    for (int i = 0; i < 8; i++)
        hmm::launch(1, [](std::size_t) { sys::sleep_milliseconds(300); });
    EXPECT_EQ(hmm::synchronize(std::nothrow), hmmSuccess);
}

TEST_F(Failure, WorkThatWaitsForAHostFunctionHasNoLimit) {
    kernel.environment["HMMRT_LAUNCH_TIMEOUT"] = "1";
    hmm::default_stream.call_host([] { sys::sleep_milliseconds(1500); });
    hmm::launch(1, [](std::size_t) {});
    EXPECT_EQ(hmm::synchronize(std::nothrow), hmmSuccess);
}

TEST_F(Failure, ALongWaitSaysWhatRuns) {
    hmm::launch(1, [](std::size_t) {
        for (int i = 0; i < 115 && !kernel.agent_is_gone(); i++)
            sys::sleep_milliseconds(100);
    });
    hmm::synchronize();
    const std::string written = kernel.take_errors();
    EXPECT_TRUE(mentions(written, {"hmmrt: device 0: a thread has been waiting for 10 s; lane ",
                                   " has been running ", "ALongWaitSaysWhatRuns"}));
    EXPECT_EQ(written.find('\n'), written.size() - 1) << "once: " << written;
}

// ---- texts

TEST(FailureText, OfAWaitNamesUpToFourLanes) {
    message text;
    running_lanes lanes;
    add_waiting(text, 1, 10, lanes, names::demangled);
    EXPECT_TRUE(mentions(text.text(), {"hmmrt: device 1: a thread ", " for 10 s; no lane "}));
    lanes.count = 6;
    for (std::uint32_t i = 0; i < lanes.count; i++)
        lanes.lane[i] = {i, 0x10, 5, 10, 9500};
    message more;
    add_waiting(more, 1, 10, lanes, names::demangled);
    EXPECT_TRUE(
        mentions(more.text(), {"; lane 0 has been running the function at 0x10 for 9 s (items 5 "
                               "to 14), lane 1 ",
                               ", and 2 more lanes\n"}));
}

// ---- the control block

class ControlBlock : public testing::Test {
  protected:
    ControlBlock() { gpu.start(); }
    ~ControlBlock() override { gpu.reset(); }

    static control& block() { return kernel.last_control(); }

    void launch(hmmRangeFunction_t function, void* closure = nullptr) {
        work_request request;
        request.function = function;
        request.closure = closure;
        request.items = 1;
        gpu.launch(request);
    }

    /// Makes the parked thread of the first lane start a call.
    static void begin_call(call_kind kind, std::int64_t number,
                           std::initializer_list<std::uint64_t> args = {}) {
        lane_control& lane = block().lanes[0];
        lane.kind = kind;
        lane.number = number;
        std::copy(args.begin(), args.end(), lane.args);
        lane.state.store(static_cast<std::uint32_t>(call_state::requested));
        sys::wake(lane.state);
    }
    static bool comes_to(call_state wanted) {
        const futex_word& state = block().lanes[0].state;
        for (int i = 0; i < 5000 && state.load() != static_cast<std::uint32_t>(wanted); i++)
            sys::sleep_milliseconds(1);
        return state.load() == static_cast<std::uint32_t>(wanted);
    }
    static std::optional<std::int64_t> call(call_kind kind, std::int64_t number,
                                            std::initializer_list<std::uint64_t> args = {}) {
        begin_call(kind, number, args);
        if (!comes_to(call_state::done)) return std::nullopt;
        return block().lanes[0].result;
    }

    process program;
    device& gpu = program.device_at(0);
};

void no_work(void*, std::uint64_t, std::uint64_t) {}

TEST_F(ControlBlock, WithoutLanesInItLaunchesAreCutAsBefore) {
    block().lane_count = 0;
    launch(no_work);
    EXPECT_EQ(code_of([&] { gpu.synchronize(); }), hmmSuccess);
}

TEST_F(ControlBlock, AFaultThatIsNeverDescribedIsOfUnknownCause) {
    launch([](void*, std::uint64_t, std::uint64_t) {
        block().sticky.store(static_cast<std::uint32_t>(sticky_state::recording));
    });
    EXPECT_EQ(code_of([&] { gpu.synchronize(); }), hmmErrorLaunchFailure);
    gpu.reset();
    launch(no_work);
    EXPECT_EQ(code_of([&] { gpu.synchronize(); }), hmmSuccess);
}

TEST_F(ControlBlock, AFaultStaysAsItWasFirstSeen) {
    launch([](void*, std::uint64_t, std::uint64_t) { kernel.raise(SIGSEGV); });
    EXPECT_EQ(code_of([&] { gpu.synchronize(); }), hmmErrorIllegalAddress);
    block().fault.signal = SIGILL;
    EXPECT_EQ(gpu.last_fault().signal, SIGSEGV);
    block().sticky.store(static_cast<std::uint32_t>(sticky_state::none));
    EXPECT_EQ(code_of([&] { gpu.synchronize(); }), hmmErrorIllegalAddress);
}

TEST_F(ControlBlock, AFaultOfNoKnownKindIsReported) {
    launch([](void*, std::uint64_t, std::uint64_t) {
        fault_record fault;
        std::memset(&fault, 0x80, sizeof(fault));
        fault.system_call = INT_MIN;
        fakes::fake_kernel::fault(fault);
    });
    EXPECT_EQ(code_of([&] { gpu.synchronize(); }), hmmErrorLaunchFailure);
    EXPECT_EQ(gpu.last_fault().system_call, INT_MIN);
}

TEST_F(ControlBlock, AnExceptionThatNoLaneHasKeptIsReported) {
    for (const std::uint32_t lane : {0u, max_lanes, UINT32_MAX}) {
        launch(
            [](void* closure, std::uint64_t, std::uint64_t) {
                fault_record fault = {};
                fault.cause = fault_cause::exception;
                fault.lane = *static_cast<std::uint32_t*>(closure);
                fakes::fake_kernel::fault(fault);
            },
            const_cast<std::uint32_t*>(&lane));
        EXPECT_EQ(code_of([&] { gpu.synchronize(); }), hmmErrorAssert);
        gpu.reset();
    }
}

TEST_F(ControlBlock, AnErrorOfNoKnownKindIsReported) {
    block().memory_error.store(~std::uint64_t{0});
    EXPECT_NE(code_of([&] { gpu.synchronize(); }), hmmSuccess);
    EXPECT_EQ(code_of([&] { gpu.synchronize(); }), hmmSuccess);
}

TEST_F(ControlBlock, AResetBreaksTheCallOfAThreadWithAWrongId) {
    begin_call(call_kind::system_call, SYS_poll, {0, 0, static_cast<std::uint64_t>(-1)});
    ASSERT_TRUE(comes_to(call_state::running));
    block().lanes[0].app_tid = getpid();
    gpu.reset(); // hangs if it breaks the calls of another thread
}

TEST_F(ControlBlock, OnlyTheProgramMayEndAParkedThread) {
    block().lanes[0].state.store(static_cast<std::uint32_t>(call_state::quit));
    sys::wake(block().lanes[0].state);
    sys::sleep_milliseconds(50);
    EXPECT_EQ(call(call_kind::system_call, SYS_getpid), getpid());
}

TEST_F(ControlBlock, ForbiddenCallsAreNotMade) {
    EXPECT_EQ(call(static_cast<call_kind>(77), SYS_getpid), -EINVAL);
    EXPECT_EQ(call(call_kind::system_call, SYS_getpid), getpid());
    const std::uint64_t slot = block().slot;
    for (const call_kind kind : {call_kind::system_call, call_kind::signal_call})
        EXPECT_EQ(call(kind, SYS_munmap, {slot + slot_image_offset, page_size}), -EINVAL);
}

} // namespace
