// SPDX-License-Identifier: MIT
// Memory that is allocated and freed in stream order.
#include "memory_fixture.hpp"

namespace {

class Pool : public MemoryOverFakes {
  protected:
    Pool() { pool_ = create(0, 0); }
    ~Pool() override { hmmMemPoolDestroy(pool_); }

    static hmmMemPool_t create(int device, std::size_t limit) {
        hmmMemPool_t pool = nullptr;
        hmmMemPoolProps props = {};
        props.allocType = hmmMemAllocationTypePinned;
        props.location = on(device);
        props.maxSize = limit;
        EXPECT_EQ(hmmMemPoolCreate(&pool, &props), hmmSuccess);
        return pool;
    }
    std::uint64_t get(hmmMemPoolAttr which) const {
        std::uint64_t value = 0;
        EXPECT_EQ(hmmMemPoolGetAttribute(pool_, which, &value), hmmSuccess);
        return value;
    }
    void set(hmmMemPoolAttr which, std::uint64_t value) const {
        EXPECT_EQ(hmmMemPoolSetAttribute(pool_, which, &value), hmmSuccess);
    }
    std::uint64_t used() const { return get(hmmMemPoolAttrUsedMemCurrent); }
    std::uint64_t reserved() const { return get(hmmMemPoolAttrReservedMemCurrent); }
    char* allocate(std::size_t bytes, hmm::stream_ref in = hmm::default_stream) const {
        char* memory = nullptr;
        EXPECT_EQ(hmmMallocAsync(&memory, bytes, pool_, in.get()), hmmSuccess);
        return memory;
    }
    static void free(void* memory, hmm::stream_ref in = hmm::default_stream) {
        EXPECT_EQ(hmmFreeAsync(memory, in.get()), hmmSuccess);
    }
    /// Queues work that runs until open().
    void close(hmm::stream_ref in) {
        hmm::launch(in, 1, [&](std::size_t) { wait_for(open_); });
    }
    void open() { open_ = true; }

    hmmMemPool_t pool_;

