// SPDX-License-Identifier: MIT
// Streams and events on the device. Results show the order, and kernels that
// wait for each other show concurrency.
#include "device_fixture.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fstream>
#include <immintrin.h>
#include <memory>
#include <pthread.h>
#include <span>
#include <string>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

class Stream : public OnDevice {
  protected:
    /// Launches a kernel that runs until the flag is set.
    static void hold(hmm::stream_ref in, const std::atomic<bool>& go) {
        hmm::launch(in, 1, [&go](std::size_t) {
            while (!go)
                _mm_pause();
        });
    }
    static void set(hmm::stream_ref in, std::atomic<bool>& flag) {
        hmm::launch(in, 1, [&flag](std::size_t) { flag = true; });
    }
    static hmmError_t launch_nothing(hmmStream_t in) {
        return hmmLaunchRange([](void*, std::uint64_t, std::uint64_t) {}, nullptr, 1, nullptr, in);
    }
    static void fault(hmm::stream_ref in) {
        int* volatile nowhere = nullptr;
        hmm::launch(in, 1, [to = nowhere](std::size_t) { *to = 1; });
    }
    static int threads() {
        int count = 0;
        DIR* const tasks = opendir("/proc/self/task");
        while (const dirent* entry = readdir(tasks))
            count += entry->d_name[0] != '.';
        closedir(tasks);
        return count;
    }
    /// A joined thread is still counted for a moment.
    static bool threads_become_at_most(int wanted) {
        for (int i = 0; i < 6000 && threads() > wanted; i++)
            usleep(10000);
        return threads() <= wanted;
    }
};

TEST_F(Stream, SayWhatTheyAre) {
    const hmm::stream plain, apart(hmmStreamNonBlocking), urgent(hmmStreamDefault, -1);
    int least = 7, greatest = 7, priority = 7;
    unsigned flags = 7;
    ASSERT_EQ(hmmDeviceGetStreamPriorityRange(&least, &greatest), hmmSuccess);
    EXPECT_EQ(hmmDeviceGetStreamPriorityRange(nullptr, nullptr), hmmSuccess);
    EXPECT_EQ(least, 0);
    EXPECT_LT(greatest, least);
    ASSERT_EQ(hmmStreamGetFlags(apart.get(), &flags), hmmSuccess);
    EXPECT_EQ(flags, hmmStreamNonBlocking);
    ASSERT_EQ(hmmStreamGetFlags(plain.get(), &flags), hmmSuccess);
    EXPECT_EQ(flags, hmmStreamDefault);
    ASSERT_EQ(hmmStreamGetPriority(urgent.get(), &priority), hmmSuccess);
    EXPECT_EQ(priority, greatest);
    ASSERT_EQ(hmmStreamGetPriority(plain.get(), &priority), hmmSuccess);
    EXPECT_EQ(priority, least);
    const hmm::stream beyond(hmmStreamDefault, -100);
    ASSERT_EQ(hmmStreamGetPriority(beyond.get(), &priority), hmmSuccess);
    EXPECT_EQ(priority, greatest) << "priorities are cut";
    for (hmmStream_t handle : {plain.get(), hmmStream_t{}, hmmStreamLegacy, hmmStreamPerThread}) {
        int device = -1;
        EXPECT_EQ(hmmStreamGetDevice(handle, &device), hmmSuccess);
        EXPECT_EQ(device, 0);
        EXPECT_EQ(launch_nothing(handle), hmmSuccess);
        EXPECT_EQ(hmmStreamSynchronize(handle), hmmSuccess);
        EXPECT_EQ(hmmStreamQuery(handle), hmmSuccess);
    }
}

TEST_F(Stream, RunSideBySide) {
    if (!has_lanes(2)) GTEST_SKIP() << "one lane";
    const hmm::stream left, right;
    std::atomic<bool> there = false, back = false;
    hmm::launch(left, 1, [&](std::size_t) {
        there = true;
        while (!back)
            _mm_pause();
    });
    hmm::launch(right, 1, [&](std::size_t) {
        while (!there)
            _mm_pause();
        back = true;
    });
    left.synchronize();
    right.synchronize();
    EXPECT_TRUE(there && back);
}

