// SPDX-License-Identifier: MIT
// Streams and events with a fake kernel and a fake agent.
#include "api/process.hpp"
#include "base/handle_table.hpp"
#include "runtime_checks.hpp"
#include "session/device.hpp"

#include <chrono>
#include <ucontext.h>
#include <utility>

using namespace hmmrt;

namespace {

class Streams : public testing::Test {
  protected:
    ~Streams() override {
        EXPECT_EQ(hmmSetDevice(0), hmmSuccess);
        hmmDeviceReset();
        forget_errors();
    }

    static hmmError_t launch_nothing(hmmStream_t in) {
        return hmmLaunchRange([](void*, std::uint64_t, std::uint64_t) {}, nullptr, 1, nullptr, in);
    }
    static void hold(hmm::stream_ref in, const std::atomic<bool>& go) {
        hmm::launch(in, 1, [&go](std::size_t) { wait_on_device(go); });
    }
};

TEST_F(Streams, ArgumentsAreChecked) {
    hmmStream_t stream;
    hmmEvent_t event;
    EXPECT_EQ(hmmStreamCreateWithFlags(&stream, 2), hmmErrorInvalidValue);
    EXPECT_EQ(hmmLaunchHostFunc(nullptr, nullptr, nullptr), hmmErrorInvalidValue);
    EXPECT_EQ(hmmEventCreateWithFlags(&event, 4), hmmErrorInvalidValue);
    EXPECT_EQ(hmmEventCreateWithFlags(&event, hmmEventBlockingSync | hmmEventDisableTiming),
              hmmSuccess);
    EXPECT_EQ(hmmEventDestroy(event), hmmSuccess);
    EXPECT_EQ(hmmEventDestroy(event), hmmErrorInvalidResourceHandle);
}

TEST_F(Streams, TimesComeFromTheDevice) {
    const hmm::stream one;
    const hmm::event first, second;
    one.record(first);
    one.record(second);
    second.synchronize();
    EXPECT_EQ(hmm::elapsed(first, second).count(), 1.0f);
    EXPECT_EQ(hmm::elapsed(second, first).count(), -1.0f);
}

TEST_F(Streams, AnEventStaysDoneHoweverMuchFollows) {
    const hmm::stream one;
    const hmm::event first = one.record();
    for (std::uint32_t i = 0; i < 3 * ring_entries; i++)
        ASSERT_EQ(launch_nothing(one.get()), hmmSuccess);
    one.synchronize();
    EXPECT_TRUE(first.ready());
    EXPECT_EQ(hmm::elapsed(first, first).count(), 0.0f);
}

TEST_F(Streams, ClosuresGoWithTheirStreamsWork) {
    const hmm::stream one;
    auto owned = std::make_shared<int>(1);
    const std::weak_ptr<int> watch = owned;
    hmm::launch(one, 1, [owned = std::move(owned)](std::size_t) {});
    one.synchronize();
    EXPECT_TRUE(watch.expired());
}

TEST_F(Streams, AClosuresDestructorMayUseStreams) {
    struct user {
        hmm::stream mine;
        ~user() {
            if (mine.get() != nullptr) launch_nothing(mine.get());
        }
    };
    auto shared = std::make_shared<user>();
    const hmm::stream one;
    hmm::launch(one, 1, [shared = std::move(shared)](std::size_t) {});
    for (std::uint32_t i = 0; i < ring_entries; i++)
        launch_nothing(one.get());
    hmm::synchronize();
}

TEST_F(Streams, HostFunctionsAndKernelsTakeTurns) {
    const hmm::stream one;
    std::vector<int> order;
    for (int i = 0; i < 20; i++) {
        one.call_host([&order, i] { order.push_back(2 * i); });
        hmm::launch(one, 1, [&order, i](std::size_t) { order.push_back(2 * i + 1); });
    }
    one.synchronize();
    ASSERT_EQ(order.size(), 40u);
    for (int i = 0; i < 40; i++)
        EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
}

TEST_F(Streams, AHostFunctionInTheLegacyStreamWaitsForBlockingOnes) {
    const hmm::stream blocking;
    std::atomic<bool> go = false, called = false, after = false;
    hold(blocking, go);
    hmm::default_stream.call_host([&] { called = true; });
    hmm::launch(blocking, 1, [&](std::size_t) { after = called.load(); });
    EXPECT_FALSE(hmm::default_stream.idle());
    EXPECT_FALSE(called);
    go = true;
    hmm::synchronize();
    EXPECT_TRUE(after);
}

TEST_F(Streams, AWaitInTheLegacyStreamStandsBetweenOthersWhateverItWaitsFor) {
    const hmm::event never;
    const int started = kernel.agents_started;
    hmm::default_stream.wait(never);
    EXPECT_EQ(kernel.agents_started, started);

    const hmm::stream before, after, apart(hmmStreamNonBlocking);
    const hmm::event happened = before.record();
    happened.synchronize();
    for (const hmm::event* each : {&happened, &never}) {
        std::atomic<bool> go = false, seen = false;
        hold(before, go);
        hmm::default_stream.wait(*each);
        hmm::launch(after, 1, [&](std::size_t) { seen = go.load(); });
        hmm::launch(apart, 1, [&](std::size_t) { go = true; });
        hmm::synchronize();
        EXPECT_TRUE(seen);
    }
}

TEST_F(Streams, AFaultIsSeenByAllAndNothingIsCalled) {
    const hmm::stream bad, good;
    std::atomic<bool> go = false;
    bool called = false;
    hold(bad, go);
    hmm::launch(bad, 1, [](std::size_t) { kernel.raise(SIGSEGV); });
    bad.call_host([&] { called = true; });
    go = true;
    EXPECT_EQ(hmmDeviceSynchronize(), hmmErrorIllegalAddress);
    EXPECT_EQ(hmmStreamQuery(good.get()), hmmErrorIllegalAddress);
    EXPECT_EQ(launch_nothing(good.get()), hmmErrorIllegalAddress);
    EXPECT_FALSE(called);
}

/// Queues work in @in that makes the device fail once @go is set.
void fail_after(hmm::stream_ref in, const std::atomic<bool>& go) {
    hmm::launch(in, 1, [&go](std::size_t) {
        wait_on_device(go);
        kernel.raise(SIGSEGV);
    });
}

TEST_F(Streams, AskingAfterAFaultDoesNotWaitForHostFunctions) {
    const hmm::stream calls, bad;
    const hmm::event some = calls.record();
    std::atomic<bool> inside = false, leave = false, left = false;
    const std::atomic<bool> at_once = true;
    calls.call_host([&] {
        inside = true;
        wait_for(leave);
        left = true;
    });
    wait_for(inside);
    fail_after(bad, at_once);
    wait_until([&] { return hmmStreamQuery(bad.get()) == hmmErrorIllegalAddress; });
    EXPECT_EQ(hmmStreamQuery(calls.get()), hmmErrorIllegalAddress);
    EXPECT_EQ(hmmEventQuery(some.get()), hmmErrorIllegalAddress);
    EXPECT_FALSE(left);
    leave = true;
    EXPECT_EQ(hmmStreamSynchronize(calls.get()), hmmErrorIllegalAddress);
    EXPECT_TRUE(left);
}

TEST_F(Streams, AfterAFaultWhatHostFunctionsOwnedIsDestroyedWhenAWaitIsOver) {
    const hmm::stream bad;
    std::atomic<bool> go = false;
    std::atomic<int> gone = 0;
    const auto slowly = [&](void*) {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        ++gone;
    };
    fail_after(bad, go);
    for (int i = 0; i < 3; i++)
        bad.call_host(
            [owned = std::shared_ptr<void>(nullptr, slowly)] { ADD_FAILURE() << "called"; });
    go = true;
    EXPECT_EQ(hmmStreamSynchronize(bad.get()), hmmErrorIllegalAddress);
    EXPECT_EQ(gone, 3);
}

/// A thread that waits for @held, and then runs until it is cancelled.
struct waiting_thread {
    hmmStream_t held;
    hmmEvent_t over;
    hmmError_t (*wait)(const waiting_thread& self);
    std::atomic<bool> returned = false;
    std::atomic<hmmError_t> code = hmmErrorUnknown;

