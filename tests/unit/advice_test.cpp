// SPDX-License-Identifier: MIT
// Advice, attributes of ranges and pointers, states of pages, attributes of devices, prefetches
// that report, and memory that is discarded.
#include "memory_fixture.hpp"

#include <climits>
#include <tuple>

namespace {

class Advice : public MemoryOverFakes {
  protected:
    template <class Value = int>
    Value attribute(hmmMemRangeAttribute which, std::size_t from = 0, std::size_t bytes = page) {
        Value value = {};
        EXPECT_EQ(hmmMemRangeGetAttribute(&value, sizeof(value), which, &memory()[from], bytes),
                  hmmSuccess);
        return value;
    }
    /// A location as its attributes describe it: the type, the id, and the number of the device.
    using place = std::tuple<hmmMemLocationType, int, int>;
    place preferred(std::size_t bytes = page) {
        return {attribute<hmmMemLocationType>(hmmMemRangeAttributePreferredLocationType, 0, bytes),
                attribute(hmmMemRangeAttributePreferredLocationId, 0, bytes),
                attribute(hmmMemRangeAttributePreferredLocation, 0, bytes)};
    }
    place last_prefetch(std::size_t bytes = page) {
        const auto type = hmmMemRangeAttributeLastPrefetchLocationType;
        return {attribute<hmmMemLocationType>(type, 0, bytes),
                attribute(hmmMemRangeAttributeLastPrefetchLocationId, 0, bytes),
                attribute(hmmMemRangeAttributeLastPrefetchLocation, 0, bytes)};
    }
    static constexpr place no_place = {hmmMemLocationTypeInvalid, hmmInvalidDeviceId,
                                       hmmInvalidDeviceId};