TEST_F(Stream, KeepTheirOwnOrder) {
    constexpr unsigned streams = 5, launches = 300, items = 500;
    std::vector<hmm::stream> all(streams);
    std::vector<std::vector<unsigned>> data(streams, std::vector<unsigned>(items, 1));
    for (unsigned i = 0; i < launches; i++)
        for (unsigned s = 0; s < streams; s++)
            hmm::launch(all[s], items,
                        [raw = data[s].data(), i](std::size_t k) { raw[k] = raw[k] * 3 + i; });
    for (const hmm::stream& each : all)
        each.synchronize();
    unsigned expected = 1;
    for (unsigned i = 0; i < launches; i++)
        expected = expected * 3 + i;
    for (const auto& values : data)
        EXPECT_EQ(values, std::vector<unsigned>(items, expected));
}

TEST_F(Stream, QueryTellsWorkLeftFromWorkDone) {
    const hmm::stream one;
    std::atomic<bool> go = false;
    EXPECT_TRUE(one.idle());
    hold(one, go);
    hmm::event behind = one.record();
    EXPECT_FALSE(one.idle());
    EXPECT_FALSE(behind.ready());
    go = true;
    behind.synchronize();
    EXPECT_TRUE(behind.ready());
    one.synchronize();
    EXPECT_TRUE(one.idle());
}

TEST_F(Stream, EventsMakeADiamond) {
    const hmm::stream top, left, right, bottom;
    for (int round = 0; round < 50; round++) {
        std::vector<int> a(1000, 0), b(1000, 0), c(1000, 0), d(1000, 0);
        hmm::launch(top, 1000, [raw = a.data()](std::size_t i) { raw[i] = 1; });
        const hmm::event made = top.record();
        left.wait(made);
        right.wait(made);
        hmm::launch(left, 1000, [&, raw = b.data()](std::size_t i) { raw[i] = a[i] + 1; });
        hmm::launch(right, 1000, [&, raw = c.data()](std::size_t i) { raw[i] = a[i] + 2; });
        bottom.wait(left.record());
        bottom.wait(right.record());
        hmm::launch(bottom, 1000, [&, raw = d.data()](std::size_t i) { raw[i] = b[i] * c[i]; });
        bottom.synchronize();
        ASSERT_EQ(d, std::vector<int>(1000, 6)) << round;
    }
}

TEST_F(Stream, AChainThroughManyStreamsIsInOrder) {
    std::vector<hmm::stream> all(20);
    std::vector<int> order;
    order.reserve(400);
    for (int i = 0; i < 400; i++) {
        const hmm::stream& here = all[static_cast<std::size_t>(i) % all.size()];
        const hmm::stream& next = all[static_cast<std::size_t>(i + 1) % all.size()];
        hmm::launch(here, 1, [&order, i](std::size_t) { order.push_back(i); });
        next.wait(here.record());
    }
    hmm::synchronize();
    ASSERT_EQ(order.size(), 400u);
    for (int i = 0; i < 400; i++)
        EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
}

TEST_F(Stream, TheLegacyStreamWaitsForBlockingOnesAndTheyForIt) {
    const hmm::stream blocking;
    std::atomic<bool> go = false;
    std::array<int, 5> order = {};
    std::atomic<std::size_t> count = 0;
    const auto note = [&](int which) { order[count++] = which; };
    hold(blocking, go);
    hmm::launch(blocking, 1, [&](std::size_t) { note(1); });
    hmm::launch(1, [&](std::size_t) { note(2); });
    hmm::launch(blocking, 1, [&](std::size_t) { note(3); });
    hmm::launch(hmm::per_thread_stream(), 1, [&](std::size_t) { note(4); });
    hmm::launch(hmm::stream_ref(hmmStreamLegacy), 1, [&](std::size_t) { note(5); });
    EXPECT_FALSE(hmm::default_stream.idle());
    go = true;
    hmm::synchronize();
    // 3 and 4 both wait for 2, but not for each other.
    ASSERT_EQ(count, 5u);
    EXPECT_EQ(order[0], 1);
    EXPECT_EQ(order[1], 2);
    EXPECT_EQ(order[2] + order[3], 7);
    EXPECT_EQ(order[4], 5);
}