  private:
    std::atomic<bool> open_ = false;
};

TEST_F(Pool, CountsWhatItHasAndWhatIsUsed) {
    char* const one = allocate(1);
    char* const two = allocate(3 * page);
    EXPECT_EQ(used(), 3 * page + 256);
    EXPECT_EQ(reserved(), 3 * page + 256);
    free(one);
    EXPECT_EQ(used(), 3 * page);
    EXPECT_EQ(reserved(), 3 * page + 256);
    EXPECT_EQ(hmmFree(two), hmmSuccess) << "it takes memory of pools too";
    EXPECT_EQ(used(), 0u);
    EXPECT_EQ(hmmDeviceSynchronize(), hmmSuccess);
    EXPECT_EQ(reserved(), 0u) << "the threshold is 0";
    EXPECT_EQ(get(hmmMemPoolAttrUsedMemHigh), 3 * page + 256);
    EXPECT_EQ(get(hmmMemPoolAttrReservedMemHigh), 3 * page + 256);
    set(hmmMemPoolAttrUsedMemHigh, 0);
    set(hmmMemPoolAttrReservedMemHigh, 0);
    EXPECT_EQ(get(hmmMemPoolAttrUsedMemHigh), 0u);
    EXPECT_EQ(get(hmmMemPoolAttrReservedMemHigh), 0u);
}

TEST_F(Pool, GivesAgainInTheSameStreamAtOnce) {
    const hmm::stream in;
    close(in);
    char* const first = allocate(2 * page, in);
    free(first, in);
    EXPECT_EQ(allocate(2 * page, in), first);
    EXPECT_FALSE(in.idle());
    open();
    free(first, in);
    in.synchronize();
}

TEST_F(Pool, GivesMemoryAgainWithoutTheAdviceOfBefore) {
    for (const std::size_t bytes : {std::size_t{24}, 2 * page}) {
        char* const first = allocate(bytes);
        ASSERT_EQ(hmmMemAdvise(first, bytes, hmmMemAdviseSetPreferredLocation,
                               {hmmMemLocationTypeHost, 0}),
                  hmmSuccess);
        free(first);
        char* const again = allocate(bytes);
        EXPECT_EQ(again, first);
        EXPECT_EQ(hmm::attributes(std::span(again, bytes)).preferred.type,
                  hmmMemLocationTypeDevice);
        free(again);
    }
}

TEST_F(Pool, GivesToOtherStreamsWhenTheWorkBeforeTheFreeIsDone) {
    const hmm::stream left, right(hmmStreamNonBlocking);
    set(hmmMemPoolAttrReleaseThreshold, UINT64_MAX);
    close(left);
    char* const first = allocate(page, left);
    free(first, left);
    char* const second = allocate(page, right);
    EXPECT_NE(second, first) << "it may be in use";
    free(second, right);
    right.synchronize();
    EXPECT_EQ(reserved(), 2 * page);
    open();
    left.synchronize();
    char* const third = allocate(page, right);
    char* const fourth = allocate(page, right);
    EXPECT_EQ(std::set({first, second}), std::set({third, fourth}));
    free(third, left);
    free(fourth, left);
}

TEST_F(Pool, WithoutOpportunisticReuseGoesByTheOrderOfStreamsAlone) {
    const hmm::stream left, right(hmmStreamNonBlocking);
    int opportunistic = 0;
    set(hmmMemPoolAttrReleaseThreshold, UINT64_MAX);
    EXPECT_EQ(hmmMemPoolSetAttribute(pool_, hmmMemPoolReuseAllowOpportunistic, &opportunistic),
              hmmSuccess);
    char* const first = allocate(page, left);
    free(first, left);
    wait_until([&] { return left.idle(); }); // idle() does not synchronize
    char* const second = allocate(page, right);
    EXPECT_NE(second, first);
    EXPECT_EQ(allocate(page, left), first);
    free(first, left);
    free(second, right);
}

TEST_F(Pool, KeepsWhatTheThresholdAllowsAndTrimsToLess) {
    set(hmmMemPoolAttrReleaseThreshold, 3 * page);
    char* const memory[] = {allocate(page), allocate(page), allocate(page), allocate(page)};
    for (char* each : memory)
        free(each);
    hmm::synchronize();
    EXPECT_EQ(reserved(), 3 * page);
    EXPECT_EQ(hmmMemPoolTrimTo(pool_, 2 * page), hmmSuccess);
    EXPECT_EQ(reserved(), 2 * page);
    EXPECT_EQ(hmmMemPoolTrimTo(pool_, 0), hmmSuccess);
    EXPECT_EQ(reserved(), 0u);
}

TEST_F(Pool, TrimsNothingThatIsUsedOrMayBe) {
    const hmm::stream in;
    close(in);
    char* const used_by_us = allocate(page, in);
    free(allocate(2 * page, in), in);
    EXPECT_EQ(hmmMemPoolTrimTo(pool_, 0), hmmSuccess);
    EXPECT_EQ(reserved(), 3 * page);
    open();
    in.synchronize();
    EXPECT_EQ(reserved(), page);
    used_by_us[0] = 1;
    free(used_by_us, in);
}

TEST_F(Pool, KeepsWhatIsInUseWhenItsDeviceHasFailed) {
    const hmmMemPool_t other = create(1, 0);
    const hmm::stream in;
    char *first = nullptr, *second = nullptr;
    std::uint64_t kept = 0;
    ASSERT_EQ(hmmMallocFromPoolAsync(&first, page, other, in.get()), hmmSuccess);
    close(in);
    free(first, in);
    ASSERT_EQ(hmmSetDevice(1), hmmSuccess);
    fail_device();
    ASSERT_EQ(hmmSetDevice(0), hmmSuccess);
    EXPECT_EQ(hmmMallocFromPoolAsync(&second, page, other, in.get()), hmmErrorIllegalAddress);
    EXPECT_EQ(hmmMemPoolGetAttribute(other, hmmMemPoolAttrReservedMemCurrent, &kept), hmmSuccess);
    EXPECT_EQ(kept, page) << "the stream may still use it";
    first[0] = 1;
    open();
    in.synchronize();
    EXPECT_EQ(hmmMemPoolDestroy(other), hmmSuccess);
}

TEST_F(Pool, HasNoMoreThanItMay) {
    const hmmMemPool_t small = create(0, 2 * page);
    char *one = nullptr, *two = nullptr;
    EXPECT_EQ(hmmMallocFromPoolAsync(&one, 3 * page, small, nullptr), hmmErrorMemoryAllocation);
    ASSERT_EQ(hmmMallocFromPoolAsync(&one, page, small, nullptr), hmmSuccess);
    EXPECT_EQ(hmmMallocFromPoolAsync(&two, 2 * page, small, nullptr), hmmErrorMemoryAllocation);
    ASSERT_EQ(hmmFree(one), hmmSuccess);
    EXPECT_EQ(hmmMallocFromPoolAsync(&two, 2 * page, small, nullptr), hmmSuccess)
        << "kept memory is released";
    EXPECT_EQ(hmmFree(two), hmmSuccess);
    EXPECT_EQ(hmmMemPoolDestroy(small), hmmSuccess);
}

TEST_F(Pool, ThatIsDestroyedKeepsWhatIsUsed) {
    const hmmMemPool_t other = create(1, 0);
    char* memory = nullptr;
    ASSERT_EQ(hmmMallocFromPoolAsync(&memory, page, other, nullptr), hmmSuccess);
    EXPECT_EQ(attributes_of(memory).type, hmmMemoryTypeDevice);
    EXPECT_EQ(attributes_of(memory).device, 1) << "the pool's";
    EXPECT_EQ(hmmMemPoolDestroy(other), hmmSuccess);
    EXPECT_EQ(hmmMemPoolDestroy(other), hmmErrorInvalidResourceHandle);
    EXPECT_EQ(hmmMemPoolTrimTo(other, 0), hmmErrorInvalidResourceHandle);
    EXPECT_EQ(hmmMallocFromPoolAsync(&memory, page, other, nullptr), hmmErrorInvalidResourceHandle);
    memory[0] = 1;
    free(memory);
    hmm::synchronize();
}

TEST_F(Pool, OfADeviceIsTheDefaultOneUntilAnotherIsSet) {
    hmmMemPool_t standard = nullptr, now = nullptr;
    ASSERT_EQ(hmmDeviceGetDefaultMemPool(&standard, 0), hmmSuccess);
    ASSERT_EQ(hmmDeviceGetMemPool(&now, 0), hmmSuccess);
    EXPECT_EQ(now, standard);
    EXPECT_EQ(hmmDeviceSetMemPool(1, pool_), hmmErrorInvalidValue) << "of another device";
    ASSERT_EQ(hmmDeviceSetMemPool(0, pool_), hmmSuccess);
    char* memory = nullptr;
    ASSERT_EQ(hmmMallocAsync(&memory, page, nullptr), hmmSuccess);
    EXPECT_EQ(used(), page);
    free(memory);
    EXPECT_EQ(hmmMemPoolDestroy(standard), hmmErrorInvalidValue);
    EXPECT_EQ(hmmMemPoolDestroy(pool_), hmmSuccess);
    EXPECT_EQ(hmmDeviceGetMemPool(&now, 0), hmmSuccess);
    EXPECT_EQ(now, standard);
}

TEST_F(Pool, WrongArgumentsAreErrors) {
    hmmMemPool_t other = nullptr;
    hmmMemPoolProps props = {};
    props.location = on(0);
    EXPECT_EQ(hmmMemPoolCreate(&other, nullptr), hmmErrorInvalidValue);
    EXPECT_EQ(hmmMemPoolCreate(&other, &props), hmmErrorInvalidValue) << "no type of memory";
    props.allocType = hmmMemAllocationTypePinned;
    props.handleTypes = hmmMemHandleTypePosixFileDescriptor;
    EXPECT_EQ(hmmMemPoolCreate(&other, &props), hmmErrorNotSupported);
    props.handleTypes = hmmMemHandleTypeNone;
    props.location = host;
    EXPECT_EQ(hmmMemPoolCreate(&other, &props), hmmErrorNotSupported);
    props.location = on(2);
    EXPECT_EQ(hmmMemPoolCreate(&other, &props), hmmErrorInvalidDevice);
    props.location = on(0);
    props.reserved[63] = 1;
    EXPECT_EQ(hmmMemPoolCreate(&other, &props), hmmErrorInvalidValue);

    int one = 1;
    std::uint64_t big = 1;
    const auto code = [&](hmmMemPoolAttr which, void* value) {
        return hmmMemPoolSetAttribute(pool_, which, value);
    };
    EXPECT_EQ(code(hmmMemPoolReuseFollowEventDependencies, &one), hmmErrorNotSupported);
    EXPECT_EQ(code(hmmMemPoolReuseAllowInternalDependencies, &one), hmmErrorNotSupported);
    EXPECT_EQ(code(hmmMemPoolAttrUsedMemCurrent, &big), hmmErrorInvalidValue);
    EXPECT_EQ(code(hmmMemPoolAttrUsedMemHigh, &big), hmmErrorInvalidValue);
    EXPECT_EQ(code(static_cast<hmmMemPoolAttr>(9), &big), hmmErrorInvalidValue);
    EXPECT_EQ(hmmMemPoolGetAttribute(pool_, static_cast<hmmMemPoolAttr>(0), &big),
              hmmErrorInvalidValue);
    EXPECT_EQ(hmmFreeAsync(memory().data(), nullptr), hmmErrorInvalidValue);
    EXPECT_EQ(hmmFreeAsync(nullptr, nullptr), hmmSuccess);
    char* const memory = allocate(page);
    EXPECT_EQ(hmmFreeAsync(memory, reinterpret_cast<hmmStream_t>(~0ul)),
              hmmErrorInvalidResourceHandle);
    EXPECT_EQ(used(), page) << "it stays the caller's";
    free(memory);
    EXPECT_EQ(hmmFreeAsync(memory, nullptr), hmmErrorInvalidValue);
}

TEST_F(Pool, OfADeviceByDefaultTakesItsOtherMemoryBack) {
    const hmmMemPool_t made = pool_;
    ASSERT_EQ(hmmDeviceGetDefaultMemPool(&pool_, 0), hmmSuccess);
    char *small = nullptr, *large = nullptr;
    ASSERT_EQ(hmmMalloc(&small, 256), hmmSuccess);
    ASSERT_EQ(hmmMalloc(&large, 40 * page), hmmSuccess);
    EXPECT_EQ(hmmFreeAsync(large + page, nullptr), hmmErrorInvalidValue);
    close(hmm::default_stream);
    free(small);
    free(large);
    EXPECT_EQ(hmmMemPoolTrimTo(pool_, 0), hmmSuccess);
    EXPECT_EQ(reserved(), 40 * page + 256) << "work that was queued before may use it";
    EXPECT_EQ(used(), 0u);
    EXPECT_EQ(hmmFreeAsync(large, nullptr), hmmErrorInvalidValue);
    EXPECT_EQ(hmmFree(large), hmmErrorInvalidValue);
    open();
    hmm::synchronize();
    EXPECT_EQ(reserved(), 0u);
    pool_ = made;
}

TEST_F(Pool, TakesNoMemoryOfOtherKinds) {
    void* memory = nullptr;
    ASSERT_EQ(hmmMallocManaged(&memory, page, hmmMemAttachGlobal), hmmSuccess);
    EXPECT_EQ(hmmFreeAsync(memory, nullptr), hmmErrorNotSupported);
    EXPECT_EQ(hmmFree(memory), hmmSuccess);
    ASSERT_EQ(hmmMallocHost(&memory, page), hmmSuccess);
    EXPECT_EQ(hmmFreeAsync(memory, nullptr), hmmErrorInvalidValue);
    EXPECT_EQ(hmmFreeHost(memory), hmmSuccess);
}

TEST_F(Pool, OfADeviceThatFailedTakesMemoryBackAfterAReset) {
    char* const memory = allocate(page);
    free(allocate(2 * page));
    fail_device();
    EXPECT_EQ(hmmFreeAsync(memory, nullptr), hmmErrorIllegalAddress);
    char* more = nullptr;
    EXPECT_EQ(hmmMallocAsync(&more, page, nullptr), hmmErrorIllegalAddress);
    EXPECT_EQ(hmmDeviceReset(), hmmSuccess);
    EXPECT_EQ(hmmMemPoolTrimTo(pool_, 0), hmmSuccess);
    EXPECT_EQ(reserved(), page) << "returned memory is not reserved";
    free(memory);
    hmm::synchronize();
    EXPECT_EQ(reserved(), 0u);
}

} // namespace
