// SPDX-License-Identifier: MIT
// The whole runtime, with a fake kernel and a fake agent.
#include "api/process.hpp"
#include "runtime_checks.hpp"
#include "session/device.hpp"
#include "session/shared_pool.hpp"

#include <numeric>

using namespace hmmrt;

namespace {

void count_items(void* closure, std::uint64_t begin, std::uint64_t end) {
    *static_cast<std::atomic<std::uint64_t>*>(closure) += end - begin;
}

/// A new program object for each test.
class Runtime : public testing::Test {
  protected:
    ~Runtime() override {
        for (const auto& each : started)
            each->reset();
        kernel.manager_open_error = kernel.gpu_open_error = 0;
        kernel.busy_milliseconds = 0;
        kernel.device_info_errors.clear();
        kernel.uapi_version = HMMRT_UAPI_VERSION;
        kernel.agent = fakes::agent_behaviour::runs;
        kernel.environment.clear();
        kernel.memory.clear();
        kernel.seccomp_mode = 0;
    }

    device& use(int number = 0) {
        device& which = program.device_at(number);
        started.push_back(&which);
        return which;
    }

    static void launch(device& where, std::uint64_t count, hmmRangeFunction_t function,
                       void* closure, hmmDestroyFunction_t destroy = nullptr) {
        work_request request;
        request.function = function;
        request.closure = closure;
        request.items = count;
        request.destroy = destroy;
        where.launch(request);
    }

    /// Checks that the device works.
    void expect_to_run(std::uint64_t count) {
        const std::uint64_t before = items;
        launch(use(), count, count_items, &items);
        use().synchronize();
        EXPECT_EQ(items - before, count);
    }