TEST_F(Stream, TheLegacyStreamAndNonBlockingOnesGoTheirOwnWays) {
    if (!has_lanes(2)) GTEST_SKIP() << "one lane";
    const hmm::stream apart(hmmStreamNonBlocking);
    std::atomic<bool> go = false;
    hold(hmm::default_stream, go);
    set(apart, go);
    hmm::default_stream.synchronize();
    go = false;
    hold(apart, go);
    set(hmm::default_stream, go);
    apart.synchronize();
    EXPECT_TRUE(go);
}

TEST_F(Stream, AThousandOfThem) {
    std::vector<int> done(1000, 0);
    {
        std::vector<hmm::stream> all(1000);
        for (std::size_t i = 0; i < all.size(); i++)
            hmm::launch(all[i], 1, [raw = done.data(), i](std::size_t) { raw[i]++; });
    } // destroys the streams, most with pending work
    hmm::synchronize();
    EXPECT_EQ(done, std::vector<int>(1000, 1));
}

TEST_F(Stream, DestroyingThemWithWorkPendingReturnsAtOnceAndTheWorkRuns) {
    std::atomic<bool> go = false, ran = false;
    {
        const hmm::stream one, other;
        hold(one, go);
        const hmm::event behind = one.record();
        other.wait(behind);
        set(other, ran);
    }
    EXPECT_FALSE(ran);
    go = true;
    hmm::synchronize();
    EXPECT_TRUE(ran);
}

TEST_F(Stream, DestroyedWithEveryKindOfWorkPending) {
    constexpr std::size_t part = 64 << 10;
    void* managed = nullptr;
    ASSERT_EQ(hmmMallocManaged(&managed, 4 * part, hmmMemAttachGlobal), hmmSuccess);
    const std::span memory(static_cast<unsigned char*>(managed), 4 * part);
    const auto copied = memory.first(part), moved = memory.subspan(part, part),
               forgotten = memory.subspan(2 * part, part), advised = memory.last(part);
    std::memset(managed, 1, memory.size());
    const std::vector<unsigned char> source(part, 7);
    std::atomic<bool> go = false, called = false;
    auto owned = std::make_shared<int>(1);
    const std::weak_ptr<int> watch = owned;
    {
        const hmm::stream one;
        hold(one, go);
        one.call_host([&called, owned = std::move(owned)] { called = true; });
        hmm::copy(copied, std::span(source), one);
        hmm::prefetch(moved, hmm::device(0), one);
        hmm::discard(forgotten, one);
        hmm::advise(advised, hmm::read_mostly, one);
    }
    EXPECT_FALSE(called || watch.expired());
    EXPECT_EQ(copied[0] + forgotten[0], 2);
    EXPECT_TRUE(hmm::residency(moved).all_on(hmm::host));
    go = true;
    hmm::synchronize();
    EXPECT_TRUE(called && watch.expired());
    EXPECT_TRUE(is_cpu_device() || hmm::residency(moved).all_on(hmm::device(0)));
    EXPECT_EQ(std::vector<unsigned char>(copied.begin(), copied.end()), source);
    EXPECT_EQ(std::count(forgotten.begin(), forgotten.end(), 0), static_cast<long>(part));
    int read_mostly = -1;
    EXPECT_EQ(hmmMemRangeGetAttribute(&read_mostly, sizeof(read_mostly),
                                      hmmMemRangeAttributeReadMostly, advised.data(), part),
              hmmSuccess);
    EXPECT_EQ(read_mostly, 1);
    EXPECT_EQ(hmmFree(managed), hmmSuccess);
}

int last_prefetch_of(const void* memory, std::size_t bytes) {
    int location = 77;
    EXPECT_EQ(hmmMemRangeGetAttribute(&location, sizeof(location),
                                      hmmMemRangeAttributeLastPrefetchLocation, memory, bytes),
              hmmSuccess);
    return location;
}

