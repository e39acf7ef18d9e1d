// SPDX-License-Identifier: MIT
// Device code can write to the control block. These tests do so, and the program must survive.
#include "api/process.hpp"
#include "runtime_checks.hpp"
#include "work/device.hpp"

#include <climits>
#include <cstring>
#include <optional>
#include <poll.h>
#include <sys/mman.h>
#include <sys/syscall.h>

using namespace hmmrt;

namespace {

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

void nothing(void*, std::uint64_t, std::uint64_t) {}

TEST_F(ControlBlock, WithoutLanesInItLaunchesAreCutAsBefore) {
    block().lane_count = 0;
    launch(nothing);
    EXPECT_EQ(code_of([&] { gpu.synchronize(); }), hmmSuccess);
}

TEST_F(ControlBlock, AFaultThatIsNeverDescribedIsOfUnknownCause) {
    launch([](void*, std::uint64_t, std::uint64_t) {
        block().sticky.store(static_cast<std::uint32_t>(sticky_state::recording));
    });
    EXPECT_EQ(code_of([&] { gpu.synchronize(); }), hmmErrorLaunchFailure);
    gpu.reset();
    launch(nothing);
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
        fault_block fault;
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
                fault_block fault = {};
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

TEST_F(ControlBlock, ACallOfNoKnownKindIsNotMade) {
    EXPECT_EQ(call(static_cast<call_kind>(77), SYS_getpid), -EINVAL);
    EXPECT_EQ(call(call_kind::system_call, SYS_getpid), getpid());
}

TEST_F(ControlBlock, NoKindOfCallUnmapsTheSlot) {
    const std::uint64_t slot = block().slot;
    for (const call_kind kind : {call_kind::system_call, call_kind::signal_call})
        EXPECT_EQ(call(kind, SYS_munmap, {slot + slot_image_offset, page_size}), -EINVAL);
}

} // namespace