    process program;
    std::vector<device*> started;
    std::atomic<std::uint64_t> items = 0;
};

void fault_at_once(void*, std::uint64_t, std::uint64_t) {
    kernel.raise(SIGSEGV);
}

void lose_agent(void*, std::uint64_t, std::uint64_t) {
    kernel.lose_agent();
}

void count_destroyed(void* closure) {
    ++*static_cast<int*>(closure);
}

TEST_F(Runtime, WithoutModulesThereIsNoDeviceAndTheErrorSaysWhatToDoUntilTheyAreLoaded) {
    kernel.manager_open_error = ENOENT;
    EXPECT_EQ(code_of([&] { program.devices(); }), hmmErrorNoDevice);
    EXPECT_TRUE(mentions(message_of([&] { program.devices(); }), {"modprobe hmmrt_simgpu"}));
    kernel.manager_open_error = 0;
    EXPECT_EQ(program.devices().size(), 2u) << "they are loaded later";
}

TEST_F(Runtime, DevicesOfWhichOneFailsToAnswerAreAllFoundByTheNextCall) {
    for (const int error : {EIO, ENOMEM, EINTR}) {
        kernel.device_info_errors = {{2, error}};
        for (int i = 0; i < 2; i++)
            EXPECT_EQ(code_of([&] { program.devices(); }), hmmErrorInitializationError) << error;
        EXPECT_EQ(code_of([&] { program.device_at(0); }), hmmErrorInitializationError) << error;
    }
    kernel.device_info_errors = {{2, E2BIG}};
    EXPECT_EQ(code_of([&] { program.devices(); }), hmmErrorInsufficientDriver);
    kernel.device_info_errors.clear();
    ASSERT_EQ(program.devices().size(), 2u);
    EXPECT_EQ(program.device_at(0).id(), 0u);
    EXPECT_EQ(program.device_at(1).id(), 2u);
}

TEST_F(Runtime, WithoutPermissionOrOfAnotherVersionDevicesAreRefused) {
    kernel.manager_open_error = EACCES;
    EXPECT_EQ(code_of([&] { program.devices(); }), hmmErrorDevicesUnavailable);
    kernel.manager_open_error = 0;
    kernel.uapi_version = HMMRT_UAPI_VERSION + 1;
    EXPECT_EQ(code_of([&] { program.devices(); }), hmmErrorInsufficientDriver);
}

TEST_F(Runtime, DevicesAreNumberedWithoutTheGapsOfTheirIdsAndListingThemStartsNothing) {
    const int open_before = kernel.open_files, started_before = kernel.agents_started;
    program.device_at(0);
    program.info_of(program.device_at(0));
    EXPECT_EQ(kernel.open_files, open_before);
    EXPECT_EQ(kernel.agents_started, started_before);
    EXPECT_EQ(program.device_at(1).id(), 2u);
    EXPECT_EQ(program.device_at(1).name(), "hmmrt-gpu2");
    EXPECT_EQ(code_of([&] { program.device_at(2); }), hmmErrorInvalidDevice);
    EXPECT_EQ(code_of([&] { program.device_at(-1); }), hmmErrorInvalidDevice);
}

TEST_F(Runtime, AFailureIsReportedOnceBeforeTheProgramAsks) {
    kernel.take_errors();
    launch(use(), 1, fault_at_once, nullptr);
    std::string written;
    for (int i = 0; i < 3000 && written.empty(); i++, sys::sleep_milliseconds(1))
        written = kernel.take_errors();
    EXPECT_TRUE(written.starts_with("hmmrt: device 0, lane 0, items 0 to ")) << written;
    EXPECT_TRUE(mentions(written, {" (hmmErrorIllegalAddress)\nhmmrt:   at 0x0"}));
    const std::size_t last = written.rfind("\nhmmrt: device 0 ");
    ASSERT_NE(last, std::string::npos) << written;
    EXPECT_TRUE(mentions(written.substr(last), {"hmmDeviceReset()"}));
    EXPECT_EQ(code_of([&] { use().synchronize(); }), hmmErrorIllegalAddress);
    EXPECT_EQ(kernel.take_errors(), "");
}

TEST_F(Runtime, TheReportIsWrittenWhenTheErrorIsReturned) {
    for (int i = 0; i < 20; i++) {
        kernel.take_errors();
        launch(use(), 1, fault_at_once, nullptr);
        EXPECT_EQ(code_of([&] { use().synchronize(); }), hmmErrorIllegalAddress);
        EXPECT_NE(kernel.take_errors(), "");
        use().reset();
    }
}

TEST_F(Runtime, ALostDeviceIsReported) {
    kernel.take_errors();
    launch(use(), 1, lose_agent, nullptr);
    EXPECT_EQ(code_of([&] { use().synchronize(); }), hmmErrorDeviceLost);
    const std::string written = kernel.take_errors();
    EXPECT_TRUE(written.starts_with("hmmrt: device 0: its agent ")) << written;
    EXPECT_TRUE(mentions(written, {"hmmDeviceReset()"}));
    EXPECT_EQ(written.find('\n'), written.size() - 1) << written;
}

TEST_F(Runtime, ReportsCanBeTurnedOff) {
    kernel.environment["HMMRT_REPORT"] = "0";
    kernel.take_errors();
    launch(use(), 1, fault_at_once, nullptr);
    EXPECT_EQ(code_of([&] { use().synchronize(); }), hmmErrorIllegalAddress);
    EXPECT_EQ(kernel.take_errors(), "");
}

TEST_F(Runtime, LaunchesRunAllTheirItemsAlsoIfTheyAreMoreThanTheRingHolds) {
    std::uint64_t expected = 5 * ring_entries; // more than the ring holds
    for (std::uint32_t i = 0; i < 5 * ring_entries; i++)
        launch(use(), 1, count_items, &items);
    use().synchronize();
    EXPECT_EQ(items, expected);
    for (std::uint64_t n : {1ul, 2ul, 1000ul, 100001ul}) {
        launch(use(), n, count_items, &items);
        expected += n;
    }
    use().synchronize();
    EXPECT_EQ(items, expected);
}

TEST_F(Runtime, ClosuresAreDestroyedOnceAfterTheirLaunch) {
    int destroyed = 0;
    const auto nothing = [](void*, std::uint64_t, std::uint64_t) {};
    for (int i = 0; i < 10; i++)
        launch(use(), 1, nothing, &destroyed, count_destroyed);
    use().synchronize();
    EXPECT_EQ(destroyed, 10);
    launch(use(), 0, count_items, &destroyed, count_destroyed);
    EXPECT_EQ(destroyed, 11) << "an empty launch is over at once";
    use().synchronize();
}

TEST_F(Runtime, AFaultAndALostAgentAreStickyErrorsUntilReset) {
    const struct {
        hmmRangeFunction_t fail;
        hmmError_t code;
    } failures[] = {{fault_at_once, hmmErrorIllegalAddress}, {lose_agent, hmmErrorDeviceLost}};
    for (const auto& [fail, code] : failures) {
        launch(use(), 1, fail, nullptr);
        EXPECT_EQ(code_of([&] { use().synchronize(); }), code);
        EXPECT_EQ(use().sticky_error(), code);
        if (code == hmmErrorIllegalAddress) {
            EXPECT_EQ(code_of([&] { launch(use(), 1, count_items, &items); }), code);
            EXPECT_EQ(use().last_fault().signal, SIGSEGV);
        }
        use().reset();
        EXPECT_EQ(use().sticky_error(), hmmSuccess);
        expect_to_run(7);
    }
}

TEST_F(Runtime, LaunchesBehindAFaultDoNotRunButTheirClosuresAreDestroyed) {
    std::atomic<bool> go = false;
    const auto wait_then_fault = [](void* raw, std::uint64_t begin, std::uint64_t end) {
        wait_for(*static_cast<std::atomic<bool>*>(raw));
        fault_at_once(raw, begin, end);
    };
    int destroyed = 0;
    launch(use(), 1, wait_then_fault, &go);
    const auto ran = [](void*, std::uint64_t, std::uint64_t) { ADD_FAILURE() << "ran"; };
    launch(use(), 100, ran, &destroyed, count_destroyed);
    go = true;
    EXPECT_EQ(code_of([&] { use().synchronize(); }), hmmErrorIllegalAddress);
    EXPECT_EQ(destroyed, 1);
}

TEST_F(Runtime, DevicesWorkFailAndGoEachForItself) {
    std::atomic<std::uint64_t> ran[2] = {};
    for (int round = 1; round <= 2; round++) {
        for (const int number : {0, 1})
            launch(use(number), 5, count_items, &ran[number]);
        for (const int number : {0, 1}) {
            use(number).synchronize();
            EXPECT_EQ(ran[number], 5u * static_cast<unsigned>(round));
        }
    }
    launch(use(0), 1, fault_at_once, nullptr);
    EXPECT_EQ(code_of([&] { use(0).synchronize(); }), hmmErrorIllegalAddress);
    EXPECT_EQ(use(1).sticky_error(), hmmSuccess);
    launch(use(1), 1, lose_agent, nullptr);
    EXPECT_EQ(code_of([&] { use(1).synchronize(); }), hmmErrorDeviceLost);
    use(0).reset();
    launch(use(0), 1, count_items, &ran[0]);
    use(0).synchronize();
    EXPECT_EQ(ran[0], 11u);
    EXPECT_EQ(use(1).sticky_error(), hmmErrorDeviceLost);
}

TEST_F(Runtime, AFailedStartSaysWhereAndMayBeTriedAgain) {
    const auto start = [&] { launch(use(), 1, count_items, &items); };
    kernel.agent = fakes::agent_behaviour::fails_to_attach;
    EXPECT_EQ(code_of(start), hmmErrorInitializationError);
    EXPECT_TRUE(mentions(message_of(start), {"agent: cannot attach"}));
    kernel.agent = fakes::agent_behaviour::dies_while_starting;
    EXPECT_EQ(code_of(start), hmmErrorInitializationError);
    kernel.agent = fakes::agent_behaviour::runs;
    expect_to_run(1);
    EXPECT_EQ(items, 1u);
}

TEST_F(Runtime, ABindingThatIsStillGoingIsWaitedFor) {
    kernel.busy_milliseconds = 5000;
    expect_to_run(1);
}

TEST_F(Runtime, NoFileStaysOpenAfterReset) {
    launch(use(), 1, count_items, &items);
    use().reset();
    const int with_space = kernel.open_files;
    launch(use(), 1, count_items, &items);
    EXPECT_GT(kernel.open_files, with_space);
    use().reset();
    EXPECT_EQ(kernel.open_files, with_space);
}

TEST_F(Runtime, PrefetchRunsInQueueOrderAndReportsOnce) {
    work_request request;
    request.kind = entry_kind::prefetch;
    request.prefetch.addr = 0x1000000;
    request.prefetch.len = 0x2000;
    request.prefetch.location = HMMRT_LOCATION_HOST;
    use().launch(request);
    use().synchronize();
    ASSERT_EQ(kernel.memory.prefetches.size(), 1u);
    EXPECT_EQ(kernel.memory.prefetches[0].len, 0x2000u);

    request.prefetch.addr = fakes::fake_memory::hole;
    use().launch(request);
    EXPECT_EQ(code_of([&] { use().synchronize(); }), hmmErrorInvalidValue);
    EXPECT_EQ(code_of([&] { use().synchronize(); }), hmmSuccess);
}

TEST_F(Runtime, LanesComeFromTheEnvironment) {
    kernel.environment["HMMRT_LANES"] = "3";
    EXPECT_EQ(use().lanes(), 3u);
    kernel.environment["HMMRT_LANES"] = "many";
    EXPECT_EQ(code_of([&] { use().start(); }), hmmErrorInitializationError);
}

TEST(SharedPool, GivesCellsAndThenOrdinaryMemory) {
    shared_pool pool;
    std::vector<void*> all;
    for (std::size_t i = 0; i < shared_pool::cells + 10; i++) {
        all.push_back(pool.allocate(i == 1 ? 100000 : 1 + i % shared_pool::cell_bytes));
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(all.back()) % shared_pool::alignment, 0u);
        static_cast<char*>(all.back())[0] = 1;
    }
    for (void* memory : all)
        pool.free(memory);
    void* const again = pool.allocate(1);
    EXPECT_NE(std::find(all.begin(), all.end(), again), all.end()) << "blocks are used again";
}