TEST_F(Stream, TheLastPrefetchIsTheOneThatWasRequestedLast) {
    constexpr std::size_t part = 64 << 10;
    void* raw = nullptr;
    ASSERT_EQ(hmmMallocManaged(&raw, 4 * part, hmmMemAttachGlobal), hmmSuccess);
    const std::span memory(static_cast<unsigned char*>(raw), 4 * part);
    const auto last = [&](std::size_t first, std::size_t count) {
        return last_prefetch_of(&memory[first * part], count * part);
    };
    std::atomic<bool> go = false;
    const hmm::stream one, other(hmmStreamNonBlocking);
    hold(one, go);
    EXPECT_EQ(last(0, 4), hmmInvalidDeviceId);
    hmm::prefetch(memory, hmm::device(0), one);
    EXPECT_EQ(last(0, 4), 0);
    EXPECT_EQ(hmmMemPrefetchAsync(&memory[part], part, {hmmMemLocationTypeHost, 0}, 0, one.get()),
              hmmSuccess);
    EXPECT_EQ(last(0, 1), 0);
    EXPECT_EQ(last(1, 1), hmmCpuDeviceId);
    EXPECT_EQ(last(2, 2), 0);
    EXPECT_EQ(last(0, 2), hmmInvalidDeviceId);
    if (has_lanes(2)) {
        hmm::prefetch(memory.last(part), hmm::host, other);
        other.synchronize();
        EXPECT_EQ(last(3, 1), hmmCpuDeviceId) << "requested later than what is queued";
    }
    EXPECT_EQ(hmmMemPrefetchWithReport(&memory[2 * part], part, {hmmMemLocationTypeHost, 0},
                                       nullptr, 0, nullptr),
              hmmSuccess);
    EXPECT_EQ(last(2, 1), hmmCpuDeviceId) << "requested later than what is queued";
    EXPECT_EQ(hmmMemPrefetchAsync(nullptr, part, {hmmMemLocationTypeHost, 0}, 0, one.get()),
              hmmErrorInvalidValue);
    go = true;
    one.synchronize();
    EXPECT_EQ(last(0, 1), 0);
    EXPECT_EQ(last(1, 1), hmmCpuDeviceId);
    EXPECT_EQ(last(0, 2), hmmInvalidDeviceId);
    EXPECT_EQ(hmmFree(raw), hmmSuccess);
}

TEST_F(Stream, AnEventThatIsDestroyedIsWaitedForToItsEnd) {
    const hmm::stream one, other;
    std::atomic<bool> go = false, ran = false;
    std::atomic<pid_t> waits = 0;
    hold(one, go);
    hmmEvent_t behind = nullptr;
    ASSERT_EQ(hmmEventCreate(&behind), hmmSuccess);
    one.record(hmm::event_ref(behind));
    other.wait(hmm::event_ref(behind));
    set(other, ran);
    std::thread waiter([&] {
        waits = gettid();
        EXPECT_EQ(hmmEventSynchronize(behind), hmmSuccess);
        EXPECT_TRUE(go);
    });
    EXPECT_TRUE(falls_asleep(waits));
    EXPECT_EQ(hmmEventDestroy(behind), hmmSuccess);
    EXPECT_EQ(hmmEventQuery(behind), hmmErrorInvalidResourceHandle);
    EXPECT_FALSE(ran);
    go = true;
    waiter.join();
    other.synchronize();
    EXPECT_TRUE(ran);
}

TEST_F(Stream, HighPriorityGoesFirstWhenLanesBecomeFree) {
    constexpr int pieces = 32; // of one item each
    const int lanes = hmm::current_device().properties().multiProcessorCount;
    const hmm::stream low(hmmStreamNonBlocking), high(hmmStreamNonBlocking, -1);
    std::atomic<bool> go = false;
    std::atomic<int> held = 0, begun = 0, least = pieces;
    hmm::launch(static_cast<std::size_t>(lanes), [&](std::size_t) {
        held++;
        while (!go)
            _mm_pause();
    });
    while (held < lanes)
        usleep(1000);
    hmm::launch(low, pieces, [&](std::size_t) {
        int seen = begun, least_so_far = least;
        while (seen < least_so_far && !least.compare_exchange_weak(least_so_far, seen))
            continue;
    });
    hmm::launch(high, pieces, [&](std::size_t) { begun++; });
    go = true;
    hmm::synchronize();
    // Another lane may have taken a piece without having started it yet.
    EXPECT_GT(least, pieces - lanes);
    EXPECT_EQ(begun, pieces);
}

