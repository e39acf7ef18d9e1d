// SPDX-License-Identifier: MIT
// Fatal errors in device code end the launch, but not the program.
#include "device_fixture.hpp"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <immintrin.h>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

namespace {

constexpr std::size_t page = 4096;

class Fault : public OnDevice {
  protected:
    static void* map(std::size_t bytes, int protection, int fd = -1) {
        const int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
        void* memory = mmap(nullptr, bytes, protection, flags, fd, 0);
        EXPECT_NE(memory, MAP_FAILED);
        return memory;
    }

    template <class Function>
    static void expect_illegal(Function access, const void* address, unsigned how,
                               int error_number) {
        const auto error = error_on_device(access);
        ASSERT_TRUE(error);
        EXPECT_EQ(error->code(), hmmErrorIllegalAddress) << error->what();
        const hmmFaultRecord& record = error->record();
        EXPECT_EQ(record.error, hmmErrorIllegalAddress);
        EXPECT_EQ(record.address, reinterpret_cast<std::uint64_t>(address));
        EXPECT_EQ(record.access, static_cast<int>(how));
        EXPECT_EQ(record.error_number, error_number);
        EXPECT_EQ(record.device, 0);
        EXPECT_EQ(record.system_call, -1);
        EXPECT_NE(record.instruction, 0u);
        hmm::reset();
        expect_usable();
    }