    static void* run(void* raw) {
        auto& self = *static_cast<waiting_thread*>(raw);
        self.code = self.wait(self);
        self.returned = true;
        for (;;)
            usleep(1000);
    }
};

TEST_F(Streams, AThreadThatIsCancelledInAWaitReturnsFromItFirst) {
    static char memory[2][16];
    constexpr hmmError_t (*waits[])(const waiting_thread&) = {
        [](const waiting_thread& self) { return hmmStreamSynchronize(self.held); },
        [](const waiting_thread& self) { return hmmEventSynchronize(self.over); },
        [](const waiting_thread&) { return hmmDeviceSynchronize(); },
        [](const waiting_thread&) { return hmmMemcpy(memory[0], memory[1], 16, hmmMemcpyDefault); },
        [](const waiting_thread&) { return hmmMemset(memory[0], 1, 16); }};
    for (const auto& wait : waits) {
        const std::ptrdiff_t number = &wait - waits;
        const hmm::stream held;
        std::atomic<bool> go = false;
        hold(held, go);
        const hmm::event over = held.record();
        waiting_thread self = {held.get(), over.get(), wait};
        kernel.agent_checks = 0;
        pthread_t thread;
        ASSERT_EQ(pthread_create(&thread, nullptr, waiting_thread::run, &self), 0);
        wait_until([] { return kernel.agent_checks != 0; });
        EXPECT_EQ(pthread_cancel(thread), 0);
        kernel.agent_checks = 0;
        wait_until([] { return kernel.agent_checks >= 2; });
        EXPECT_FALSE(self.returned) << number;
        go = true;
        void* result = nullptr;
        ASSERT_EQ(pthread_join(thread, &result), 0);
        EXPECT_EQ(result, PTHREAD_CANCELED) << number;
        EXPECT_TRUE(self.returned) << number;
        EXPECT_EQ(self.code, hmmSuccess) << number;
    }
}

std::atomic<bool> fail_now, has_failed;
std::atomic<int> steps_left;

/// From here on the thread single-steps: SIGTRAP stops it at each instruction.
void begin_steps(void*) {
    asm volatile("lea -128(%%rsp), %%rsp; pushfq; orq $0x100, (%%rsp); popfq; lea 128(%%rsp), %%rsp"
                 :
                 :
                 : "memory", "cc");
}

void end_steps() {
    asm volatile(
        "lea -128(%%rsp), %%rsp; pushfq; andq $~0x100, (%%rsp); popfq; lea 128(%%rsp), %%rsp"
        :
        :
        : "memory", "cc");
}

/// At the last step the device fails, and single-stepping ends.
void take_step(int, siginfo_t*, void* raw_context) {
    if (--steps_left > 0) return;
    static_cast<ucontext_t*>(raw_context)->uc_mcontext.gregs[REG_EFL] &= ~0x100;
    fail_now = true;
    while (!has_failed)
        continue;
}

/// Single-stepping begins where the wait destroys the closure of finished work, just before it
/// checks for errors. A binary search finds the last step at which a fault is early enough to be
/// noticed.
TEST_F(Streams, AFaultWhenAWaitEndsIsSeenWithAllItsConsequencesOrNotAtAll) {
    struct sigaction action = {}, old;
    action.sa_sigaction = take_step;
    action.sa_flags = SA_SIGINFO;
    ASSERT_EQ(sigaction(SIGTRAP, &action, &old), 0);
    int seen = 0, missed = 1 << 16;
    while (missed - seen > 1) {
        const int steps = (seen + missed) / 2;
        const hmm::stream one, bad;
        std::atomic<bool> go = false, inside = false, left = false;
        fail_now = has_failed = false;
        steps_left = steps;
        hmm::launch(bad, 1, [](std::size_t) {
            wait_for(fail_now);
            kernel.raise(SIGSEGV);
            has_failed = true;
        });
        const auto wait_for_go = [](void* closure, std::uint64_t, std::uint64_t) {
            wait_for(*static_cast<std::atomic<bool>*>(closure));
        };
        ASSERT_EQ(hmmLaunchRange(wait_for_go, &go, 1, begin_steps, one.get()), hmmSuccess);
        const hmm::event over = one.record();
        one.call_host([&] {
            inside = true;
            wait_for(has_failed);
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
            left = true;
        });
        go = true;
        wait_for(inside);
        const hmmError_t code = hmmEventSynchronize(over.get());
        end_steps();
        const bool waited = left;
        EXPECT_TRUE(code == hmmSuccess || (code == hmmErrorIllegalAddress && waited))
            << code << " at step " << steps << ", waited: " << waited;
        (code == hmmSuccess ? missed : seen) = steps;
        fail_now = true;
        EXPECT_EQ(hmmDeviceReset(), hmmSuccess);
    }
    EXPECT_GT(seen, 0);
    sigaction(SIGTRAP, &old, nullptr);
}

std::atomic<bool> let_go;

/// Holds its thread for a limited time, because the thread may have a lock that others need.
void hold_here(int) {
    constexpr timespec millisecond = {0, 1000000};
    for (int i = 0; i < 100 && !let_go; i++)
        nanosleep(&millisecond, nullptr);
}

/// A signal holds the thread that makes streams at a random point.
TEST_F(Streams, MadeDuringAResetAreGoneOrUsableAfterIt) {
    struct sigaction action = {}, old;
    action.sa_handler = hold_here;
    ASSERT_EQ(sigaction(SIGUSR1, &action, &old), 0);
    for (int i = 0; i < 50; i++) {
        std::atomic<bool> begun = false;
        let_go = false;
        hmmStream_t last = nullptr;
        std::thread makes([&] {
            do {
                if (last != nullptr) hmmStreamDestroy(last);
                EXPECT_EQ(hmmStreamCreate(&last), hmmSuccess) << hmmGetLastErrorDetail();
                begun = true;
            } while (!let_go);
        });
        wait_for(begun);
        pthread_kill(makes.native_handle(), SIGUSR1);
        EXPECT_EQ(hmmDeviceReset(), hmmSuccess);
        let_go = true;
        makes.join();
        const hmmError_t code = launch_nothing(last);
        EXPECT_TRUE(code == hmmSuccess || code == hmmErrorInvalidResourceHandle) << code;
        hmmStreamDestroy(last);
    }
    sigaction(SIGUSR1, &old, nullptr);
}

/// The reset destroys a closure of a host function, and waits in that
/// destructor.
TEST_F(Streams, OfAThreadIsCreatedAgainDuringAReset) {
    const hmm::stream calls;
    const std::atomic<bool> never = false;
    std::atomic<bool> begun = false, resets = false, tried = false;
    const auto until_tried = [&](void*) {
        resets = true;
        for (int i = 0; i < 100 && !tried; i++)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
    };
    std::thread uses([&] {
        EXPECT_EQ(launch_nothing(hmmStreamPerThread), hmmSuccess);
        begun = true;
        wait_for(resets);
        EXPECT_EQ(launch_nothing(hmmStreamPerThread), hmmSuccess);
        tried = true;
    });
    wait_for(begun);
    hold(calls, never);
    calls.call_host([owned = std::shared_ptr<void>(nullptr, until_tried)] {});
    EXPECT_EQ(hmmDeviceReset(), hmmSuccess);
    EXPECT_TRUE(resets);
    uses.join();
}

struct resetting_closure {
    std::atomic<bool> go = false;
    int resets = 0;
};

void wait_to_go(void* closure, std::uint64_t, std::uint64_t) {
    wait_on_device(static_cast<resetting_closure*>(closure)->go);
}

void reset_by_another_thread(void* closure) {
    static_cast<resetting_closure*>(closure)->resets++;
    std::thread([] { EXPECT_EQ(hmmDeviceReset(), hmmSuccess); }).join();
}

/// A thread that queues work destroys closures of finished work. The reset
/// comes from such a closure.
TEST_F(Streams, OfAThreadGoOnWhenAResetComesWhileWorkIsQueued) {
    static int runs;
    static char memory[2][16];
    struct things {
        hmmEvent_t fresh, pending;
    };
    constexpr hmmError_t (*queue_work[])(const things&) = {
        [](const things&) {
            const auto count = [](void*, std::uint64_t, std::uint64_t) { runs++; };
            return hmmLaunchRange(count, nullptr, 1, nullptr, hmmStreamPerThread);
        },
        [](const things&) {
            return hmmMemcpyAsync(memory[0], memory[1], 16, hmmMemcpyDefault, hmmStreamPerThread);
        },
        [](const things&) { return hmmMemsetAsync(memory[0], 1, 16, hmmStreamPerThread); },
        [](const things&) {
            return hmmMemPrefetchAsync(memory, 16, {hmmMemLocationTypeHost, 0}, 0,
                                       hmmStreamPerThread);
        },
        [](const things&) {
            return hmmMemAdviseAsync(memory, 16, hmmMemAdviseSetNoMigrate, {}, hmmStreamPerThread);
        },
        [](const things& of) { return hmmEventRecord(of.fresh, hmmStreamPerThread); },
        [](const things& of) { return hmmStreamWaitEvent(hmmStreamPerThread, of.pending, 0); },
        [](const things&) {
            return hmmLaunchHostFunc(
                hmmStreamPerThread, [](void*) { runs++; }, nullptr);
        }};
    runs = 0;
    for (const auto& queue : queue_work) {
        const std::ptrdiff_t number = &queue - queue_work;
        const hmm::stream apart(hmmStreamNonBlocking), held;
        const std::atomic<bool> never = false;
        resetting_closure closure;
        hmm::event fresh, over;
        hold(held, never);
        hmm::event pending = held.record();
        ASSERT_EQ(
            hmmLaunchRange(wait_to_go, &closure, 1, reset_by_another_thread, hmmStreamPerThread),
            hmmSuccess);
        ASSERT_EQ(hmmEventRecord(over.get(), hmmStreamPerThread), hmmSuccess);
        apart.wait(over);
        closure.go = true;
        apart.synchronize();
        EXPECT_EQ(queue({fresh.get(), pending.get()}), hmmSuccess)
            << number << ": " << hmmGetLastErrorDetail();
        EXPECT_EQ(closure.resets, 1) << number;
        EXPECT_EQ(hmmStreamSynchronize(hmmStreamPerThread), hmmSuccess) << number;
    }
    EXPECT_EQ(runs, 2);
}

TEST_F(Streams, AResetMakesHandlesInvalid) {
    hmm::stream one;
    hmm::event some = one.record();
    std::atomic<bool> never = false;
    hold(one, never);
    auto owned = std::make_shared<int>(1);
    const std::weak_ptr<int> watch = owned;
    one.call_host([owned = std::move(owned)] { ADD_FAILURE() << "called"; });
    hmm::reset();
    EXPECT_TRUE(watch.expired());
    EXPECT_EQ(hmmStreamQuery(one.get()), hmmErrorInvalidResourceHandle);
    EXPECT_EQ(hmmEventQuery(some.get()), hmmErrorInvalidResourceHandle);
    EXPECT_EQ(launch_nothing(hmmStreamPerThread), hmmSuccess);
}

TEST_F(Streams, OfAnotherDeviceAreRefused) {
    const hmm::stream here;
    EXPECT_EQ(hmmSetDevice(1), hmmSuccess);
    const hmm::event other;
    EXPECT_EQ(launch_nothing(here.get()), hmmErrorInvalidResourceHandle);
    EXPECT_EQ(hmmEventRecord(other.get(), here.get()), hmmErrorInvalidResourceHandle);
    int device = -1;
    EXPECT_EQ(hmmStreamGetDevice(here.get(), &device), hmmSuccess);
    EXPECT_EQ(device, 0);
    EXPECT_EQ(hmmStreamSynchronize(here.get()), hmmSuccess);
}

TEST_F(Streams, EachThreadHasItsOwnDefaultStreamAndItGoesWithTheThread) {
    process& program = process::get();
    const std::size_t before = program.streams().size();
    std::size_t during = 0;
    std::thread([&] {
        launch_nothing(hmmStreamPerThread);
        launch_nothing(hmmStreamPerThread);
        during = program.streams().size();
    }).join();
    EXPECT_EQ(during, before + 1);
    EXPECT_EQ(program.streams().size(), before);
}

TEST_F(Streams, SpreadOverTheQueuesOfTheirKind) {
    process& program = process::get();
    const auto queues_of = [&](unsigned flags, int priority, std::size_t count) {
        std::set<std::uint32_t> used;
        std::vector<hmm::stream> all;
        for (std::size_t i = 0; i < count; i++) {
            all.emplace_back(flags, priority);
            const auto handle = reinterpret_cast<std::uint64_t>(all.back().get());
            used.insert(program.streams().find(handle)->queue());
        }
        std::uint32_t mask = 0;
        for (const std::uint32_t queue : used)
            mask |= 1u << queue;
        return mask;
    };
    EXPECT_EQ(queues_of(hmmStreamDefault, 0, blocking_low.count), blocking_low.mask());
    EXPECT_EQ(queues_of(hmmStreamDefault, 0, 100), blocking_low.mask());
    EXPECT_EQ(queues_of(hmmStreamNonBlocking, 0, 100), apart_low.mask());
    EXPECT_EQ(queues_of(hmmStreamDefault, -1, 100), blocking_high.mask());
    EXPECT_EQ(queues_of(hmmStreamNonBlocking, -1, 100), apart_high.mask());
}

TEST(HandleTable, NumbersNeverComeAgain) {
    handle_table<int> table;
    std::set<std::uint64_t> seen;
    for (int i = 0; i < 100; i++) {
        const std::uint64_t handle = table.add(make_own_shared<int>(i));
        EXPECT_TRUE(seen.insert(handle).second);
        EXPECT_EQ(*table.find(handle), i);
        EXPECT_EQ(*table.remove(handle), i);
        EXPECT_EQ(table.find(handle), nullptr);
        EXPECT_EQ(table.remove(handle), nullptr);
        EXPECT_EQ(table.find(handle + 1), nullptr);
    }
}

} // namespace