TEST_F(Stream, DefaultStreamsOfThreadsRunSideBySide) {
    if (!has_lanes(2)) GTEST_SKIP() << "one lane";
    std::atomic<int> there = 0;
    const auto meet = [&] {
        hmm::launch(hmm::per_thread_stream(), 1, [&](std::size_t) {
            there++;
            while (there < 2)
                _mm_pause();
        });
        hmm::per_thread_stream().synchronize();
    };
    std::thread other(meet);
    meet();
    other.join();
    EXPECT_EQ(there, 2);
}

TEST_F(Stream, HostFunctionsAreCalledInOrderAndOnTheCpu) {
    const hmm::stream one;
    const pid_t self = getpid();
    std::vector<int> order;
    pid_t where = 0;
    bool lane = true, blocked = false;
    hmmError_t inside = hmmSuccess;
    for (int i = 0; i < 100; i++) {
        hmm::launch(one, 1, [&order, i](std::size_t) { order.push_back(2 * i); });
        one.call_host([&order, i] { order.push_back(2 * i + 1); });
    }
    one.call_host([&] {
        where = getpid();
        sigset_t mask;
        pthread_sigmask(SIG_SETMASK, nullptr, &mask);
        blocked = sigismember(&mask, SIGINT) == 1 && sigismember(&mask, SIGTERM) == 1;
        std::string name;
        std::getline(std::ifstream("/proc/thread-self/comm"), name);
        lane = name.find("hmmrt-host") == std::string::npos;
        inside = hmmDeviceSynchronize();
    });
    one.synchronize();
    ASSERT_EQ(order.size(), 200u);
    for (int i = 0; i < 200; i++)
        EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
    EXPECT_EQ(where, self);
    EXPECT_FALSE(lane);
    EXPECT_TRUE(blocked);
    EXPECT_EQ(inside, hmmErrorNotPermitted);
}

TEST_F(Stream, OnlyHostFunctionsNeedThreadsAndTheyGo) {
    ASSERT_TRUE(threads_become_at_most(own_threads)) << "of the test before";
    const hmm::stream left, right;
    hmm::launch(left, 1, [](std::size_t) {});
    right.wait(left.record());
    hmm::launch(right, 1, [](std::size_t) {});
    hmm::synchronize();
    const int before = threads();
    int during = 0;
    left.call_host([&] { during = threads(); });
    left.synchronize();
    EXPECT_EQ(during, before + 1);
    EXPECT_TRUE(threads_become_at_most(before));
    EXPECT_EQ(threads(), before);
}

TEST_F(Stream, PrefetchesRunInOrder) {
    NEEDS_PAGES_THAT_MOVE();
    const hmm::stream one;
    std::vector<float> data(1 << 18, 1.0f);
    float* const raw = data.data();
    std::atomic<bool> go = false;
    hold(one, go);
    hmm::prefetch(std::span(data), hmm::device(0), one);
    hmm::launch(one, data.size(), [=](std::size_t i) { raw[i] += 1; });
    go = true;
    one.synchronize();
    const auto there = hmm::residency(std::span(data));
    EXPECT_TRUE(there.all_on(hmm::device(0)));
    EXPECT_TRUE(all_prefetched(there)) << "the kernel came first: it moved them by faults";

    go = false;
    hold(one, go);
    hmm::launch(one, data.size(), [=](std::size_t i) { raw[i] *= 2; });
    hmm::prefetch(std::span(data), hmm::host, one);
    go = true;
    one.synchronize();
    const auto back = hmm::residency(std::span(data));
    EXPECT_TRUE(back.all_on(hmm::host)) << "the kernel came last: it moved them by faults";
    EXPECT_TRUE(all_prefetched(back));
    EXPECT_EQ(data, std::vector<float>(data.size(), 4.0f));
}