    /// What the fake kernel knows about the first page.
    hmmrt_range_attributes known() const {
        hmmrt_range_attributes query = {};
        query.addr = address();
        query.len = page;
        EXPECT_EQ(kernel.memory.ioctl(HMMRT_IOC_RANGE_ATTRIBUTES, &query), 0);
        return query;
    }
    std::vector<int> accessed_by(std::size_t count) {
        std::vector<int> locations(count);
        EXPECT_EQ(hmmMemRangeGetAttribute(locations.data(), count * sizeof(int),
                                          hmmMemRangeAttributeAccessedBy, memory().data(), page),
                  hmmSuccess);
        return locations;
    }
};

using Attributes = Advice;
using Residency = Advice;

TEST_F(Advice, IsOfAllPagesThatTheRangeTouches) {
    hmm::advise(memory().subspan(page - 1, 2), hmm::read_mostly);
    EXPECT_EQ(attribute(hmmMemRangeAttributeReadMostly, 0, 2 * page), 1);
    EXPECT_EQ(attribute(hmmMemRangeAttributeReadMostly, 2 * page), 0);
    hmm::unadvise(memory().first(1), hmm::read_mostly);
    EXPECT_EQ(attribute(hmmMemRangeAttributeReadMostly), 0);
    EXPECT_EQ(attribute(hmmMemRangeAttributeReadMostly, page), 1);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-field-initializers" // ids of the host are unused
hmmError_t prefer_host(void* data, std::size_t bytes) {
    return hmmMemAdvise(data, bytes, hmmMemAdviseSetPreferredLocation, {hmmMemLocationTypeHost});
}

hmmError_t prefetch_to_host(void* data, std::size_t bytes) {
    return hmmMemPrefetchAsync(data, bytes, {hmmMemLocationTypeHost}, 0);
}
#pragma GCC diagnostic pop

TEST_F(Advice, ALocationInBracesIsNoNumberOfADevice) {
    void* const data = memory().data();
    EXPECT_EQ(prefer_host(data, page), hmmSuccess);
    EXPECT_EQ(prefetch_to_host(data, page), hmmSuccess);
    EXPECT_EQ(hmmMemAdvise(data, page, hmmMemAdviseSetPreferredLocation, 1), hmmSuccess);
    EXPECT_EQ(hmmMemPrefetchAsync(data, page, hmmCpuDeviceId), hmmSuccess);
    EXPECT_EQ(hmmDeviceSynchronize(), hmmSuccess);
}

TEST_F(Advice, WrongArgumentsAreRefused) {
    void* const data = memory().data();
    const auto advise = [&](const void* ptr, std::size_t bytes, hmmMemoryAdvise advice,
                            hmmMemLocation where) {
        EXPECT_EQ(hmmMemAdviseAsync(ptr, bytes, advice, where, nullptr),
                  hmmMemAdvise(ptr, bytes, advice, where));
        return hmmMemAdvise(ptr, bytes, advice, where);
    };
    EXPECT_EQ(advise(data, page, static_cast<hmmMemoryAdvise>(7), host), hmmErrorInvalidValue);
    EXPECT_EQ(advise(data, page, static_cast<hmmMemoryAdvise>(1002), host), hmmErrorInvalidValue);
    EXPECT_EQ(advise(data, page, hmmMemAdviseSetAccessedBy, {hmmMemLocationTypeHostNuma, 0}),
              hmmErrorInvalidValue);
    EXPECT_EQ(
        advise(data, page, hmmMemAdviseUnsetAccessedBy, {hmmMemLocationTypeHostNumaCurrent, 0}),
        hmmErrorInvalidValue);
}

TEST_F(Advice, LocationIsIgnoredByAdviceWithoutOne) {
    const hmmMemLocation nowhere = {hmmMemLocationTypeInvalid, 99};
    for (const auto advice :
         {hmmMemAdviseSetReadMostly, hmmMemAdviseUnsetReadMostly,
          hmmMemAdviseUnsetPreferredLocation, hmmMemAdviseSetNoMigrate, hmmMemAdviseUnsetNoMigrate})
        EXPECT_EQ(hmmMemAdvise(memory().data(), page, advice, nowhere), hmmSuccess) << advice;
}

TEST_F(Advice, OfAHoleSaysWhyAtOnceOrWhenItRuns) {
    EXPECT_EQ(hmmMemAdvise(hole(), page, hmmMemAdviseSetReadMostly, host), hmmErrorInvalidValue);
    EXPECT_TRUE(mentions(hmmGetLastErrorDetail(), {"not mapped"}));
    EXPECT_EQ(hmmMemAdviseAsync(hole(), page, hmmMemAdviseSetReadMostly, host, nullptr),
              hmmSuccess);
    EXPECT_EQ(hmmDeviceSynchronize(), hmmErrorInvalidValue);
    EXPECT_TRUE(mentions(hmmGetLastErrorDetail(), {"advice"}));
    EXPECT_EQ(hmmDeviceSynchronize(), hmmSuccess);
}

TEST_F(Advice, QueuedRunsInStreamOrder) {
    const hmm::stream one;
    int before = -1;
    one.call_host([] {});
    hmm::launch(one, 1, [&](std::size_t) { before = static_cast<int>(known().out_flags); });
    hmm::advise(memory(), hmm::no_migrate, one);
    one.synchronize();
    EXPECT_EQ(before, 0);
    EXPECT_EQ(known().out_flags, HMMRT_RANGE_NO_MIGRATE);
}

TEST_F(Advice, GranularityIsAPowerOfTwoBetweenAPageAndABlock) {
    void* const data = memory().data();
    for (const std::size_t wrong : {std::size_t{1}, page / 2, 3 * page, std::size_t{4} << 20})
        EXPECT_EQ(hmmMemSetGranularity(data, page, wrong), hmmErrorInvalidValue) << wrong;
    for (const std::size_t right :
         {page, std::size_t{64} << 10, std::size_t{2} << 20, std::size_t{0}}) {
        hmm::set_granularity(memory(), right);
        EXPECT_EQ(known().out_granularity, right);
    }
    EXPECT_EQ(hmmMemSetGranularity(data, 0, page), hmmErrorInvalidValue);
}

TEST_F(Attributes, LocationsAreNumbersOfThisProcessNodesAreTheCpuAndPagesThatDifferHaveNone) {
    hmm::advise(memory(), hmm::preferred(hmm::device(1))); // its id is 2
    EXPECT_EQ(preferred(), place(hmmMemLocationTypeDevice, 1, 1));
    hmm::advise(memory(), hmm::preferred(hmm::host));
    EXPECT_EQ(attribute(hmmMemRangeAttributePreferredLocation), hmmCpuDeviceId);
    EXPECT_EQ(std::get<hmmMemLocationType>(preferred()), hmmMemLocationTypeHost);
    hmm::advise(memory(), hmm::preferred(hmm::numa_node(1023)));
    EXPECT_EQ(preferred(), place(hmmMemLocationTypeHostNuma, 1023, hmmCpuDeviceId));
    hmm::advise(memory(), hmm::preferred(hmm::current_numa_node));
    EXPECT_EQ(preferred(), place(hmmMemLocationTypeHostNuma, 3, hmmCpuDeviceId));
    hmm::advise(memory().first(page), hmm::preferred(hmm::device(0)));
    hmm::advise(memory().subspan(page), hmm::preferred(hmm::host));
    EXPECT_EQ(preferred(page + 1), no_place);
    EXPECT_EQ(attribute(hmmMemRangeAttributePreferredLocation, 0, page), 0);
}

TEST_F(Attributes, LastPrefetchIsWhereItWasAskedToGo) {
    const auto to = [&](const hmm::location& where) {
        prefetch(memory(), where);
        return last_prefetch(2 * page);
    };
    EXPECT_EQ(last_prefetch(2 * page), no_place);
    EXPECT_EQ(to(hmm::device(1)), place(hmmMemLocationTypeDevice, 1, 1)); // its id is 2
    EXPECT_EQ(to(hmm::host), place(hmmMemLocationTypeHost, hmmCpuDeviceId, hmmCpuDeviceId));
    for (const int node : {7, 0})
        EXPECT_EQ(to(hmm::numa_node(node)),
                  place(hmmMemLocationTypeHostNuma, node, hmmCpuDeviceId));
    prefetch(memory().first(page), hmm::device(0));
    EXPECT_EQ(last_prefetch(), place(hmmMemLocationTypeDevice, 0, 0));
    EXPECT_EQ(last_prefetch(2 * page), no_place);
}

TEST_F(Attributes, AllAreReadByOneCall) {
    hmm::advise(memory(), hmm::read_mostly);
    hmm::advise(memory(), hmm::preferred(hmm::device(1)));
    hmm::advise(memory(), hmm::accessed_by(hmm::device(0)));
    prefetch(memory(), hmm::numa_node(7));
    int values[8] = {}, accessed[2] = {};
    hmmMemRangeAttribute which[8];
    void* data[8];
    std::size_t sizes[8];
    for (int i = 0; i < 8; i++) {
        which[i] = static_cast<hmmMemRangeAttribute>(hmmMemRangeAttributeReadMostly + i);
        const bool list = which[i] == hmmMemRangeAttributeAccessedBy;
        data[i] = list ? accessed : &values[i];
        sizes[i] = list ? sizeof(accessed) : sizeof(int);
    }
    ASSERT_EQ(hmmMemRangeGetAttributes(data, sizes, which, 8, memory().data(), pages * page),
              hmmSuccess);
    EXPECT_EQ(values[0], 1);
    EXPECT_EQ(values[1], 1);
    EXPECT_EQ(accessed[0], 0);
    EXPECT_EQ(accessed[1], hmmInvalidDeviceId);
    EXPECT_EQ(values[3], hmmCpuDeviceId);
    EXPECT_EQ(values[4], hmmMemLocationTypeDevice);
    EXPECT_EQ(values[5], 1);
    EXPECT_EQ(values[6], hmmMemLocationTypeHostNuma);
    EXPECT_EQ(values[7], 7);
}

TEST_F(Attributes, AccessedByIsAListFilledUp) {
    const int none = hmmInvalidDeviceId;
    EXPECT_EQ(accessed_by(2), (std::vector{none, none}));
    hmm::advise(memory(), hmm::accessed_by(hmm::device(1)));
    hmm::advise(memory(), hmm::accessed_by(hmm::host));
    hmm::advise(memory(), hmm::accessed_by(hmm::device(0)));
    EXPECT_EQ(accessed_by(4), (std::vector{0, 1, hmmCpuDeviceId, none}));
    EXPECT_EQ(accessed_by(2), (std::vector{0, 1}));
    hmm::unadvise(memory(), hmm::accessed_by(hmm::device(0)));
    EXPECT_EQ(accessed_by(2), (std::vector{1, hmmCpuDeviceId}));
}

TEST_F(Attributes, SizesAreChecked) {
    int value[4] = {};
    const auto get = [&](std::size_t size, int attribute) {
        return hmmMemRangeGetAttribute(value, size, static_cast<hmmMemRangeAttribute>(attribute),
                                       memory().data(), page);
    };
    for (const std::size_t size : {0, 3, 6})
        EXPECT_EQ(get(size, hmmMemRangeAttributeAccessedBy), hmmErrorInvalidValue);
    for (const std::size_t size : {0, 2, 8})
        EXPECT_EQ(get(size, hmmMemRangeAttributeReadMostly), hmmErrorInvalidValue);
    for (const int attribute : {0, 9})
        EXPECT_EQ(get(4, attribute), hmmErrorInvalidValue);
}

TEST_F(Attributes, SeveralAreReadTogetherOrNone) {
    hmm::advise(memory(), hmm::read_mostly);
    hmm::advise(memory(), hmm::accessed_by(hmm::device(0)));
    int read_mostly = -7, accessed[2] = {};
    void* data[] = {&read_mostly, accessed};
    std::size_t sizes[] = {sizeof(read_mostly), 3};
    const hmmMemRangeAttribute which[] = {hmmMemRangeAttributeReadMostly,
                                          hmmMemRangeAttributeAccessedBy};
    const auto get = [&](std::size_t count) {
        return hmmMemRangeGetAttributes(data, sizes, which, count, memory().data(), page);
    };
    EXPECT_EQ(get(2), hmmErrorInvalidValue);
    EXPECT_EQ(read_mostly, -7);
    sizes[1] = sizeof(accessed);
    EXPECT_EQ(get(0), hmmErrorInvalidValue);
    ASSERT_EQ(get(2), hmmSuccess);
    EXPECT_EQ(read_mostly, 1);
    EXPECT_EQ(accessed[0], 0);
    EXPECT_EQ(accessed[1], hmmInvalidDeviceId);
}

TEST_F(Attributes, PointersSayWhatTheyPointTo) {
    const hmmPointerAttributes plain = attributes_of(&memory()[5]);
    EXPECT_EQ(plain.type, hmmMemoryTypeUnregistered);
    EXPECT_EQ(plain.device, hmmInvalidDeviceId);
    EXPECT_EQ(plain.location, hmmCpuDeviceId);
    EXPECT_EQ(plain.hostPointer, &memory()[5]);
    EXPECT_EQ(plain.devicePointer, &memory()[5]);

    char* managed = nullptr;
    ASSERT_EQ(hmmMallocManaged(&managed, page), hmmSuccess);
    prefetch(std::span(managed, page), hmm::device(1));
    EXPECT_EQ(attributes_of(managed).type, hmmMemoryTypeManaged);
    EXPECT_EQ(attributes_of(managed).device, 0) << "the current one";
    EXPECT_EQ(attributes_of(managed).location, 1);
    EXPECT_EQ(attributes_of(managed + page - 1).type, hmmMemoryTypeManaged);
    EXPECT_EQ(attributes_of(managed + page).type, hmmMemoryTypeUnregistered);
    ASSERT_EQ(hmmFree(managed), hmmSuccess);
    EXPECT_EQ(attributes_of(managed).type, hmmMemoryTypeUnregistered);

    const hmm::registered_memory registered(memory().first(10));
    EXPECT_EQ(attributes_of(&memory()[9]).type, hmmMemoryTypeHost);
    EXPECT_EQ(attributes_of(&memory()[10]).type, hmmMemoryTypeUnregistered);
}

TEST_F(Attributes, OfAPointerToNothingAreNoError) {
    for (void* const nothing : {hole(), reinterpret_cast<void*>(UINT64_MAX)}) {
        const hmmPointerAttributes found = attributes_of(nothing);
        EXPECT_EQ(found.type, hmmMemoryTypeUnregistered);
        EXPECT_EQ(found.device, hmmInvalidDeviceId);
        EXPECT_EQ(found.location, hmmInvalidDeviceId);
        EXPECT_EQ(found.devicePointer, nullptr);
        EXPECT_EQ(found.hostPointer, nullptr);
    }
}

TEST_F(Attributes, OfDevicesAreWhatTheModulesSayAndWhatIsAlwaysSo) {
    const struct {
        hmmDeviceAttr which;
        int first, second;
    } expected[] = {
        {hmmDevAttrMaxThreadsPerBlock, 1024, 1024},
        {hmmDevAttrMaxBlockDimZ, 1024, 1024},
        {hmmDevAttrMaxGridDimX, INT_MAX, INT_MAX},
        {hmmDevAttrMaxSharedMemoryPerBlock, 0, 0},
        {hmmDevAttrWarpSize, 1, 1},
        {hmmDevAttrMultiProcessorCount, 2, 2},
        {hmmDevAttrPciBusId, -1, -1},
        {hmmDevAttrMultiGpuBoardGroupID, 0, 1},
        {hmmDevAttrMemoryPoolsSupported, 1, 1},
        {hmmDevAttrIntegrated, 0, 0},
        {hmmDevAttrCanMapHostMemory, 1, 1},
        {hmmDevAttrConcurrentKernels, 1, 1},
        {hmmDevAttrAsyncEngineCount, 0, 0},
        {hmmDevAttrUnifiedAddressing, 1, 1},
        {hmmDevAttrStreamPrioritiesSupported, 1, 1},
        {hmmDevAttrManagedMemory, 1, 1},
        {hmmDevAttrHostNativeAtomicSupported, 1, 0},
        {hmmDevAttrPageableMemoryAccess, 1, 1},
        {hmmDevAttrConcurrentManagedAccess, 1, 1},
        {hmmDevAttrCanUseHostPointerForRegisteredMem, 1, 1},
        {hmmDevAttrHostRegisterSupported, 1, 1},
        {hmmDevAttrPageableMemoryAccessUsesHostPageTables, 0, 0},
        {hmmDevAttrDirectManagedMemAccessFromHost, 0, 1},
        {hmmDevAttrVirtualMemoryManagementSupported, 1, 1},
        {hmmDevAttrHandleTypePosixFileDescriptorSupported, 1, 1},
        {hmmDevAttrHostNumaId, -1, 1},
    };
    for (const auto& each : expected) {
        EXPECT_EQ(hmm::device(0).attribute(each.which), each.first) << each.which;
        EXPECT_EQ(hmm::device(1).attribute(each.which), each.second) << each.which;
    }
    int value = 0;
    for (const int none : {0, 21, 92, 135, 200})
        EXPECT_EQ(hmmDeviceGetAttribute(&value, static_cast<hmmDeviceAttr>(none), 0),
                  hmmErrorInvalidValue)
            << none;
}

TEST_F(Attributes, OfADeviceAreAllInItsProperties) {
    const hmmDeviceProp first = hmm::device(0).properties(), second = hmm::device(1).properties();
    EXPECT_STREQ(first.name, "hmmrt-gpu0");
    EXPECT_STREQ(second.name, "hmmrt-gpu2");
    EXPECT_EQ(first.totalGlobalMem, 256u << 20);
    EXPECT_EQ(second.totalGlobalMem, 512u << 20);
    EXPECT_EQ(first.hostNumaId, -1);
    EXPECT_EQ(second.hostNumaId, 1);
    EXPECT_EQ(first.hostNativeAtomicSupported, 1);
    EXPECT_EQ(second.hostNativeAtomicSupported, 0);
    EXPECT_EQ(first.directManagedMemAccessFromHost, 0);
    EXPECT_EQ(second.directManagedMemAccessFromHost, 1);
    for (const hmmDeviceProp& each : {first, second}) {
        EXPECT_EQ(each.pageSize, page);
        EXPECT_EQ(each.migrationBlockSize, 2u << 20);
        EXPECT_EQ(each.multiProcessorCount, 2);
        EXPECT_EQ(each.pageableMemoryAccess, 1);
        EXPECT_EQ(each.concurrentManagedAccess, 1);
        EXPECT_EQ(each.managedMemory, 1);
        EXPECT_EQ(each.pageableMemoryAccessUsesHostPageTables, 0);
        EXPECT_EQ(each.hostRegisterSupported, 1);
        EXPECT_EQ(each.maxThreadsPerBlock, each.maxThreadsDim[0]);
        EXPECT_EQ(each.major, 0) << "no number of a device that it is not";
    }
}

TEST_F(Residency, PagesAreInTheOrderOfTheirAddresses) {
    prefetch(memory().subspan(page, 2 * page), hmm::device(1));
    const auto found = hmm::residency(memory().subspan(10, 3 * page));
    ASSERT_EQ(found.size(), 4u);
    EXPECT_EQ(found.on(hmm::device(1)), 2u);
    EXPECT_EQ(found.on(hmm::device(0)), 0u);
    EXPECT_EQ(found.on(hmm::host), 2u);
    EXPECT_EQ(found.unpopulated(), 0u);
    EXPECT_EQ(found[0].location, hmmCpuDeviceId);
    EXPECT_EQ(found[0].mappedBy, hmmByCpu);
    EXPECT_EQ(found[1].location, 1);
    EXPECT_EQ(found[1].mappedBy, 1u << 1) << "by number, not by id";
    EXPECT_EQ(found[1].cause, hmmMoveCausePrefetch);
    EXPECT_EQ(found[1].flags, hmmPageDirty);
    EXPECT_FALSE(found.all_on(hmm::host));
}

TEST_F(Residency, OfMoreThanIsAskedForAtOnceIsWhole) {
    const std::size_t many = 3 * 4096 + 5;
    const std::span memory(reinterpret_cast<char*>(0x20000000000), many * page);
    prefetch(memory.last(page), hmm::device(0));
    const auto found = hmm::residency(memory);
    ASSERT_EQ(found.size(), many);
    EXPECT_EQ(found.on(hmm::device(0)), 1u);
    EXPECT_EQ(found[many - 1].location, 0);
}

TEST_F(Residency, ArgumentsAreChecked) {
    hmmPageState states[2];
    void* const data = memory().data();
    EXPECT_EQ(hmmMemGetResidency(data, 2 * page + 1, states, 2), hmmErrorInvalidValue);
    EXPECT_EQ(hmmMemGetResidency(data, 2 * page, states, 2), hmmSuccess);
}

// ---- prefetches and discards

using Prefetch = MemoryOverFakes;

class Discard : public MemoryOverFakes {
  protected:
    static hmmError_t discard(void* ptr, std::size_t bytes) {
        return hmmMemDiscardBatchAsync(&ptr, &bytes, 1, 0, nullptr);
    }
};

TEST_F(Prefetch, ToTheNodeOfTheCallingThread) {
    hmm::prefetch(memory(), hmm::current_numa_node);
    hmm::prefetch(memory(), hmm::numa_node(5));
    hmm::synchronize();
    EXPECT_EQ(kernel.memory.prefetches,
              (prefetches{{address(), pages * page, HMMRT_LOCATION_HOST_NODE(3u)},
                          {address(), pages * page, HMMRT_LOCATION_HOST_NODE(5u)}}));
}

TEST_F(Prefetch, ReportSaysWhatBecameOfEachPage) {
    kernel.memory.stays[address(2 * page)] = HMMRT_STAY_PINNED;
    kernel.memory.stays[address(3 * page)] = HMMRT_STAY_WATCHED;
    prefetch(memory().first(page), hmm::device(1));
    std::vector<hmmPageOutcome> outcomes(5, 255);
    hmmPrefetchReport report;
    ASSERT_EQ(hmmMemPrefetchWithReport(memory().data(), 4 * page, on(1), outcomes.data(),
                                       outcomes.size(), &report),
              hmmSuccess);
    EXPECT_EQ(report.moved, 1u);
    EXPECT_EQ(report.there, 1u);
    EXPECT_EQ(report.stayed[hmmStayPinned], 1u);
    EXPECT_EQ(report.stayed[hmmStayWatched], 1u);
    EXPECT_EQ(report.stayed[hmmStayBusy], 0u);
    EXPECT_EQ(outcomes, (std::vector<hmmPageOutcome>{hmmOutcomeThere, hmmOutcomeMoved,
                                                     hmmOutcomeStayed(hmmStayPinned),
                                                     hmmOutcomeStayed(hmmStayWatched), 255}));
}

TEST_F(Prefetch, InterruptedBySignalsCountsEachPageOnce) {
    kernel.memory.interrupt_after = 3;
    std::vector<hmmPageOutcome> outcomes(pages, 255);
    hmmPrefetchReport report;
    ASSERT_EQ(hmmMemPrefetchWithReport(memory().data(), pages * page, on(0), outcomes.data(), pages,
                                       &report),
              hmmSuccess);
    EXPECT_EQ(kernel.memory.prefetches.size(), 3u);
    EXPECT_EQ(report.moved, pages);
    EXPECT_EQ(report.there, 0u);
    EXPECT_EQ(outcomes, std::vector<hmmPageOutcome>(pages, hmmOutcomeMoved));
}

TEST_F(Prefetch, WaitingForAnEventReportsWhatQueuedCallsFailedWith) {
    const hmm::event behind;
    EXPECT_EQ(hmmMemPrefetchAsync(hole(), page, host, 0, nullptr), hmmSuccess);
    hmm::default_stream.record(behind);
    EXPECT_EQ(hmmEventSynchronize(behind.get()), hmmErrorInvalidValue);
    EXPECT_EQ(hmmEventSynchronize(behind.get()), hmmSuccess);
}

TEST_F(Prefetch, FreeLeavesWhatQueuedCallsFailedWithToTheirDevices) {
    void* memory = nullptr;
    ASSERT_EQ(hmmMallocManaged(&memory, page, hmmMemAttachGlobal), hmmSuccess);
    EXPECT_EQ(hmmMemPrefetchAsync(hole(), page, host, 0, nullptr), hmmSuccess);
    EXPECT_EQ(hmmFree(memory), hmmSuccess);
    EXPECT_EQ(hmmDeviceSynchronize(), hmmErrorInvalidValue);
}

TEST_F(Prefetch, ReportIsNotWantedByAllAndIsRefusedWithMorePagesThanOutcomes) {
    EXPECT_EQ(hmmMemPrefetchWithReport(memory().data(), page, on(0), nullptr, 0, nullptr),
              hmmSuccess);
    EXPECT_EQ(hmm::prefetch_with_report(memory(), hmm::host).moved, 1u);
    kernel.memory.prefetches.clear();
    hmmPageOutcome outcomes[2];
    EXPECT_EQ(hmmMemPrefetchWithReport(memory().data(), 2 * page + 1, host, outcomes, 2, nullptr),
              hmmErrorInvalidValue);
    EXPECT_TRUE(kernel.memory.prefetches.empty());
}

TEST_F(Discard, TakesWholePagesInsideTheRangeOnly) {
    EXPECT_EQ(discard(&memory()[1], 3 * page), hmmSuccess);
    EXPECT_EQ(discard(&memory()[1], 2 * page - 2), hmmSuccess) << "no whole page: nothing to do";
    EXPECT_EQ(discard(&memory()[page], page), hmmSuccess);
    EXPECT_EQ(hmmDeviceSynchronize(), hmmSuccess);
    EXPECT_EQ(kernel.memory.discards, (discards{{address(page), 2 * page}, {address(page), page}}));
}

TEST_F(Discard, ChecksNothingOutsideTheWholePages) {
    auto* const end = reinterpret_cast<std::byte*>(fakes::fake_memory::hole_end);
    EXPECT_EQ(discard(end - 1, 1 + page), hmmSuccess);
    EXPECT_EQ(hmmDeviceSynchronize(), hmmSuccess);
    EXPECT_EQ(kernel.memory.discards, (discards{{fakes::fake_memory::hole_end, page}}));
}

TEST_F(Discard, ArgumentsAreCheckedBeforeAnythingIsQueued) {
    void* ptrs[] = {memory().data(), memory().data()};
    const std::size_t sizes[] = {page, page}, empty[] = {page, 0}, first = 0;
    const hmmMemLocation nowhere = {hmmMemLocationTypeInvalid, 0};
    EXPECT_EQ(hmmMemDiscardBatchAsync(ptrs, sizes, 2, 1, nullptr), hmmErrorInvalidValue);
    EXPECT_EQ(hmmMemDiscardBatchAsync(ptrs, sizes, 0, 0, nullptr), hmmErrorInvalidValue);
    EXPECT_EQ(hmmMemDiscardBatchAsync(nullptr, sizes, 2, 0, nullptr), hmmErrorInvalidValue);
    EXPECT_EQ(hmmMemDiscardBatchAsync(ptrs, nullptr, 2, 0, nullptr), hmmErrorInvalidValue);
    EXPECT_EQ(hmmMemDiscardBatchAsync(ptrs, empty, 2, 0, nullptr), hmmErrorInvalidValue);
    const auto both = [&](const std::size_t* of, hmmMemLocation where, unsigned long long flags) {
        return hmmMemDiscardAndPrefetchBatchAsync(ptrs, of, 2, &where, &first, 1, flags, nullptr);
    };
    EXPECT_EQ(both(sizes, nowhere, 0), hmmErrorInvalidValue);
    EXPECT_EQ(both(empty, host, 0), hmmErrorInvalidValue);
    EXPECT_EQ(both(sizes, host, 1), hmmErrorInvalidValue);
    EXPECT_EQ(hmmDeviceSynchronize(), hmmSuccess);
    EXPECT_TRUE(kernel.memory.discards.empty());
}

TEST_F(Discard, ThenPrefetchMovesAlsoThePagesAtTheEnds) {
    hmm::discard_and_prefetch(memory().subspan(1, 2 * page), hmm::device(1));
    hmm::synchronize();
    EXPECT_EQ(kernel.memory.discards, (discards{{address(page), page}}));
    EXPECT_EQ(kernel.memory.prefetches, (prefetches{{address(), 3 * page, 2}}));
}

TEST_F(Discard, OfSeveralRangesIsDoneOneAfterTheOther) {
    void* const ptrs[] = {&memory()[2 * page], &memory()[0], &memory()[5 * page]};
    const std::size_t sizes[] = {page, 2 * page, 3 * page};
    EXPECT_EQ(hmmMemDiscardBatchAsync(ptrs, sizes, 3, 0, nullptr), hmmSuccess);
    EXPECT_EQ(hmmDeviceSynchronize(), hmmSuccess);
    EXPECT_EQ(kernel.memory.discards, (discards{{address(2 * page), page},
                                                {address(), 2 * page},
                                                {address(5 * page), 3 * page}}));
    EXPECT_EQ(kernel.memory.order, "ddd");
}

/// Ranges 0 and 1 go to device 1, whose id is 2, the others to system memory.
TEST_F(Discard, ThenPrefetchOfSeveralTakesEachRangeInItsTurn) {
    void* ptrs[4];
    const std::size_t sizes[] = {page, 2 * page, page, page}, firsts[] = {0, 2};
    for (std::size_t i = 0; i < 4; i++)
        ptrs[i] = &memory()[2 * page * i];
    const hmmMemLocation locations[] = {on(1), host};
    EXPECT_EQ(hmmMemDiscardAndPrefetchBatchAsync(ptrs, sizes, 4, locations, firsts, 2, 0, nullptr),
              hmmSuccess);
    EXPECT_EQ(hmmDeviceSynchronize(), hmmSuccess);
    EXPECT_EQ(kernel.memory.order, "dpdpdpdp");
    prefetches moved;
    discards discarded;
    for (std::size_t i = 0; i < 4; i++) {
        discarded.push_back({address(2 * page * i), sizes[i]});
        moved.push_back({address(2 * page * i), sizes[i], i < 2 ? 2u : HMMRT_LOCATION_HOST});
    }
    EXPECT_EQ(kernel.memory.discards, discarded);
    EXPECT_EQ(kernel.memory.prefetches, moved);
}

TEST_F(Discard, OfAHoleOrOfLockedMemoryIsReportedOnce) {
    EXPECT_EQ(discard(hole(), page), hmmSuccess);
    EXPECT_EQ(hmmDeviceSynchronize(), hmmErrorInvalidValue);
    EXPECT_TRUE(mentions(hmmGetLastErrorDetail(), {"not mapped"}));
    EXPECT_EQ(hmmDeviceSynchronize(), hmmSuccess);

    const hmm::registered_memory registered(memory());
    EXPECT_EQ(discard(memory().data(), page), hmmSuccess);
    EXPECT_EQ(hmmDeviceSynchronize(), hmmErrorInvalidValue);
    EXPECT_TRUE(mentions(hmmGetLastErrorDetail(), {"locked"}));
    EXPECT_EQ(hmmDeviceSynchronize(), hmmSuccess);
}

} // namespace