TEST(SharedPool, AChildTakesNoBlockBack) {
    shared_pool pool;
    auto* const block = static_cast<unsigned char*>(pool.allocate(1));
    *block = 42;
    EXPECT_TRUE(holds_in_child([&] {
        pool.free(block);
        return true;
    }));
    EXPECT_EQ(*block, 42) << "the memory is shared";
    pool.free(block);
}

// ---- the C and C++ interfaces, on the program's own runtime

TEST(Interface, ArgumentsAreChecked) {
    EXPECT_EQ(hmmLaunchRange(nullptr, nullptr, 1, nullptr, nullptr), hmmErrorInvalidValue);
    const auto kernel_function = [](const hmmThreadIndex*, void*) {};
    EXPECT_EQ(hmmLaunchFunction(kernel_function, {0, 1, 1}, 1, nullptr, 0, 0, nullptr),
              hmmErrorInvalidConfiguration);
    EXPECT_EQ(hmmLaunchFunction(kernel_function, 1, 1, nullptr, 8, 0, nullptr),
              hmmErrorInvalidValue);
    EXPECT_EQ(hmmLaunchFunction(nullptr, 1, 1, nullptr, 0, 0, nullptr),
              hmmErrorInvalidDeviceFunction);
    EXPECT_EQ(hmmLaunchFunction(kernel_function, 1, 1, nullptr, 0, 1, nullptr),
              hmmErrorNotSupported);
    int here = 0;
    const hmmMemLocation host = {hmmMemLocationTypeHost, 0};
    EXPECT_EQ(hmmMemPrefetchAsync(&here, 4, host, 1, nullptr), hmmErrorInvalidValue);
}