TEST_F(Stream, ThreadsUseSeveralAtOnce) {
    std::vector<hmm::stream> all(3);
    std::atomic<long> sum = 0;
    std::vector<std::thread> users;
    for (int t = 0; t < 4; t++)
        users.emplace_back([&] {
            for (int i = 0; i < 150; i++) {
                const hmm::stream& in = all[static_cast<std::size_t>(i) % all.size()];
                hmm::launch(in, 10, [&](std::size_t k) { sum += static_cast<long>(k); });
                if (i % 10 == 0) hmm::launch(10, [&](std::size_t) { sum++; });
                if (i % 25 == 0) hmm::per_thread_stream().record().synchronize();
            }
            hmm::synchronize();
        });
    for (std::thread& user : users)
        user.join();
    EXPECT_EQ(sum, 4 * (150 * 45 + 15 * 10));
}

TEST_F(Stream, TimesOfEventsArePlausible) {
    const hmm::stream one;
    const hmm::event start, end;
    one.record(start);
    hmm::launch(one, 1, [](std::size_t) { usleep(50000); });
    one.record(end);
    end.synchronize();
    const float passed = hmm::elapsed(start, end).count();
    EXPECT_GE(passed, 50.0f);
    EXPECT_LE(passed, 20000.0f);
    EXPECT_LE(hmm::elapsed(end, start).count(), -50.0f);
}

TEST_F(Stream, BadEventsAndHandlesAreErrors) {
    hmm::stream one;
    hmm::event timed, untimed(hmmEventDisableTiming), never;
    float ms = 0;
    std::atomic<bool> go = false;
    one.record(untimed);
    one.record(timed);
    timed.synchronize();
    EXPECT_EQ(hmmEventElapsedTime(&ms, timed.get(), timed.get()), hmmSuccess);
    EXPECT_EQ(hmmEventElapsedTime(nullptr, timed.get(), timed.get()), hmmErrorInvalidValue);
    EXPECT_EQ(hmmEventElapsedTime(&ms, timed.get(), untimed.get()), hmmErrorInvalidResourceHandle);
    EXPECT_EQ(hmmEventElapsedTime(&ms, timed.get(), never.get()), hmmErrorInvalidResourceHandle);
    hold(one, go);
    one.record(timed);
    EXPECT_EQ(hmmEventElapsedTime(&ms, timed.get(), timed.get()), hmmErrorNotReady);
    go = true;
    EXPECT_EQ(hmmEventQuery(never.get()), hmmSuccess);
    EXPECT_EQ(hmmEventSynchronize(never.get()), hmmSuccess);
    EXPECT_EQ(hmmStreamWaitEvent(one.get(), never.get(), 0), hmmSuccess);
    EXPECT_EQ(hmmStreamWaitEvent(one.get(), never.get(), 1), hmmErrorInvalidValue);
    one.synchronize(); // a destroyed stream still runs the kernel, which reads `go`

    const hmmStream_t stream = one.get();
    const hmmEvent_t event = timed.get();
    ASSERT_EQ(hmmStreamDestroy(stream), hmmSuccess);
    ASSERT_EQ(hmmEventDestroy(event), hmmSuccess);
    const auto handle = [](std::uintptr_t number) { return reinterpret_cast<hmmStream_t>(number); };
    for (hmmStream_t bad : {stream, handle(3), handle(~0ul), reinterpret_cast<hmmStream_t>(&ms)}) {
        EXPECT_EQ(launch_nothing(bad), hmmErrorInvalidResourceHandle);
        EXPECT_EQ(hmmStreamSynchronize(bad), hmmErrorInvalidResourceHandle);
        EXPECT_EQ(hmmStreamQuery(bad), hmmErrorInvalidResourceHandle);
        EXPECT_EQ(hmmStreamDestroy(bad), hmmErrorInvalidResourceHandle);
        EXPECT_EQ(hmmStreamWaitEvent(bad, untimed.get(), 0), hmmErrorInvalidResourceHandle);
        EXPECT_EQ(hmmEventRecord(untimed.get(), bad), hmmErrorInvalidResourceHandle);
        EXPECT_EQ(hmmLaunchHostFunc(
                      bad, [](void*) {}, nullptr),
                  hmmErrorInvalidResourceHandle);
    }
    for (hmmStream_t fixed : {hmmStream_t{}, hmmStreamLegacy, hmmStreamPerThread})
        EXPECT_EQ(hmmStreamDestroy(fixed), hmmErrorInvalidResourceHandle);
    EXPECT_EQ(hmmEventQuery(event), hmmErrorInvalidResourceHandle);
    EXPECT_EQ(hmmEventSynchronize(nullptr), hmmErrorInvalidResourceHandle);
    EXPECT_EQ(hmmEventRecord(event, nullptr), hmmErrorInvalidResourceHandle);
}

