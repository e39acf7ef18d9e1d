// SPDX-License-Identifier: MIT
// Device code can do what ordinary code does.
#include "device_fixture.hpp"

#include <atomic>
#include <cfenv>
#include <cmath>
#include <condition_variable>
#include <cstring>
#include <immintrin.h>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace {

class Launch : public OnDevice {};

int global = 1;
const int constants[] = {10, 20, 30};
thread_local int per_thread = 5;

struct shape {
    virtual ~shape() = default;
    virtual double area() const = 0;
};
struct square final : shape {
    explicit square(double a) : side(a) {}
    double area() const override { return side * side; }
    double side;
};

int twice(int value) {
    return 2 * value;
}

TEST_F(Launch, ReachesHeapStackGlobalsAndConstants) {
    int local = 0;
    const auto heap = std::make_unique<int>(7);
    on_device([&] {
        local = global + constants[1] + *heap;
        global = 2;
        *heap = 8;
    });
    EXPECT_EQ(local, 28);
    EXPECT_EQ(global, 2);
    EXPECT_EQ(*heap, 8);
}

TEST_F(Launch, FollowsContainersAndAllocatesInThem) {
    std::map<std::string, std::list<int>> lists;
    for (int i = 0; i < 300; i++)
        lists["list " + std::to_string(i % 30)].push_back(i);
    on_device([&] {
        for (auto& [name, list] : lists)
            list.push_back(static_cast<int>(list.size()));
        lists["new"] = {1, 2, 3};
        lists.erase("list 0");
    });
    EXPECT_EQ(lists.size(), 30u);
    EXPECT_EQ(lists["list 7"].back(), 10);
    EXPECT_EQ(lists["new"].size(), 3u);
}

TEST_F(Launch, CallsVirtualFunctionsAndFunctionPointers) {
    const std::unique_ptr<shape> object = std::make_unique<square>(3);
    int (*volatile function)(int) = twice;
    double area = 0;
    int doubled = 0;
    on_device([&] {
        area = object->area();
        doubled = function(21);
    });
    EXPECT_EQ(area, 9);
    EXPECT_EQ(doubled, 42);
}

TEST_F(Launch, HasThreadLocalsOfItsOwn) {
    int seen = 0;
    on_device([&] { seen = ++per_thread; });
    EXPECT_EQ(seen, 6);
    EXPECT_EQ(per_thread, 5);
}

int& counted_static(std::atomic<int>& initialised) {
    static int value = (initialised++, 11);
    return value;
}

TEST_F(Launch, InitialisesStaticsOnceAcrossLanesAndCpu) {
    std::atomic<int> initialised = 0;
    hmm::launch(64, [&](std::size_t) { counted_static(initialised); });
    const int here = counted_static(initialised);
    hmm::synchronize();
    EXPECT_EQ(here, 11);
    EXPECT_EQ(initialised, 1);
}

TEST_F(Launch, CatchesItsExceptions) {
    std::string caught;
    on_device([&] {
        try {
            std::vector<int>(3).at(5) = 1;
        } catch (const std::out_of_range& error) {
            caught = error.what();
        }
    });
    EXPECT_NE(caught.find("range_check"), std::string::npos);
}

TEST_F(Launch, UsesTheLibrarysStringAndMathFunctions) {
    std::string text(100000, 'a');
    text += "needle";
    std::size_t found = 0;
    double sine = 0;
    on_device([&] {
        found = static_cast<std::size_t>(std::strstr(text.c_str(), "needle") - text.c_str());
        sine = std::sin(1.0);
    });
    EXPECT_EQ(found, 100000u);
    EXPECT_EQ(sine, std::sin(1.0));
}

[[gnu::noinline]] int recurse(int depth) {
    volatile char frame[1024];
    frame[0] = 1;
    if (depth == 0) return 0;
    const int below = recurse(depth - 1);
    return below + frame[0]; // used after the call, to prevent a tail call
}

TEST_F(Launch, HasAStackOfSeveralMegabytes) {
    int depth = 0;
    on_device([&] { depth = recurse(4000); });
    EXPECT_EQ(depth, 4000);
}

TEST_F(Launch, KeepsTheFloatingPointModesOfTheLaunchingThread) {
    const unsigned before = _mm_getcsr();
    volatile double one = 1, three = 3, up = 0, down = 0;
    volatile float tiny = 1e-38f, halved = 1;
    unsigned flags = 0;

    std::fesetround(FE_UPWARD);
    on_device([&] { up = one / three; });
    std::fesetround(FE_DOWNWARD);
    on_device([&] { down = one / three; });
    std::fesetround(FE_TONEAREST);
    EXPECT_GT(up, down);

    _mm_setcsr(before | 0x8040); // FTZ, DAZ
    on_device([&] {
        halved = tiny / 16;
        flags = _mm_getcsr();
    });
    _mm_setcsr(before);
    EXPECT_EQ(halved, 0.0f);
    EXPECT_EQ(flags & 0x8040, 0x8040u);
    on_device([&] { halved = tiny / 16; });
    EXPECT_NE(halved, 0.0f) << "modes of one launch must not reach the next";
}

TEST_F(Launch, RunsEveryItemOnce) {
    std::vector<unsigned char> visits(1'000'003);
    unsigned char* const raw = visits.data();
    hmm::launch(visits.size(), [=](std::size_t i) { raw[i]++; });
    hmm::synchronize();
    EXPECT_EQ(std::count(visits.begin(), visits.end(), 1),
              static_cast<std::ptrdiff_t>(visits.size()));
}