TEST(Interface, ArgumentsThatLeaveTheAddressSpaceAndClosuresOfImpossibleSizeAreRefused) {
    const auto kernel_function = [](const hmmThreadIndex*, void*) {};
    int here = 0;
    for (const std::size_t bytes :
         {SIZE_MAX, SIZE_MAX - 1, SIZE_MAX - 47, SIZE_MAX - 63, SIZE_MAX / 2})
        EXPECT_EQ(
            hmmLaunchFunction(kernel_function, {1, 1, 1}, {1, 1, 1}, &here, bytes, 0, nullptr),
            hmmErrorInvalidValue)
            << bytes;
    for (const std::size_t less : {0, 1, 62, 63})
        EXPECT_EQ(hmmClosureAllocate(SIZE_MAX - less), nullptr) << less;
}

TEST(Interface, GridsWithoutThreadsOrWithTooManyAreRefusedInBothLanguages) {
    constexpr std::uint32_t most = UINT32_MAX, half = 1u << 31;
    constexpr struct {
        hmm::dim3 grid, block;
    } wrong[] = {{{0}, {1}},
                 {{1, 0}, {1}},
                 {{1, 1, 0}, {1}},
                 {{1}, {0}},
                 {{1}, {1, 0}},
                 {{1}, {1, 1, 0}},
                 {{most, most, most}, {1, 1, 0}},
                 {{half, half, 4}, {1}}, // 2^64
                 {{1}, {half, half, 4}},
                 {{1u << 16, 1u << 16, 1}, {half, 2}},
                 {{half, half, 8}, {1}}, // 2^65: a product of 0 in 64 bits
                 {{most, most, most}, {most, most, most}}};
    const auto kernel_function = [](const hmmThreadIndex*, void*) { ADD_FAILURE() << "ran"; };
    const auto as_c = [](const hmm::dim3& of) { return hmmDim3{of.x, of.y, of.z}; };
    for (const auto& each : wrong) {
        const hmm::dim3 grid = each.grid, block = each.block;
        const std::ptrdiff_t number = &each - wrong;
        EXPECT_EQ(
            hmmLaunchFunction(kernel_function, as_c(grid), as_c(block), nullptr, 0, 0, nullptr),
            hmmErrorInvalidConfiguration)
            << number;
        auto owned = std::make_shared<int>(1);
        auto function = [owned](const hmm::thread_index&) { ADD_FAILURE() << "ran"; };
        expect_error(hmmErrorInvalidConfiguration, "launch",
                     [&] { hmm::launch(grid, block, std::move(function)); });
        EXPECT_EQ(owned.use_count(), 2) << "the function is still the caller's";
    }
    hmm::synchronize();
}