TEST_F(Stream, AFaultInOneIsSeenByAll) {
    NEEDS_FAILURES();
    const hmm::stream bad, good;
    const hmm::event behind;
    std::atomic<bool> go = false, called = false;
    hold(bad, go);
    fault(bad);
    bad.record(behind);
    bad.call_host([&] { called = true; });
    go = true;
    EXPECT_EQ(hmmStreamSynchronize(bad.get()), hmmErrorIllegalAddress);
    EXPECT_EQ(hmmStreamSynchronize(good.get()), hmmErrorIllegalAddress);
    EXPECT_EQ(hmmStreamQuery(good.get()), hmmErrorIllegalAddress);
    EXPECT_EQ(hmmStreamQuery(nullptr), hmmErrorIllegalAddress);
    EXPECT_EQ(hmmEventQuery(behind.get()), hmmErrorIllegalAddress);
    EXPECT_EQ(launch_nothing(good.get()), hmmErrorIllegalAddress);
    EXPECT_EQ(hmmDeviceSynchronize(), hmmErrorIllegalAddress);
    EXPECT_FALSE(called);
}

TEST_F(Stream, AResetEndsThemAllWithWorkPending) {
    NEEDS_INTERRUPTION();
    ASSERT_TRUE(threads_become_at_most(own_threads)) << "of the test before";
    hmm::stream one, other;
    hmm::event behind;
    const int sessions = threads();
    std::atomic<bool> never = false;
    std::atomic<int> called = 0;
    hold(one, never);
    one.record(behind);
    other.wait(behind);
    other.call_host([&] { called++; });
    hmm::launch(1, [](std::size_t) {});
    hmm::reset();
    EXPECT_EQ(called, 0);
    EXPECT_TRUE(threads_become_at_most(sessions - 1)) << "neither parked threads nor workers stay";
    EXPECT_EQ(hmmStreamSynchronize(one.get()), hmmErrorInvalidResourceHandle);
    EXPECT_EQ(hmmEventQuery(behind.get()), hmmErrorInvalidResourceHandle);
    expect_usable();
    EXPECT_EQ(launch_nothing(hmmStreamPerThread), hmmSuccess);
}

TEST_F(Stream, AKilledAgentBlocksNoThread) {
    NEEDS_AGENT();
    hmm::stream one, other;
    std::atomic<bool> never = false, called = false;
    int agent = 0;
    hmm::launch(one, 1, [](std::size_t) {});
    one.synchronize();
    DIR* const proc = opendir("/proc");
    while (const dirent* entry = readdir(proc)) {
        std::string name;
        std::getline(std::ifstream(std::string("/proc/") + entry->d_name + "/comm"), name);
        if (name == "hmmrt-agent") agent = std::atoi(entry->d_name);
    }
    closedir(proc);
    ASSERT_NE(agent, 0);
    hold(one, never);
    const hmm::event behind = one.record();
    other.wait(behind);
    other.call_host([&] { called = true; });
    ASSERT_EQ(kill(agent, SIGKILL), 0);
    EXPECT_EQ(hmmStreamSynchronize(other.get()), hmmErrorDeviceLost);
    EXPECT_EQ(hmmEventSynchronize(behind.get()), hmmErrorDeviceLost);
    EXPECT_EQ(hmmStreamQuery(one.get()), hmmErrorDeviceLost);
    hmm::reset();
    EXPECT_FALSE(called);
    expect_usable();
}

/// A thread that waits in a call until @held continues, and then runs until it
/// is cancelled.
struct waiting_thread {
    hmmStream_t held = nullptr;
    hmmEvent_t over = nullptr;
    hmmError_t (*wait)(const waiting_thread& self) = nullptr;
    pthread_t thread = {};
    std::atomic<pid_t> id = 0;
    std::atomic<hmmError_t> code = hmmErrorUnknown;

