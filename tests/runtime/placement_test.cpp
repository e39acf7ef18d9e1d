// SPDX-License-Identifier: MIT
// Discarded memory, registered memory, prefetches with reports, and pointers.
#include "capability.hpp"
#include "lib/files.hpp"
#include "lib/mappings.hpp"
#include "mapped_fixture.hpp"

#include <cstring>
#include <fcntl.h>
#include <span>
#include <string>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

namespace {

class Placement : public OnMappedMemory {
  protected:
    void* unmapped() const {
        munmap(memory_.data() + bytes / 2, page);
        return memory_.data() + bytes / 2;
    }

    /// Returns true if the kernel reports this address's mapping as locked.
    static bool is_locked(const void* ptr) {
        const auto at = reinterpret_cast<std::uintptr_t>(ptr);
        const std::string smaps = tools::read_file("/proc/self/smaps").value_or("");
        for (const tools::mapping& of : tools::parse_mappings(smaps))
            if (of.start <= at && at < of.end) return of.flags.find(" lo") != std::string::npos;
        ADD_FAILURE() << "not mapped";
        return false;
    }
};

using Discard = Placement;
using Registered = Placement;
using Report = Placement;
using Pointers = Placement;

TEST_F(Discard, ForgetsWholePagesAndNoByteBesideThem) {
    hmm::prefetch(memory_, hmm::device(0));
    hmm::discard(memory_.subspan(10, 3 * page));
    hmm::synchronize();
    for (const std::size_t kept : {std::size_t{0}, page - 1, 3 * page, bytes - 1})
        EXPECT_EQ(memory_[kept], 1) << kept;
    for (std::size_t i = page; i < 3 * page; i++)
        ASSERT_EQ(memory_[i], 0) << i;
}

TEST_F(Discard, ComesInTheOrderOfItsStream) {
    const hmm::stream one;
    unsigned char before = 0, after = 9;
    unsigned char* const raw = memory_.data();
    hmm::launch(one, 1, [&](std::size_t) { before = raw[5]; });
    hmm::discard(memory_, one);
    hmm::launch(one, 1, [&](std::size_t) {
        after = raw[5];
        raw[6] = 7;
    });
    one.synchronize();
    EXPECT_EQ(before, 1);
    EXPECT_EQ(after, 0);
    EXPECT_EQ(raw[6], 7);
}

TEST_F(Discard, ThenPrefetchPutsZeroesThere) {
    NEEDS_PAGES_THAT_MOVE();
    hmm::discard_and_prefetch(memory_, hmm::device(0));
    hmm::synchronize();
    EXPECT_EQ(location_of(&memory_[0]), 0);
    EXPECT_EQ(location_of(&memory_[bytes - 1]), 0);
    bool zeroes = true;
    on_device([&] {
        for (const unsigned char value : memory_)
            zeroes = zeroes && value == 0;
    });
    EXPECT_TRUE(zeroes);
}

TEST_F(Discard, OfAHoleOrOfRegisteredMemoryIsReportedOnce) {
    const hmm::registered_memory registered(memory_.first(page));
    for (void* const wrong : {static_cast<void*>(memory_.data()), unmapped()}) {
        const std::size_t size = page;
        EXPECT_EQ(hmmMemDiscardBatchAsync(&wrong, &size, 1, 0, nullptr), hmmSuccess);
        EXPECT_EQ(hmmDeviceSynchronize(), hmmErrorInvalidValue);
        EXPECT_EQ(hmmDeviceSynchronize(), hmmSuccess);
    }
    EXPECT_EQ(memory_[0], 1);
    expect_usable();
}

TEST_F(Registered, StaysInSystemMemoryAndIsAccessedThere) {
    NEEDS_PAGES_THAT_MOVE();
    hmm::prefetch(memory_, hmm::device(0));
    hmm::synchronize();
    ASSERT_EQ(location_of(memory_.data()), 0);
    {
        const hmm::registered_memory registered(memory_);
        EXPECT_EQ(location_of(memory_.data()), hmmCpuDeviceId);
        hmm::prefetch(memory_, hmm::device(0));
        hmm::launch(bytes, [raw = memory_.data()](std::size_t i) { raw[i]++; });
        hmm::synchronize();
        EXPECT_EQ(location_of(&memory_[0]), hmmCpuDeviceId);
        EXPECT_EQ(location_of(&memory_[bytes - 1]), hmmCpuDeviceId);
    }
    for (const unsigned char value : memory_)
        ASSERT_EQ(value, 2);
    hmm::prefetch(memory_, hmm::device(0));
    hmm::synchronize();
    EXPECT_EQ(location_of(&memory_[bytes - 1]), 0) << "it may move again";
}

TEST_F(Registered, PageThatIsSharedStaysLockedUntilTheLastIsGone) {
    NEEDS_PAGES_THAT_MOVE();
    ASSERT_EQ(hmmHostRegister(&memory_[0], 100, 0), hmmSuccess);
    ASSERT_EQ(hmmHostRegister(&memory_[100], page, 0), hmmSuccess);
    ASSERT_EQ(hmmHostUnregister(&memory_[100]), hmmSuccess);
    hmm::prefetch(memory_.first(2 * page), hmm::device(0));
    hmm::synchronize();
    EXPECT_EQ(location_of(&memory_[0]), hmmCpuDeviceId);
    EXPECT_EQ(location_of(&memory_[page]), 0);
    ASSERT_EQ(hmmHostUnregister(&memory_[0]), hmmSuccess);
    hmm::prefetch(memory_.first(page), hmm::device(0));
    hmm::synchronize();
    EXPECT_EQ(location_of(&memory_[0]), 0);
}

TEST_F(Registered, WhatTheProgramHadLockedStaysLocked) {
    unsigned char* const populated = &memory_[2 * page];
    ASSERT_EQ(munmap(&memory_[5 * page], page), 0);
    unsigned char* const untouched = &memory_[5 * page];
    ASSERT_EQ(mmap(untouched, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
                   -1, 0),
              untouched);
    // With sanitizers, mlock() does nothing.
    ASSERT_EQ(syscall(SYS_mlock, populated, 2 * page), 0);
    ASSERT_EQ(mlock2(untouched, page, MLOCK_ONFAULT), 0);
    const auto locked = [&] {
        std::string pages;
        for (std::size_t i = 0; i < 8; i++)
            pages += is_locked(&memory_[i * page]) ? 'L' : '-';
        return pages;
    };
    ASSERT_EQ(locked(), "--LL-L--");
    ASSERT_EQ(hmmHostRegister(&memory_[page], page + 1, 0), hmmSuccess);
    ASSERT_EQ(hmmHostRegister(&memory_[2 * page + 1], 4 * page, 0), hmmSuccess);
    EXPECT_EQ(locked(), "-LLLLLL-");
    EXPECT_EQ(hmmHostUnregister(&memory_[2 * page + 1]), hmmSuccess);
    EXPECT_EQ(locked(), "-LLL-L--");
    EXPECT_EQ(hmmHostUnregister(&memory_[page]), hmmSuccess);
    EXPECT_EQ(locked(), "--LL-L--");
}

TEST_F(Registered, MigratesBackByAPrefetch) {
    hmm::prefetch(memory_, hmm::device(0));
    hmm::synchronize();
    const hmm::registered_memory registered(memory_);
    int last = hmmInvalidDeviceId;
    ASSERT_EQ(hmmMemRangeGetAttribute(&last, sizeof(last), hmmMemRangeAttributeLastPrefetchLocation,
                                      memory_.data(), bytes),
              hmmSuccess);
    EXPECT_EQ(last, hmmCpuDeviceId);
}

TEST_F(Registered, OfAHoleIsRefused) {
    EXPECT_EQ(hmmHostRegister(unmapped(), page, 0), hmmErrorInvalidValue);
    EXPECT_EQ(hmmHostUnregister(unmapped()), hmmErrorHostMemoryNotRegistered);
}

TEST_F(Registered, LimitOnLockedMemoryIsAnErrorThatNamesIt) {
    NEEDS_PAGES_THAT_MOVE();
    hmm::prefetch(memory_, hmm::device(0));
    hmm::synchronize();
    {
        const locked_memory_limit limit(8 * page);
        EXPECT_EQ(hmmHostRegister(memory_.data(), 9 * page, 0), hmmErrorMemoryAllocation);
        EXPECT_NE(std::string(hmmGetLastErrorDetail()).find("RLIMIT_MEMLOCK is 32768 bytes"),
                  std::string::npos)
            << hmmGetLastErrorDetail();
    }
    EXPECT_EQ(hmmHostUnregister(memory_.data()), hmmErrorHostMemoryNotRegistered);
    EXPECT_FALSE(is_locked(memory_.data()));
    EXPECT_EQ(location_of(&memory_[0]), 0) << "nothing has moved";
    EXPECT_EQ(location_of(&memory_[9 * page - 1]), 0);
}

TEST_F(Registered, LimitOnLockedMemoryIsNoneWherePagesDoNotMove) {
    if (!is_cpu_device()) GTEST_SKIP() << "pages move";
    const locked_memory_limit limit(0);
    void* memory = nullptr;
    for (const std::size_t size : {std::size_t{24}, page, std::size_t{32} << 20}) {
        ASSERT_EQ(hmmHostAlloc(&memory, size, 0), hmmSuccess) << hmmGetLastErrorDetail();
        std::memset(memory, 1, size);
        EXPECT_EQ(hmmFreeHost(memory), hmmSuccess);
    }
    EXPECT_EQ(hmmHostRegister(memory_.data(), bytes, 0), hmmSuccess);
    EXPECT_EQ(hmmHostUnregister(memory_.data()), hmmSuccess);
}

TEST_F(Report, CountsPagesThatMovedThatWereThereAndThatStayed) {
    NEEDS_PAGES_THAT_MOVE();
    hmm::prefetch(memory_.first(2 * page), hmm::device(0));
    hmm::synchronize();
    const auto report = hmm::prefetch_with_report(memory_, hmm::device(0));
    EXPECT_EQ(report.there, 2u);
    EXPECT_EQ(report.moved, bytes / page - 2);
    for (const std::size_t stayed : report.stayed)
        EXPECT_EQ(stayed, 0u);
}

TEST_F(Report, NamesTheReason) {
    NEEDS_PAGES_THAT_MOVE();
    void* const shared =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(shared, MAP_FAILED);
    const std::span memory(static_cast<unsigned char*>(shared), bytes);
    const auto report = hmm::prefetch_with_report(memory, hmm::device(0));
    EXPECT_EQ(report.stayed[hmmStayFile], bytes / page);
    EXPECT_EQ(report.moved + report.there, 0u);
    munmap(shared, bytes);
}

TEST_F(Report, OfRegisteredMemorySaysThatItIsPinned) {
    NEEDS_PAGES_THAT_MOVE();
    const hmm::registered_memory registered(memory_);
    const auto report = hmm::prefetch_with_report(memory_, hmm::device(0));
    EXPECT_EQ(report.stayed[hmmStayPinned], bytes / page);
    EXPECT_EQ(report.moved + report.there, 0u);
}

TEST_F(Report, OfAHoleIsRefusedAtOnce) {
    hmmPrefetchReport report;
    EXPECT_EQ(hmmMemPrefetchWithReport(unmapped(), page, {hmmMemLocationTypeHost, 0}, nullptr, 0,
                                       &report),
              hmmErrorInvalidValue);
    EXPECT_EQ(hmmDeviceSynchronize(), hmmSuccess);
}

TEST_F(Pointers, SayWhereTheirPageIs) {
    NEEDS_PAGES_THAT_MOVE();
    EXPECT_EQ(location_of(memory_.data()), hmmCpuDeviceId);
    hmm::prefetch(memory_, hmm::device(0));
    hmm::synchronize();
    EXPECT_EQ(location_of(memory_.data() + 17), 0);
    hmmPointerAttributes found;
    ASSERT_EQ(hmmPointerGetAttributes(&found, memory_.data() + 17), hmmSuccess);
    EXPECT_EQ(found.type, hmmMemoryTypeUnregistered);
    EXPECT_EQ(found.devicePointer, memory_.data() + 17);
}

TEST_F(Pointers, OfMemoryThatIsNotThereSaySo) {
    NEEDS_PAGES_THAT_MOVE();
    void* managed = nullptr;
    ASSERT_EQ(hmmMallocManaged(&managed, page, hmmMemAttachGlobal), hmmSuccess);
    hmmPointerAttributes found;
    ASSERT_EQ(hmmPointerGetAttributes(&found, managed), hmmSuccess);
    EXPECT_EQ(found.type, hmmMemoryTypeManaged);
    EXPECT_EQ(found.device, 0);
    EXPECT_EQ(found.location, hmmInvalidDeviceId) << "nothing is there yet";
    EXPECT_EQ(found.hostPointer, managed);
    ASSERT_EQ(hmmFree(managed), hmmSuccess);

    for (void* const nothing : {unmapped(), static_cast<void*>(nullptr)}) {
        ASSERT_EQ(hmmPointerGetAttributes(&found, nothing), hmmSuccess);
        EXPECT_EQ(found.location, hmmInvalidDeviceId);
        EXPECT_EQ(found.hostPointer, nullptr);
    }
}

} // namespace