    static void expect_code(hmmError_t code, int signal, void (*body)()) {
        const auto error = error_on_device(body);
        ASSERT_TRUE(error);
        EXPECT_EQ(error->code(), code) << error->what();
        EXPECT_EQ(error->record().signal, signal);
        hmm::reset();
        expect_usable();
    }
};

void read_byte(const void* address) {
    static_cast<void>(*static_cast<const volatile char*>(address));
}

void write_byte(void* address) {
    *static_cast<volatile char*>(address) = 1;
}

TEST_F(Fault, ReadAndWriteOfAHole) {
    NEEDS_FAILURES();
    void* const hole = reinterpret_cast<void*>(0x100000000000); // never mapped
    expect_illegal([=] { read_byte(hole); }, hole, HMM_ACCESS_READ, EFAULT);
    expect_illegal([=] { write_byte(hole); }, hole, HMM_ACCESS_WRITE, EFAULT);
}

TEST_F(Fault, NullPointer) {
    NEEDS_FAILURES();
    void* volatile null = nullptr;
    const auto error = error_on_device([&] { write_byte(null); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->code(), hmmErrorIllegalAddress);
    EXPECT_EQ(error->record().address, 0u);
}

TEST_F(Fault, WriteOfReadOnlyMemoryAndCode) {
    NEEDS_FAILURES();
    static const int constant[1024] = {1};
    void* readable = map(page, PROT_READ);
    expect_illegal([=] { write_byte(readable); }, readable, HMM_ACCESS_WRITE, EACCES);
    void* code = reinterpret_cast<void*>(&read_byte);
    expect_illegal([=] { write_byte(code); }, code, HMM_ACCESS_WRITE, EACCES);
    void* data = const_cast<int*>(constant);
    expect_illegal([=] { write_byte(data); }, data, HMM_ACCESS_WRITE, EACCES);
    munmap(readable, page);
}

TEST_F(Fault, AnyAccessOfGuardPages) {
    NEEDS_FAILURES();
    void* guard = map(page, PROT_NONE);
    expect_illegal([=] { read_byte(guard); }, guard, HMM_ACCESS_READ, EACCES);
    expect_illegal([=] { write_byte(guard); }, guard, HMM_ACCESS_WRITE, EACCES);
    munmap(guard, page);
}

TEST_F(Fault, ExecutionOfData) {
    NEEDS_FAILURES();
    void* data = map(page, PROT_READ | PROT_WRITE);
    *static_cast<unsigned char*>(data) = 0xc3; // ret
    const auto jump = [=] { reinterpret_cast<void (*)()>(data)(); };
    expect_illegal(jump, data, HMM_ACCESS_EXEC, EACCES);
    munmap(data, page);
}

TEST_F(Fault, AFileBehindItsEnd) {
    NEEDS_FAILURES();
    const int file = memfd_create("short", MFD_CLOEXEC);
    ASSERT_EQ(ftruncate(file, page), 0);
    char* memory = static_cast<char*>(map(2 * page, PROT_READ | PROT_WRITE, file));
    int first = 1;
    on_device([&] { first = memory[0]; });
    EXPECT_EQ(first, 0);
    const auto error = error_on_device([=] { read_byte(memory + page); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->code(), hmmErrorIllegalAddress);
    EXPECT_EQ(error->record().address, reinterpret_cast<std::uint64_t>(memory + page));
    munmap(memory, 2 * page);
    close(file);
}

TEST_F(Fault, AddressesThatNoPointerCanHave) {
    NEEDS_FAILURES();
    for (const std::uint64_t address : {0xdead000000000000u, 0x0000900000000000u}) {
        const auto error = error_on_device([=] { write_byte(reinterpret_cast<void*>(address)); });
        ASSERT_TRUE(error);
        EXPECT_EQ(error->code(), hmmErrorIllegalAddress);
        EXPECT_EQ(error->record().signal, SIGSEGV);
        hmm::reset();
    }
}

TEST_F(Fault, TheKernelsAddresses) {
    NEEDS_FAILURES();
    constexpr std::uint64_t kernel = 0xffff888000000000;
    const auto error = error_on_device([=] { read_byte(reinterpret_cast<void*>(kernel)); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->code(), hmmErrorIllegalAddress);
}

[[gnu::noinline]] int recurse(std::atomic<int>& depth, int limit) {
    volatile char frame[4096];
    frame[0] = 1;
    if (++depth == limit) return 0;
    const int below = recurse(depth, limit);
    return below + frame[0]; // used after the call, to prevent a tail call
}

TEST_F(Fault, StackOverflow) {
    NEEDS_FAILURES();
    std::atomic<int> depth = 0;
    const auto error = error_on_device([&] { recurse(depth, 1 << 24); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->code(), hmmErrorIllegalAddress);
    EXPECT_EQ(error->record().error_number, EACCES) << "the guard page";
    EXPECT_GT(depth, 500);
}

TEST_F(Fault, InstructionsThatTrap) {
    NEEDS_FAILURES();
    expect_code(hmmErrorIllegalInstruction, SIGILL, [] { asm volatile("ud2"); });
    expect_code(hmmErrorLaunchFailure, SIGTRAP, [] { asm volatile("int3"); });
    expect_code(hmmErrorLaunchFailure, SIGFPE, [] {
        int high = 0, low = 1;
        asm volatile("idivl %2" : "+d"(high), "+a"(low) : "r"(0));
    });
    expect_code(hmmErrorIllegalAddress, SIGSEGV, [] { asm volatile("hlt"); });
}

TEST_F(Fault, AbortAndUncaughtExceptions) {
    NEEDS_FAILURES();
    expect_code(hmmErrorAssert, SIGABRT, [] { std::abort(); });
    expect_code(hmmErrorAssert, SIGABRT, [] { throw 1; });
}

TEST_F(Fault, IsStickyAndReportedToEveryThread) {
    NEEDS_FAILURES();
    int calls = 0;
    EXPECT_TRUE(error_on_device([] { std::abort(); }));
    EXPECT_EQ(
        hmmLaunchRange([](void*, std::uint64_t, std::uint64_t) {}, nullptr, 1, nullptr, nullptr),
        hmmErrorAssert);
    std::thread([&] {
        EXPECT_EQ(hmmDeviceSynchronize(), hmmErrorAssert);
        hmmFaultRecord record;
        EXPECT_EQ(hmmGetLastFault(&record), hmmSuccess);
        EXPECT_EQ(record.signal, SIGABRT);
        calls++;
    }).join();
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(hmmGetLastError(), hmmErrorAssert);
    EXPECT_EQ(hmmGetLastError(), hmmErrorAssert);
}

TEST_F(Fault, DoesNotTouchOtherDevices) {
    NEEDS_FAILURES();
    if (hmm::device_count() < 2) GTEST_SKIP();
    EXPECT_TRUE(error_on_device([] { std::abort(); }));
    const hmm::scoped_device second(hmm::device(1));
    expect_usable();
    hmm::reset();
}

TEST_F(Fault, NamesThePieceOfTheLaunch) {
    NEEDS_FAILURES();
    hmm::launch(100000, [](std::size_t i) {
        if (i == 77777) std::abort();
    });
    EXPECT_EQ(hmm::synchronize(std::nothrow), hmmErrorAssert);
    hmmFaultRecord record;
    ASSERT_EQ(hmmGetLastFault(&record), hmmSuccess);
    EXPECT_LE(record.first_item, 77777u);
    EXPECT_GT(record.first_item + record.item_count, 77777u);
    EXPECT_LT(record.item_count, 10000u);
}

TEST_F(Fault, NamesTheThreadOfTheLane) {
    NEEDS_FAILURES();
    std::atomic<pthread_t> thread = 0;
    EXPECT_TRUE(error_on_device([&] {
        thread = pthread_self();
        std::abort();
    }));
    hmmFaultRecord record;
    ASSERT_EQ(hmmGetLastFault(&record), hmmSuccess);
    EXPECT_NE(record.thread, 0u);
    EXPECT_EQ(record.thread, thread.load());
}

TEST_F(Fault, StopsLanesThatNeverEnd) {
    NEEDS_FAILURES();
    if (!has_lanes(2)) GTEST_SKIP();
    std::atomic<int> spinning = 0;
    hmm::launch(2, [&](std::size_t i) {
        if (i == 0) {
            while (spinning == 0)
                _mm_pause();
            std::abort();
        }
        spinning = 1;
        for (;;)
            _mm_pause();
    });
    EXPECT_EQ(hmm::synchronize(std::nothrow), hmmErrorAssert);
    hmm::reset();
    expect_usable();
}

TEST_F(Fault, StopsLanesThatBlockInACall) {
    NEEDS_FAILURES();
    if (!has_lanes(2)) GTEST_SKIP();
    int pipe_ends[2];
    ASSERT_EQ(pipe(pipe_ends), 0);
    std::atomic<int> blocked = 0;
    hmm::launch(2, [&](std::size_t i) {
        if (i == 0) {
            while (blocked == 0)
                _mm_pause();
            usleep(50000);
            std::abort();
        }
        blocked = 1;
        char byte;
        static_cast<void>(!read(pipe_ends[0], &byte, 1));
    });
    EXPECT_EQ(hmm::synchronize(std::nothrow), hmmErrorAssert);
    close(pipe_ends[0]);
    close(pipe_ends[1]);
    hmm::reset();
    expect_usable();
}

TEST_F(Fault, AllLanesAtOnce) {
    NEEDS_FAILURES();
    for (int round = 0; round < 10; round++) {
        hmm::launch(1000, [](std::size_t) { std::abort(); });
        EXPECT_EQ(hmm::synchronize(std::nothrow), hmmErrorAssert);
        hmm::reset();
    }
    expect_usable();
}

TEST_F(Fault, LaunchesQueuedBehindAreDropped) {
    NEEDS_FAILURES();
    std::atomic<int> ran = 0;
    std::atomic<bool> go = false;
    hmm::launch(1, [&](std::size_t) {
        while (!go)
            _mm_pause();
        std::abort();
    });
    for (int i = 0; i < 100; i++)
        hmm::launch(100, [&](std::size_t) { ran++; });
    go = true;
    EXPECT_EQ(hmm::synchronize(std::nothrow), hmmErrorAssert);
    EXPECT_EQ(ran, 0);
}

TEST_F(Fault, ResetEndsAnEndlessLaunch) {
    NEEDS_INTERRUPTION();
    hmm::launch(4, [](std::size_t) {
        for (;;)
            _mm_pause();
    });
    usleep(20000);
    hmm::reset();
    EXPECT_EQ(hmm::synchronize(std::nothrow), hmmSuccess) << "nothing is left to wait for";
    expect_usable();
}

TEST_F(Fault, ResetEndsALaunchThatBlocksInACall) {
    NEEDS_INTERRUPTION();
    hmm::launch(2, [](std::size_t) { sleep(1000); });
    usleep(50000);
    hmm::reset();
    expect_usable();
}

TEST_F(Fault, ResetWhileAnotherThreadWaits) {
    NEEDS_INTERRUPTION();
    std::atomic<pid_t> launched = 0;
    std::thread waiter([&] {
        hmm::launch(1, [](std::size_t) {
            for (;;)
                _mm_pause();
        });
        launched = gettid();
        EXPECT_EQ(hmm::synchronize(std::nothrow), hmmErrorDeviceLost);
    });
    // Reset only after the thread waits; otherwise it has nothing to wait for.
    EXPECT_TRUE(falls_asleep(launched));
    hmm::reset();
    waiter.join();
    expect_usable();
}

} // namespace