    static void* run(void* raw) {
        auto& self = *static_cast<waiting_thread*>(raw);
        self.id = static_cast<pid_t>(syscall(SYS_gettid));
        self.code = self.wait(self);
        for (;;)
            pause();
    }
};

TEST_F(Stream, AThreadThatIsCancelledInAWaitReturnsFromItFirst) {
    static char memory[2][16];
    constexpr hmmError_t (*waits[])(const waiting_thread&) = {
        [](const waiting_thread& self) { return hmmStreamSynchronize(self.held); },
        [](const waiting_thread& self) { return hmmEventSynchronize(self.over); },
        [](const waiting_thread&) { return hmmDeviceSynchronize(); },
        [](const waiting_thread&) {
            return hmmMemcpy(memory[0], memory[1], 16, hmmMemcpyDefault);
        }};
    const hmm::stream held;
    std::atomic<bool> go = false;
    hold(held, go);
    const hmm::event over = held.record();
    std::array<waiting_thread, std::size(waits)> all;
    for (std::size_t i = 0; i < all.size(); i++) {
        all[i].held = held.get();
        all[i].over = over.get();
        all[i].wait = waits[i];
        ASSERT_EQ(pthread_create(&all[i].thread, nullptr, waiting_thread::run, &all[i]), 0);
    }
    for (const waiting_thread& each : all) {
        EXPECT_TRUE(falls_asleep(each.id));
        EXPECT_EQ(pthread_cancel(each.thread), 0);
    }
    // Longer than one sleep of a wait, so that each thread reaches all steps of
    // its wait.
    usleep(300000);
    go = true;
    for (const waiting_thread& each : all) {
        void* result = nullptr;
        ASSERT_EQ(pthread_join(each.thread, &result), 0);
        EXPECT_EQ(result, PTHREAD_CANCELED) << &each - all.data();
        EXPECT_EQ(each.code, hmmSuccess) << &each - all.data();
    }
    expect_usable();
}

TEST_F(Stream, AChildOfForkGetsErrors) {
    const hmm::stream one;
    const hmm::event some;
    one.call_host([] {});
    one.synchronize();
    const pid_t child = fork();
    if (child == 0) {
        hmmStream_t fresh;
        const bool refused = hmmStreamCreate(&fresh) == hmmErrorForkedProcess &&
                             launch_nothing(one.get()) == hmmErrorForkedProcess &&
                             hmmStreamSynchronize(one.get()) == hmmErrorForkedProcess &&
                             hmmStreamDestroy(one.get()) == hmmErrorForkedProcess &&
                             hmmEventRecord(some.get(), one.get()) == hmmErrorForkedProcess &&
                             hmmEventDestroy(some.get()) == hmmErrorForkedProcess;
        _exit(refused ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    hmm::launch(one, 1, [](std::size_t) {});
    one.synchronize();
}

TEST_F(Stream, OfTwoDevicesWaitForEachOthersEvents) {
    NEEDS_INTERRUPTION();
    if (hmm::device_count() < 2) GTEST_SKIP() << "one device";
    const hmm::device second(1);
    hmm::stream here;
    int value = 0, seen = 0;
    std::atomic<bool> go = false;
    {
        const hmm::scoped_device use(second);
        hmm::stream there;
        EXPECT_EQ(launch_nothing(here.get()), hmmErrorInvalidResourceHandle);
        const hmm::event foreign;
        EXPECT_EQ(hmmEventRecord(foreign.get(), here.get()), hmmErrorInvalidResourceHandle);
        hold(there, go);
        hmm::launch(there, 1, [&](std::size_t) { value = 42; });
        here.wait(there.record());
    }
    hmm::launch(here, 1, [&](std::size_t) { seen = value; });
    EXPECT_FALSE(here.idle());
    go = true;
    here.synchronize();
    EXPECT_EQ(seen, 42);

    // Resetting a device must not block another device.
    std::atomic<bool> never = false;
    {
        const hmm::scoped_device use(second);
        hmm::stream there;
        hold(there, never);
        here.wait(there.record());
    }
    hmm::launch(here, 1, [&](std::size_t) { seen = 7; });
    hmm::reset(second);
    here.synchronize();
    EXPECT_EQ(seen, 7);
}

} // namespace