TEST_F(Launch, RunsOnSeveralLanesAtOnce) {
    if (!has_lanes(2)) GTEST_SKIP();
    std::atomic<int> arrived = 0;
    hmm::launch(2, [&](std::size_t) {
        arrived++;
        while (arrived < 2)
            _mm_pause();
    });
    hmm::synchronize();
    EXPECT_EQ(arrived, 2);
}

TEST_F(Launch, LaunchesRunInOrderAndDoNotOverlap) {
    std::vector<int> data(10000, 1);
    for (int i = 0; i < 600; i++) // more than the ring holds
        hmm::launch(data.size(), [raw = data.data()](std::size_t k) {
            raw[k] = static_cast<int>((raw[k] * 3u + 1) % 1000003u);
        });
    hmm::synchronize();
    unsigned expected = 1;
    for (int i = 0; i < 600; i++)
        expected = (expected * 3 + 1) % 1000003;
    EXPECT_EQ(data, std::vector<int>(data.size(), static_cast<int>(expected)));
}

TEST_F(Launch, ThreadsMayShareADevice) {
    std::vector<std::thread> threads;
    std::atomic<long> sum = 0;
    for (int t = 0; t < 4; t++)
        threads.emplace_back([&] {
            for (int i = 0; i < 100; i++) {
                hmm::launch(10, [&](std::size_t k) { sum += static_cast<long>(k); });
                if (i % 10 == 0) hmm::synchronize();
            }
            hmm::synchronize();
        });
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(sum, 4 * 100 * 45);
}

TEST_F(Launch, DevicesWorkSideBySideAndOneAfterTheOther) {
    if (hmm::device_count() < 2) GTEST_SKIP();
    const hmm::device first(0), second(1);
    std::vector<int> data(100000, 1);
    int* const raw = data.data();
    for (int round = 0; round < 5; round++)
        for (const hmm::device where : {first, second}) {
            hmm::launch(where, data.size(), [=](std::size_t i) { raw[i]++; });
            hmm::synchronize(where);
        }
    EXPECT_EQ(data, std::vector<int>(data.size(), 11));

    std::atomic<int> met = 0;
    const auto meet = [&](std::size_t) {
        met++;
        while (met < 2)
            _mm_pause();
    };
    hmm::launch(first, 1, meet);
    hmm::launch(second, 1, meet);
    hmm::synchronize(first);
    hmm::synchronize(second);
    hmm::reset(second);
    EXPECT_EQ(met, 2);
}

TEST_F(Launch, TakesTurnsWithTheCpuOnOnePage) {
    std::atomic<int> turn = 0;
    constexpr int turns = 2000;
    hmm::launch(1, [&](std::size_t) {
        for (int i = 1; i < turns; i += 2) {
            while (turn.load() != i)
                _mm_pause();
            turn = i + 1;
        }
    });
    for (int i = 0; i < turns; i += 2) {
        while (turn.load() != i)
            _mm_pause();
        turn = i + 1;
    }
    hmm::synchronize();
    EXPECT_EQ(turn, turns);
}

TEST_F(Launch, LocksOfTheProgramWorkAcrossCpuAndDevice) {
    std::mutex lock;
    long counter = 0;
    const auto count = [&] {
        for (int i = 0; i < 3000; i++) {
            const std::lock_guard hold(lock);
            counter++;
        }
    };
    hmm::launch(2, [&](std::size_t) { count(); });
    count();
    hmm::synchronize();
    EXPECT_EQ(counter, 9000);
}

TEST_F(Launch, ConditionVariablesWorkAcrossCpuAndDevice) {
    std::mutex lock;
    std::condition_variable changed;
    int stage = 0;
    hmm::launch(1, [&](std::size_t) {
        std::unique_lock hold(lock);
        changed.wait(hold, [&] { return stage == 1; });
        stage = 2;
        changed.notify_all();
    });
    {
        std::unique_lock hold(lock);
        stage = 1;
        changed.notify_all();
        changed.wait(hold, [&] { return stage == 2; });
    }
    hmm::synchronize();
    EXPECT_EQ(stage, 2);
}

TEST_F(Launch, GridsAndPrefetchesComeInQueueOrder) {
    NEEDS_PAGES_THAT_MOVE();
    std::vector<float> data(1 << 20, 1.0f);
    float* const raw = data.data();
    std::atomic<bool> go = false;
    const auto hold = [&] {
        go = false;
        hmm::launch(1, [&go](std::size_t) {
            while (!go)
                _mm_pause();
        });
    };
    hold();
    hmm::prefetch(std::span(data), hmm::device(0));
    hmm::launch(hmm::dim3{1024}, hmm::dim3{1024},
                [=](const hmm::thread_index& at) { raw[at.global_x()] += 1; });
    go = true;
    hmm::synchronize();
    EXPECT_TRUE(all_prefetched(hmm::residency(std::span(data)))) << "the grid came first";

    hold();
    hmm::launch(hmm::dim3{1024}, hmm::dim3{1024},
                [=](const hmm::thread_index& at) { raw[at.global_x()] *= 2; });
    hmm::prefetch(std::span(data), hmm::host);
    go = true;
    hmm::synchronize();
    EXPECT_TRUE(hmm::residency(std::span(data)).all_on(hmm::host)) << "the grid came last";
    EXPECT_EQ(data, std::vector<float>(data.size(), 4.0f));
}

TEST_F(Launch, CallsOfTheInterfaceFromDeviceCodeAreRefused) {
    hmmError_t launched = hmmSuccess, waited = hmmSuccess;
    on_device([&] {
        launched = hmmLaunchRange([](void*, std::uint64_t, std::uint64_t) {}, nullptr, 1, nullptr,
                                  nullptr);
        waited = hmmDeviceSynchronize();
    });
    EXPECT_EQ(launched, hmmErrorNotSupported);
    EXPECT_EQ(waited, hmmErrorNotSupported);
}

} // namespace