TEST(Interface, TheLastErrorIsKeptForTheThreadAndGivenOnce) {
    EXPECT_EQ(hmmSetDevice(99), hmmErrorInvalidDevice);
    EXPECT_EQ(hmmPeekAtLastError(), hmmErrorInvalidDevice);
    const std::string text = hmmGetLastErrorDetail();
    EXPECT_TRUE(text.starts_with("hmmSetDevice: device 99 ")) << text;
    EXPECT_TRUE(mentions(text, {"number of devices: 2"}));
    std::thread([] { EXPECT_EQ(hmmGetLastError(), hmmSuccess); }).join();
    EXPECT_EQ(hmmGetLastError(), hmmErrorInvalidDevice);
    EXPECT_EQ(hmmGetLastError(), hmmSuccess);
    int here = 0;
    EXPECT_EQ(hmmHostRegister(&here, 4, hmmHostRegisterIoMemory), hmmErrorNotSupported);
    EXPECT_EQ(hmmGetLastError(), hmmErrorNotSupported);
    EXPECT_EQ(hmmGetLastError(), hmmSuccess);
}

TEST(Interface, MemoryInfoIsOfTheCurrentDevice) {
    std::size_t free = 0, total = 0;
    ASSERT_EQ(hmmMemGetInfo(&free, &total), hmmSuccess);
    EXPECT_EQ(total, 256u << 20);
    EXPECT_EQ(free, 192u << 20);
    const hmm::scoped_device second(hmm::device(1));
    ASSERT_EQ(hmmMemGetInfo(&free, &total), hmmSuccess);
    EXPECT_EQ(total, 512u << 20);
}

TEST(Interface, LaunchRunsClosuresThatOwnThings) {
    std::vector<int> data(1000, 1);
    int* const raw = data.data();
    auto owned = std::make_shared<int>(5);
    const std::weak_ptr<int> watch = owned;
    hmm::launch(data.size(), [raw, owned = std::move(owned)](std::size_t i) { raw[i] += *owned; });
    hmm::synchronize();
    EXPECT_EQ(data, std::vector<int>(1000, 6));
    EXPECT_TRUE(watch.expired());
}

TEST(Interface, GridThreadsSeeTheirIndices) {
    constexpr hmm::dim3 grid = {3, 2, 1}, block = {4, 2, 2};
    std::vector<int> visits(grid.count() * block.count());
    int* const raw = visits.data();
    hmm::launch(grid, block, [raw](const hmm::thread_index& at) {
        const std::size_t x = at.global_x(), y = at.global_y(), z = at.global_z();
        raw[(z * 4 + y) * 12 + x]++;
    });
    hmm::synchronize();
    EXPECT_EQ(visits, std::vector<int>(visits.size(), 1));
}

TEST(Interface, ParallelForCoversRangesOfIndicesAndElements) {
    std::vector<int> data(100, 0);
    hmm::parallel_for(10, 90, [&](int i) { data[static_cast<std::size_t>(i)] = i; });
    EXPECT_EQ(std::accumulate(data.begin(), data.end(), 0), 3960);
    hmm::parallel_for(data, [](int& value) { value = 1; });
    EXPECT_EQ(std::accumulate(data.begin(), data.end(), 0), 100);
    hmm::parallel_for(5, 5, [](int) { FAIL(); });
}

TEST(Interface, ErrorsCarryCodeOperationAndRecord) {
    ASSERT_EQ(hmmLaunchRange(fault_at_once, nullptr, 1, nullptr, nullptr), hmmSuccess);
    const hmmFaultRecord record =
        expect_error(hmmErrorIllegalAddress, "synchronize", [] { hmm::synchronize(); });
    EXPECT_EQ(record.signal, SIGSEGV);
    EXPECT_EQ(hmm::synchronize(std::nothrow), hmmErrorIllegalAddress);
    EXPECT_EQ(hmmGetLastError(), hmmErrorIllegalAddress);
    EXPECT_EQ(hmmGetLastError(), hmmErrorIllegalAddress) << "sticky";
    hmm::reset();
    EXPECT_EQ(hmm::synchronize(std::nothrow), hmmSuccess);
}

/// Returns a stream of device 1, which has a fault. The current device is 0.
hmm::stream stream_of_a_failed_device() {
    const hmm::scoped_device second(hmm::device(1));
    hmm::stream result;
    EXPECT_EQ(hmmLaunchRange(fault_at_once, nullptr, 1, nullptr, result.get()), hmmSuccess);
    return result;
}

TEST(Interface, ErrorsCarryTheRecordOfTheDeviceThatFailedWhicheverIsCurrent) {
    const hmm::stream failed = stream_of_a_failed_device();
    const hmmFaultRecord record =
        expect_error(hmmErrorIllegalAddress, "stream synchronize", [&] { failed.synchronize(); });
    EXPECT_EQ(record.error, hmmErrorIllegalAddress);
    EXPECT_EQ(record.device, 1);
    EXPECT_EQ(record.signal, SIGSEGV);
    hmm::reset(hmm::device(1));
}

TEST(Interface, TheLastErrorIsStickyAndItsRecordOutlivesAResetOfItsDevice) {
    hmmFaultRecord record = {};
    std::thread([&] { EXPECT_EQ(hmmGetLastErrorRecord(&record), hmmSuccess); }).join();
    EXPECT_EQ(record.error, hmmSuccess);
    EXPECT_EQ(record.device, hmmInvalidDeviceId);
    const hmm::stream failed = stream_of_a_failed_device();
    EXPECT_EQ(hmmStreamSynchronize(failed.get()), hmmErrorIllegalAddress);
    for (int i = 0; i < 3; i++)
        EXPECT_EQ(hmmGetLastError(), hmmErrorIllegalAddress) << "sticky as long as the device";
    hmm::reset(hmm::device(1));
    EXPECT_EQ(hmmGetLastErrorRecord(&record), hmmSuccess);
    EXPECT_EQ(record.error, hmmErrorIllegalAddress);
    EXPECT_EQ(record.device, 1);
    EXPECT_EQ(hmmGetLastError(), hmmErrorIllegalAddress) << "it happened";
    EXPECT_EQ(hmmGetLastError(), hmmSuccess);
    EXPECT_EQ(hmmSetDevice(99), hmmErrorInvalidDevice);
    EXPECT_EQ(hmmGetLastErrorRecord(&record), hmmSuccess);
    EXPECT_EQ(record.error, hmmSuccess);
    EXPECT_EQ(record.device, hmmInvalidDeviceId);
}

TEST(Interface, ErrorsThatNoKernelCausedCarryNoRecordOfOne) {
    const hmm::stream failed = stream_of_a_failed_device();
    EXPECT_EQ(hmmStreamSynchronize(failed.get()), hmmErrorIllegalAddress);
    {
        const hmm::scoped_device second(hmm::device(1));
        const hmmFaultRecord record = expect_error(hmmErrorInvalidDevice, "set_device", [] {
            hmm::check(hmmSetDevice(99), "set_device");
        });
        EXPECT_EQ(record.error, hmmSuccess);
    }
    hmm::reset(hmm::device(1));
}

} // namespace
